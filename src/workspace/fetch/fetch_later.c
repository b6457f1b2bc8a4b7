/* fetch_later.c - the large files of a fetch, after all that is small. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "workspace/fetch/fetch_impl.h"
#include "workspace/uploaded.h"

enum {
	BATCH_BYTES = 16 << 20, /* of the files of one command */
	UNDO_MS = 5000,
};

static int by_size(const void *a, const void *b)
{
	const struct fetch_item *x = a;
	const struct fetch_item *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
	const struct fetch_item *x = a;
	const struct fetch_item *y = b;

	return strcmp(x->path, y->path);
}

/* How many of the files from at on come with the next command. */
static size_t count_batch(const struct fetch *f, size_t at, int64_t total_max)
{
	int64_t bytes = 0;
	size_t n = 0;

	for (; at + n < f->n_later; n++) {
		int64_t size = f->later[at + n].size;

		if ((n && bytes + size > BATCH_BYTES) ||
		    f->bytes + bytes + size > total_max)
			break;
		bytes += size;
	}
	return n;
}

/* What could not be checked does not stay. */
static int refuse_or_undo(struct fetching *g, const char *parent,
			  struct error *err)
{
	struct stop own = stop_cleanup(UNDO_MS);
	struct error ignored = { 0 };

	if (fetch_drop_uploaded(g, err) == 0 &&
	    fetch_refuse_repositories(g, err) == 0)
		return 0;
	memcpy(g->f->theirs, parent, sizeof(g->f->theirs));
	(void)odb_ref_set(&g->w->git, g->ref, parent, &own, &ignored);
	return -1;
}

static int fetch_batch(struct fetching *g, struct fetch_item *items, size_t n,
		       struct error *err)
{
	const struct fetch_request *r = g->request;
	const struct scan_request request = {
		.sandbox = r->sandbox,
		.file_max = r->file_max,
		/* The archive's own heads take some room, too. */
		.total_max = r->total_max - g->bytes + BATCH_BYTES,
		.scratch = g->w->directory,
	};
	char parent[GIT_OID];
	int rc;

	qsort(items, n, sizeof(*items), by_path);
	g->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!g->n || strcmp(items[i].path, items[i - 1].path) != 0)
			fetch_announce(g, items[i].path);
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_pack(g, &request, parent, err);
	scan_release(&g->scan);
	if (rc == 0)
		rc = refuse_or_undo(g, parent, err);
	return rc;
}

/* What did not come. */
static void leave_rest(struct fetch *f, size_t at, const char *why)
{
	for (size_t i = at; i < f->n_later; i++) {
		fetch_note(&f->left, &f->n_left, f->later[i].path, why);
		f->left[f->n_left - 1].size = f->later[i].size;
	}
	fetch_items_release(&f->later, &f->n_later);
}

int fetch_later(struct workspace *w, const struct fetch_request *r,
		struct fetch *f, const struct stop *stop, struct error *err)
{
	struct fetch_request whole = *r;
	struct fetching g = { .w = w,
			      .request = &whole,
			      .f = f,
			      .stop = stop,
			      .ref = w->theirs_ref,
			      .scan = { .spool = -1 },
			      .bytes = f->bytes };
	struct error ignored = { 0 };
	size_t at = 0;
	size_t n;
	int rc = f->n_later ? workspace_read_listing(w, &g.base, stop, err) : 0;

	if (f->n_later && rc == 0)
		rc = uploaded_read(&g.uploaded, w, err);
	whole.small_first = false;
	if (f->n_later)
		qsort(f->later, f->n_later, sizeof(*f->later), by_size);
	while (rc == 0 && (n = count_batch(f, at, r->total_max))) {
		rc = fetch_batch(&g, f->later + at, n, err);
		at += rc == 0 ? n : 0;
		f->bytes = rc == 0 ? g.bytes : f->bytes;
	}
	f->same = f->same && !at;
	leave_rest(f, at,
		   rc == 0 ? "does not fit into [workspace] fetch_mb"
			   : FETCH_NO_TIME);
	odb_commit_abort(g.commit);
	fetch_items_release(&g.links, &g.n_links);
	fetch_items_release(&g.originals, &g.n_originals);
	listing_release(&g.base);
	listing_release(&g.uploaded);
	free(g.names);
	/* Without the list the commit itself still tells what came. */
	(void)fetch_remember(w, f, &ignored);
	return rc;
}
