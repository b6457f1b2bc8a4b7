/* included.c - what was sent only because an include names it. */
/* SPDX-License-Identifier: MIT */
#include "worktree/included.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { TEXT_MAX = 64 << 20 };

static char *included_file(const struct workspace *w)
{
	return xasprintf("%s/%s.included", w->directory, w->label);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_path(struct included *i, const char *path, size_t len)
{
	i->paths = xrealloc(i->paths, i->n + 1, sizeof(*i->paths));
	i->paths[i->n++] = xstrndup(path, len);
}

static bool is_listed(const struct included *i, size_t n, const char *path)
{
	return n && bsearch(&path, i->paths, n, sizeof(*i->paths), by_name);
}

static void sort_paths(struct included *i)
{
	if (i->n)
		qsort(i->paths, i->n, sizeof(*i->paths), by_name);
}

/* Each path has a byte 0 behind it. */
int included_read(struct included *i, const struct workspace *w,
		  struct error *err)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	char *file = included_file(w);
	struct str path;
	struct str rest;
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	rest = buf_str(&text);
	while (rc == 0 && str_split(&rest, '\0', &path))
		if (path.len)
			add_path(i, path.ptr, path.len);
	sort_paths(i);
	buf_release(&text);
	free(file);
	return rc;
}

static int write_paths(const struct included *i, const struct workspace *w,
		       struct error *err)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	char *file = included_file(w);
	int rc;

	for (size_t k = 0; k < i->n; k++)
		buf_add(&text, i->paths[k], strlen(i->paths[k]) + 1);
	rc = buf_check(&text, "what was included", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

static size_t add_asked(struct included *i, const struct selection *s)
{
	size_t old = i->n;

	for (size_t k = 0; k < s->n_asked; k++)
		if (!is_listed(i, old, s->asked[k].path))
			add_path(i, s->asked[k].path, strlen(s->asked[k].path));
	sort_paths(i);
	return i->n - old;
}

int included_add(struct included *i, const struct workspace *w,
		 const struct selection *s, const struct stop *stop,
		 struct error *err)
{
	int lock;
	int rc;

	if (!add_asked(i, s))
		return 0;
	lock = workspace_lock(w, stop, err);
	if (lock < 0)
		return -1;
	included_release(i);
	rc = included_read(i, w, err);
	if (rc == 0 && add_asked(i, s))
		rc = write_paths(i, w, err);
	close(lock);
	return rc;
}

bool included_has(const struct included *i, const char *path)
{
	char *up = xstrdup(path);
	bool found = is_listed(i, i->n, up);
	char *slash;

	while (!found && (slash = strrchr(up, '/'))) {
		*slash = '\0';
		found = is_listed(i, i->n, up);
	}
	free(up);
	return found;
}

void included_release(struct included *i)
{
	for (size_t k = 0; k < i->n; k++)
		free(i->paths[k]);
	free(i->paths);
	*i = (struct included){ 0 };
}
