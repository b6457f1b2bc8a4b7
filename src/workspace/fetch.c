/* fetch.c - brings what changed in a sandbox into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#include "workspace/fetch.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"
#include "tree/name.h"
#include "workspace/fetch_impl.h"

void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why)
{
	if (!(*n & (*n - 1)))
		*list = xrealloc(*list, *n ? *n * 2 : 1, sizeof(**list));
	(*list)[(*n)++] = (struct fetch_item){ xstrdup(path), why, 0 };
}

static void refuse(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->refused, &g->f->n_refused, path, why);
}

static void leave(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->left, &g->f->n_left, path, why);
}

static int by_path(const void *a, const void *b)
{
	const struct announced *x = a;
	const struct announced *y = b;

	return strcmp(x->path, y->path);
}

static void announce(struct fetching *g, const char *path)
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

/* The index of path, or of the first name after it. */
static size_t seek_name(const struct fetching *g, const char *path)
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

static struct announced *find_name(const struct fetching *g, const char *path)
{
	size_t at = seek_name(g, path);

	return at < g->n && !strcmp(g->names[at].path, path) ? &g->names[at]
							     : NULL;
}

/* True when something that came is above or below path. */
static bool is_in_the_way(const struct fetching *g, const char *path)
{
	char *part = xasprintf("%s/", path);
	size_t at = seek_name(g, part);
	size_t len = strlen(part);
	bool found = false;

	for (; at < g->n && !strncmp(g->names[at].path, part, len); at++)
		found |= g->names[at].taken;
	for (size_t i = len - 1; i > 0 && !found; i--) {
		const struct announced *above;

		if (part[i] != '/')
			continue;
		part[i] = '\0';
		above = i == len - 1 ? NULL : find_name(g, part);
		found = above && above->taken;
	}
	free(part);
	return found;
}

/* Permission bits of git's; 1 for what it has no mode for. */
static unsigned git_mode(unsigned mode)
{
	if (S_ISLNK(mode))
		return NAME_LINK;
	if (!S_ISREG(mode) || mode & 07000)
		return 1;
	return mode & 0100 ? NAME_PROGRAM : NAME_FILE;
}

static const char *skip_here(const char *path)
{
	while (str_starts(str_of(path), "./"))
		path += 2;
	return path;
}

/* A hard link is as large as its file, which has come before it. */
static const char *check_link(const struct fetching *g, const char *original,
			      int64_t *size)
{
	struct announced *name = find_name(g, skip_here(original));

	if (!name || !name->is_file)
		return "is a link to a file that did not come";
	name->is_linked = true;
	*size = name->size;
	return NULL;
}

static const char *check_entry(const struct fetching *g,
			       const struct archive_item *item,
			       const char *path, unsigned mode)
{
	const char *why = name_refuse(str_of(path), mode);

	if (!item->original && S_ISREG(item->mode) && item->mode & 07000)
		return "has the setuid, setgid or sticky bit";
	if (!why && mode == NAME_LINK)
		why = name_refuse_target(str_of(path), str_of(item->target));
	if (!why && item->size > g->request->file_max)
		why = "is larger than it may be";
	if (!why && is_in_the_way(g, path))
		why = "is a file and a directory at once";
	return why;
}

static int put_entry(struct fetching *g, const struct archive_item *item,
		     const char *path, unsigned mode, struct error *err)
{
	struct str target = str_of(item->target);

	if (item->original) {
		fetch_note(&g->links, &g->n_links, path, "");
		fetch_note(&g->originals, &g->n_originals,
			   skip_here(item->original), "");
		return 0;
	}
	if (mode == NAME_LINK)
		return odb_commit_file(g->commit, mode, str_of(path),
				       (int64_t)target.len, err) < 0
			       ? -1
			       : odb_commit_data(g->commit, target, err);
	if (odb_commit_file(g->commit, mode, str_of(path), item->size, err) < 0)
		return -1;
	return item->size > 0;
}

static int on_entry(void *arg, const struct archive_item *item,
		    struct error *err)
{
	struct fetching *g = arg;
	struct str path = item->path;
	struct announced *name;
	const char *why;
	int64_t size = item->size;
	unsigned mode = item->original ? NAME_FILE : git_mode(item->mode);

	while (str_starts(path, "./"))
		path = str_skip(path, 2);
	name = path.len ? find_name(g, path.ptr) : NULL;
	if (S_ISDIR(item->mode) && !item->original)
		return 0; /* it took a file's place meanwhile */
	if (!path.len || !name) {
		refuse(g, path.len ? path.ptr : "(no name)",
		       "was not in the list of changes");
		return 0;
	}
	if (name->seen) {
		refuse(g, path.ptr, "comes twice");
		return 0;
	}
	name->seen = true;
	why = check_entry(g, item, path.ptr, mode);
	if (!why && item->original)
		why = check_link(g, item->original, &size);
	if (why) {
		refuse(g, path.ptr, why);
		return 0;
	}
	g->bytes += size;
	if (g->bytes > g->request->total_max)
		return error_set(err, ERR_LIMIT,
				 "the changes in the sandbox grow to more than "
				 "%" PRId64 " MiB",
				 g->request->total_max >> 20);
	name->taken = true;
	name->is_file = !item->original && mode != NAME_LINK;
	name->size = size;
	return put_entry(g, item, path.ptr, mode, err);
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct fetching *g = arg;

	return odb_commit_data(g->commit, bytes, err);
}

static int64_t on_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct fetching *g = arg;

	return scan_pull(&g->scan, room, len, err);
}

static int begin_commit(struct fetching *g, const char *parent,
			struct error *err)
{
	const struct odb_commit_info info = {
		.ref = g->w->theirs_ref,
		.parent = parent,
		.message = "What is in the sandbox\n",
	};

	return odb_commit_begin(&g->commit, &g->w->git, &info, g->stop, err);
}

static int end_commit(struct fetching *g, int rc, struct error *err)
{
	struct odb_commit *c = g->commit;

	g->commit = NULL;
	if (rc == 0)
		return odb_commit_end(c, g->f->theirs, err);
	odb_commit_abort(c);
	return -1;
}

/* The archive of g->scan as a commit on top of parent. gone: also the
 * deletions that it reports. */
static int commit_scan(struct fetching *g, const char *parent, bool gone,
		       struct error *err)
{
	const struct archive_visitor v = { on_pull, on_entry, on_data, g };
	int rc = begin_commit(g, parent, err);

	if (rc < 0)
		return -1;
	for (size_t i = 0; gone && i < g->scan.n && rc == 0; i++) {
		const struct scan_record *r = &g->scan.records[i];

		if (r->kind == SCAN_GONE && listing_find(&g->base, r->path))
			rc = odb_commit_delete(g->commit, str_of(r->path), err);
	}
	if (rc == 0 && g->scan.left)
		rc = archive_visit(&v, err);
	for (size_t i = 0; i < g->n && rc == 0; i++)
		if (!g->names[i].seen)
			leave(g, g->names[i].path, "could not be read");
	return end_commit(g, rc, err);
}

static int note_entry(void *arg, const struct odb_record *r, struct error *err)
{
	struct announced *name = find_name(arg, r->path);

	(void)err;
	if (!name || !name->is_linked || name->entry)
		return 0;
	name->entry = xcalloc(1, sizeof(*name->entry));
	name->entry->mode = r->new_mode;
	snprintf(name->entry->oid, sizeof(name->entry->oid), "%s", r->new_oid);
	return 0;
}

static int put_link(struct fetching *g, size_t i, struct error *err)
{
	const struct announced *name = find_name(g, g->originals[i].path);
	const char *path = g->links[i].path;

	if (name && name->entry)
		return odb_commit_blob(g->commit, name->entry->mode,
				       str_of(path), name->entry->oid, err);
	refuse(g, path, "is a link to a file that did not come");
	return 0;
}

static void release_items(struct fetch_item **items, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*items)[i].path);
	free(*items);
	*items = NULL;
	*n = 0;
}

/* Hard links: a second commit gives them the bytes of the files that came,
 * all looked up in one go. */
static int commit_links(struct fetching *g, struct error *err)
{
	char parent[GIT_OID];
	int rc;

	if (!g->n_links)
		return 0;
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = odb_tree_diff(&g->w->git, NULL, parent,
			   &(struct odb_sink){ note_entry, g }, g->stop, err);
	if (rc == 0)
		rc = begin_commit(g, parent, err);
	for (size_t i = 0; i < g->n_links && rc == 0; i++)
		rc = put_link(g, i, err);
	rc = g->commit ? end_commit(g, rc, err) : -1;
	for (size_t i = 0; i < g->n; i++)
		free(g->names[i].entry);
	release_items(&g->links, &g->n_links);
	release_items(&g->originals, &g->n_originals);
	return rc;
}

/* What the sandbox names, but does not send. */
static void note_records(struct fetching *g)
{
	static const struct {
		char kind;
		const char *why;
	} reasons[] = {
		{ SCAN_UNREADABLE, "could not be read" },
		{ SCAN_BIG, "is larger than it may be" },
		{ SCAN_SPECIAL, "is a pipe, a socket or a device" },
		{ SCAN_REPOSITORY, "is another repository" },
		{ SCAN_NAME, "has a control character in its name" },
	};

	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];

		if (r->kind == SCAN_IGNORED)
			g->f->ignored += r->n;
		for (size_t k = 0; k < sizeof(reasons) / sizeof(*reasons); k++)
			if (r->kind == reasons[k].kind) {
				leave(g, r->path, reasons[k].why);
				g->f->left[g->f->n_left - 1].size = r->n;
			}
	}
}

static void announce_all(struct fetching *g, char kind, char other)
{
	g->n = 0;
	for (size_t i = 0; i < g->scan.n; i++)
		if (g->scan.records[i].kind == kind ||
		    g->scan.records[i].kind == other)
			announce(g, g->scan.records[i].path);
	sort_names(g);
}

/* Where the sandbox did not decide what is ignored: what is here left of the
 * new names comes with a second command. */
static int fetch_undecided(struct fetching *g, const struct scan_request *r,
			   struct error *err)
{
	struct scan first;
	const char **paths;
	char parent[GIT_OID];
	size_t n = 0;
	int rc;

	announce_all(g, SCAN_UNDECIDED, SCAN_UNDECIDED);
	if (fetch_drop_ignored(g, err) < 0)
		return -1;
	if (!g->n)
		return 0;
	first = g->scan; /* it owns the names */
	paths = xcalloc(g->n, sizeof(*paths));
	for (; n < g->n; n++)
		paths[n] = g->names[n].path;
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = scan_fetch(&g->scan, r, paths, n, g->stop, err);
	if (rc == 0) {
		for (size_t i = 0; i < g->scan.n; i++) {
			struct announced *name =
				find_name(g, g->scan.records[i].path);

			if (name)
				name->seen = true; /* named just below */
		}
		note_records(g);
		rc = commit_scan(g, parent, false, err);
	}
	if (rc == 0)
		rc = commit_links(g, err);
	free(paths);
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
	announce_all(g, SCAN_CHANGED, SCAN_NEW);
	if (commit_scan(g, w->base, true, err) < 0 || commit_links(g, err) < 0)
		return -1;
	return fetch_undecided(g, r, err);
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

int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err)
{
	struct fetching g = { .w = w,
			      .request = r,
			      .f = f,
			      .stop = stop,
			      .scan = { .spool = -1 } };
	struct buf text = BUF_INIT(LISTING_MAX);
	char root[LISTING_HASH];
	struct scan_request request = { .sandbox = r->sandbox,
					.root = root,
					.exclude = r->exclude,
					.names = r->n_include > 0,
					.file_max = r->file_max,
					.total_max = r->total_max,
					.scratch = w->directory };
	int rc = workspace_read_listing(w, &g.base, stop, err);

	*f = (struct fetch){ 0 };
	if (rc == 0) {
		listing_write(&g.base, &text);
		listing_root(&g.base, root);
		request.listing = buf_str(&text);
		rc = fetch_all(&g, &request, err);
	}
	f->same = rc == 0;
	if (rc == 0)
		rc = odb_tree_diff(
			&w->git, w->base, f->theirs,
			&(struct odb_sink){ see_difference, &f->same }, stop,
			err);
	odb_commit_abort(g.commit);
	scan_release(&g.scan);
	listing_release(&g.base);
	release_items(&g.links, &g.n_links);
	release_items(&g.originals, &g.n_originals);
	free(g.names);
	buf_release(&text);
	return rc;
}

void fetch_release(struct fetch *f)
{
	release_items(&f->refused, &f->n_refused);
	release_items(&f->left, &f->n_left);
}
