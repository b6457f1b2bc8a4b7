/* fetch.c - brings what changed in a sandbox into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#include "workspace/fetch/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "workspace/fetch/fetch_impl.h"
#include "workspace/uploaded.h"

enum { FIRST_BYTES = 16 << 20 }; /* of a first answer */

void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why)
{
	if (!(*n & (*n - 1)))
		*list = xrealloc(*list, *n ? *n * 2 : 1, sizeof(**list));
	(*list)[(*n)++] = (struct fetch_item){ xstrdup(path), why, 0 };
}

void fetch_refuse(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->refused, &g->f->n_refused, path, why);
}

void fetch_leave(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->left, &g->f->n_left, path, why);
}

/* One that is too large for the first answer alone comes later. */
static bool note_later(struct fetching *g, const struct scan_record *r)
{
	const struct fetch_request *q = g->request;

	if (!q->small_first || r->kind != SCAN_BIG || r->n > q->file_max)
		return false;
	fetch_note(&g->f->later, &g->f->n_later, r->path, FETCH_NO_TIME);
	g->f->later[g->f->n_later - 1].size = r->n;
	return true;
}

/* What the sandbox names, but does not send. */
static void note_records(struct fetching *g)
{
	static const struct {
		char kind;
		const char *why;
	} reasons[] = {
		{ SCAN_UNREADABLE, "could not be read" },
		{ SCAN_BIG, "is larger than allowed" },
		{ SCAN_SPECIAL, "is a pipe, a socket or a device" },
		{ SCAN_REPOSITORY, "is another repository" },
		{ SCAN_NAME, "has a control character in its name" },
	};

	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];

		if (r->kind == SCAN_IGNORED)
			fetch_note_ignored(g->f, r->path, r->n);
		if (note_later(g, r))
			continue;
		for (size_t k = 0; k < sizeof(reasons) / sizeof(*reasons); k++)
			if (r->kind == reasons[k].kind) {
				fetch_leave(g, r->path, reasons[k].why);
				g->f->left[g->f->n_left - 1].size = r->n;
			}
	}
}

/* What is noted by its own record is not missing in the archive. */
static void mark_noted(struct fetching *g)
{
	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];
		struct announced *name = fetch_find_name(g, r->path);

		if (name && r->kind != SCAN_CHANGED && r->kind != SCAN_NEW)
			name->seen = true;
	}
}

int fetch_pack(struct fetching *g, const struct scan_request *r,
	       const char *parent, struct error *err)
{
	const char **paths = xcalloc(g->n, sizeof(*paths));
	int rc;

	for (size_t i = 0; i < g->n; i++)
		paths[i] = g->names[i].path;
	rc = scan_fetch(&g->scan, r, paths, g->n, g->stop, err);
	if (rc == 0) {
		note_records(g);
		mark_noted(g);
		rc = fetch_commit_scan(g, parent, false, err);
	}
	if (rc == 0)
		rc = fetch_commit_links(g, err);
	free(paths);
	return rc;
}

/* Where the sandbox did not decide what is ignored: what is here left of the
 * new names comes with a second command. */
static int fetch_undecided(struct fetching *g, const struct scan_request *r,
			   struct error *err)
{
	struct scan first;
	char parent[GIT_OID];
	int rc;

	fetch_announce_all(g, SCAN_UNDECIDED, SCAN_UNDECIDED);
	if (fetch_drop_ignored(g, r, err) < 0)
		return -1;
	if (!g->n)
		return 0;
	first = g->scan; /* it owns the names */
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_pack(g, r, parent, err);
	scan_release(&first);
	return rc;
}

static int fetch_all(struct fetching *g, const struct scan_request *r,
		     struct error *err)
{
	struct workspace *w = g->w;

	if (scan_run(&g->scan, r, g->stop, err) < 0)
		return -1;
	note_records(g);
	if (g->scan.same) {
		memcpy(g->f->theirs, w->base, sizeof(g->f->theirs));
		return odb_ref_set(&w->git, w->theirs_ref, w->base, g->stop,
				   err);
	}
	fetch_announce_all(g, SCAN_CHANGED, SCAN_NEW);
	mark_noted(g);
	if (fetch_commit_scan(g, w->base, true, err) < 0 ||
	    fetch_commit_links(g, err) < 0)
		return -1;
	return fetch_undecided(g, r, err);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int see_difference(void *arg, const struct odb_record *r,
			  struct error *err)
{
	bool *same = arg;

	(void)r;
	(void)err;
	*same = false;
	return 0;
}

/* small: bytes of one file of a first answer; 0: all come at once. */
static int fetch_once(struct workspace *w, const struct fetch_request *r,
		      int64_t small, struct fetch *f, const struct stop *stop,
		      struct error *err)
{
	struct fetching g = { .w = w,
			      .request = r,
			      .f = f,
			      .stop = stop,
			      .ref = w->theirs_ref,
			      .scan = { .spool = -1 } };
	struct buf text = BUF_INIT(LISTING_MAX);
	char root[LISTING_HASH];
	struct scan_request request = {
		.sandbox = r->sandbox,
		.root = root,
		.exclude = r->exclude,
		.names = r->n_include > 0,
		.file_max = small ? least(small, r->file_max) : r->file_max,
		.total_max =
			small ? least(FIRST_BYTES, r->total_max) : r->total_max,
		.scratch = w->directory
	};
	int rc = workspace_read_listing(w, &g.base, stop, err);

	*f = (struct fetch){ 0 };
	if (rc == 0)
		rc = uploaded_read(&g.uploaded, w, err);
	if (rc == 0) {
		listing_write(&g.base, &text);
		listing_root(&g.base, root);
		request.listing = buf_str(&text);
		rc = fetch_all(&g, &request, err);
	}
	if (rc == 0)
		rc = fetch_drop_uploaded(&g, err);
	if (rc == 0)
		fetch_drop_kept(&g);
	if (rc == 0)
		rc = fetch_refuse_repositories(&g, err);
	f->same = rc == 0;
	f->bytes = g.bytes;
	if (rc == 0)
		rc = odb_tree_diff(
			&w->git, w->base, f->theirs,
			&(struct odb_sink){ see_difference, &f->same }, stop,
			err);
	if (rc == 0)
		rc = fetch_remember(w, f, err);
	odb_commit_abort(g.commit);
	scan_release(&g.scan);
	listing_release(&g.base);
	listing_release(&g.uploaded);
	fetch_items_release(&g.links, &g.n_links);
	fetch_items_release(&g.originals, &g.n_originals);
	free(g.names);
	buf_release(&text);
	return rc;
}

int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err)
{
	static const int64_t small[] = { 1 << 20, 64 << 10, 4 << 10 };
	size_t n = r->small_first ? sizeof(small) / sizeof(*small) : 0;

	for (size_t i = 0; i < n; i++) {
		struct error why = { 0 };

		if (fetch_once(w, r, small[i], f, stop, &why) == 0)
			return 0;
		if (why.code != ERR_LIMIT) {
			*err = why;
			return -1;
		}
		fetch_release(f);
	}
	return fetch_once(w, r, 0, f, stop, err);
}

void fetch_items_release(struct fetch_item **items, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*items)[i].path);
	free(*items);
	*items = NULL;
	*n = 0;
}

void fetch_release(struct fetch *f)
{
	fetch_items_release(&f->refused, &f->n_refused);
	fetch_items_release(&f->left, &f->n_left);
	fetch_items_release(&f->later, &f->n_later);
	fetch_items_release(&f->ignored_names, &f->n_ignored_names);
	free(f->recalled);
	f->recalled = NULL;
}
