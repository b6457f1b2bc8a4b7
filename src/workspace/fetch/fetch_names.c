/* fetch_names.c - the paths whose bytes a sandbox has announced. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "workspace/fetch/fetch_impl.h"

static int by_path(const void *a, const void *b)
{
	const struct announced *x = a;
	const struct announced *y = b;

	return strcmp(x->path, y->path);
}

void fetch_announce(struct fetching *g, const char *path)
{
	if (!(g->n & (g->n - 1)))
		g->names = xrealloc(g->names, g->n ? g->n * 2 : 1,
				    sizeof(*g->names));
	g->names[g->n++] = (struct announced){ .path = path };
}

static void sort_names(struct fetching *g)
{
	size_t kept = 0;

	if (g->n)
		qsort(g->names, g->n, sizeof(*g->names), by_path);
	for (size_t i = 0; i < g->n; i++)
		if (!kept || strcmp(g->names[kept - 1].path, g->names[i].path))
			g->names[kept++] = g->names[i];
	g->n = kept;
}

size_t fetch_seek_name(const struct fetching *g, const char *path)
{
	size_t low = 0;
	size_t high = g->n;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (strcmp(g->names[at].path, path) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

struct announced *fetch_find_name(const struct fetching *g, const char *path)
{
	size_t at = fetch_seek_name(g, path);

	return at < g->n && !strcmp(g->names[at].path, path) ? &g->names[at]
							     : NULL;
}

void fetch_announce_all(struct fetching *g, char kind, char other)
{
	g->n = 0;
	for (size_t i = 0; i < g->scan.n; i++)
		if (g->scan.records[i].kind == kind ||
		    g->scan.records[i].kind == other)
			fetch_announce(g, g->scan.records[i].path);
	sort_names(g);
}
