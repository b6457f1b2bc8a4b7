/* fetch_ignored_names.c - which ignored files stay behind, directories as one.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "workspace/fetch/fetch_impl.h"

enum { NAMES_MOST = 1000 }; /* that are kept */

void fetch_note_ignored(struct fetch *f, const char *path, int64_t n)
{
	if (!path[0]) {
		f->ignored += n;
		return;
	}
	if (f->n_ignored_names == NAMES_MOST)
		return;
	fetch_note(&f->ignored_names, &f->n_ignored_names, path, "");
	if (str_ends(str_of(path), "/"))
		f->ignored_names[f->n_ignored_names - 1].size = n;
}

/* Whether the base has something in the directory ("dir/"). */
static bool base_has(struct fetching *g, const char *directory)
{
	size_t len = strlen(directory);
	size_t low = 0;
	size_t high = g->base.n;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (strcmp(g->base.entries[at].path, directory) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low < g->base.n &&
	       !strncmp(g->base.entries[low].path, directory, len);
}

static bool comes_from(struct fetching *g, const char *directory)
{
	size_t at = fetch_seek_name(g, directory);

	return at < g->n &&
	       !strncmp(g->names[at].path, directory, strlen(directory));
}

/* The highest directory above path of which nothing comes, as "dir/"; else
 * path. Owned. */
static char *collapse(struct fetching *g, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		char *directory = xstrndup(path, (size_t)(slash + 1 - path));

		if (!base_has(g, directory) && !comes_from(g, directory))
			return directory;
		free(directory);
	}
	return xstrdup(path);
}

/* Paths come sorted, so that those of a directory are in a row. */
void fetch_collapse_ignored(struct fetching *g, const char *const *paths,
			    size_t n)
{
	struct fetch *f = g->f;
	char *last = xstrdup("");
	int64_t files = 0;

	listing_sort(&g->base);
	for (size_t i = 0; i <= n; i++) {
		char *name = i < n ? collapse(g, paths[i]) : xstrdup("");

		if (strcmp(name, last) != 0) {
			if (last[0])
				fetch_note_ignored(f, last, files);
			files = 0;
		}
		files++;
		free(last);
		last = name;
	}
	free(last);
	f->ignored += (int64_t)n;
}
