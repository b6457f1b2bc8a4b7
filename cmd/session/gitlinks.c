/* gitlinks.c - the submodules of an index: their files are no part of it. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/gitlinks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { LIST_MAX = 512 << 20 };

/* Records are "MODE OID STAGE\tPATH" (git-ls-files(1)). */
int gitlinks_read(struct gitlinks *l, const struct git *g,
		  const struct stop *stop, struct error *err)
{
	const char *argv[] = { "ls-files", "-z", "-s", NULL };
	struct buf out = BUF_INIT(LIST_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);
	struct str rest = buf_str(&out);
	struct str record;

	while (rc == 0 && str_split(&rest, '\0', &record)) {
		struct str path;

		if (!str_starts(record, "160000 "))
			continue;
		path = str_skip(record, str_find(record, '\t') + 1);
		l->paths = xrealloc(l->paths, l->n + 1, sizeof(*l->paths));
		l->paths[l->n++] = xstrndup(path.ptr, path.len);
	}
	buf_release(&out);
	return rc;
}

/* Whether a is b, or a directory above it. */
static bool holds(const char *a, const char *b)
{
	size_t len = strlen(a);

	return !strncmp(a, b, len) && (!b[len] || b[len] == '/');
}

bool gitlinks_touch(const struct gitlinks *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (holds(l->paths[i], path) || holds(path, l->paths[i]))
			return true;
	return false;
}

void gitlinks_release(struct gitlinks *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->paths[i]);
	free(l->paths);
	*l = (struct gitlinks){ 0 };
}
