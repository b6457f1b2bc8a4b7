/* fetch_take.c - the files that a sandbox sends, checked, as a commit. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"
#include "tree/name.h"
#include "workspace/fetch/fetch_impl.h"

/* True when something that came is above or below path. */
static bool is_in_the_way(const struct fetching *g, const char *path)
{
	char *part = xasprintf("%s/", path);
	size_t at = fetch_seek_name(g, part);
	size_t len = strlen(part);
	bool found = false;

	for (; at < g->n && !strncmp(g->names[at].path, part, len); at++)
		found |= g->names[at].taken;
	for (size_t i = len - 1; i > 0 && !found; i--) {
		const struct announced *above;

		if (part[i] != '/')
			continue;
		part[i] = '\0';
		above = i == len - 1 ? NULL : fetch_find_name(g, part);
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
	struct announced *name = fetch_find_name(g, skip_here(original));

	if (!name || !name->is_file)
		return "is a link to a file that was not brought";
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
		why = "is larger than allowed";
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
	name = path.len ? fetch_find_name(g, path.ptr) : NULL;
	if (S_ISDIR(item->mode) && !item->original)
		return 0; /* it took a file's place meanwhile */
	if (!path.len || !name) {
		fetch_refuse(g, path.len ? path.ptr : "(no name)",
			     "was not in the list of changes");
		return 0;
	}
	if (name->seen) {
		fetch_refuse(g, path.ptr, "appears twice");
		return 0;
	}
	name->seen = true;
	why = check_entry(g, item, path.ptr, mode);
	if (!why && item->original)
		why = check_link(g, item->original, &size);
	if (why && mode == NAME_LINK &&
	    fetch_is_uploaded_link(g, path.ptr, item->target))
		return 0;
	if (why) {
		fetch_refuse(g, path.ptr, why);
		return 0;
	}
	g->bytes += size;
	if (g->bytes > g->request->total_max)
		return error_set(
			err, ERR_LIMIT,
			"the changes in the sandbox grew to more than %" PRId64
			" MiB",
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

int fetch_begin_commit(struct fetching *g, const char *parent,
		       struct error *err)
{
	const struct odb_commit_info info = {
		.ref = g->ref,
		.parent = parent,
		.message = "What is in the sandbox\n",
	};

	return odb_commit_begin(&g->commit, &g->w->git, &info, g->stop, err);
}

int fetch_end_commit(struct fetching *g, int rc, struct error *err)
{
	struct odb_commit *c = g->commit;

	g->commit = NULL;
	if (rc == 0)
		return odb_commit_end(c, g->f->theirs, err);
	odb_commit_abort(c);
	return -1;
}

int fetch_commit_scan(struct fetching *g, const char *parent, bool gone,
		      struct error *err)
{
	const struct archive_visitor v = { on_pull, on_entry, on_data, g };
	int rc = fetch_begin_commit(g, parent, err);

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
			fetch_leave(g, g->names[i].path, "could not be read");
	return fetch_end_commit(g, rc, err);
}

static int note_entry(void *arg, const struct odb_record *r, struct error *err)
{
	struct announced *name = fetch_find_name(arg, r->path);

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
	const struct announced *name = fetch_find_name(g, g->originals[i].path);
	const char *path = g->links[i].path;

	if (name && name->entry)
		return odb_commit_blob(g->commit, name->entry->mode,
				       str_of(path), name->entry->oid, err);
	fetch_refuse(g, path, "is a link to a file that was not brought");
	return 0;
}

int fetch_commit_links(struct fetching *g, struct error *err)
{
	char parent[GIT_OID];
	int rc;

	if (!g->n_links)
		return 0;
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = odb_tree_diff(&g->w->git, NULL, parent,
			   &(struct odb_sink){ note_entry, g }, g->stop, err);
	if (rc == 0)
		rc = fetch_begin_commit(g, parent, err);
	for (size_t i = 0; i < g->n_links && rc == 0; i++)
		rc = put_link(g, i, err);
	rc = g->commit ? fetch_end_commit(g, rc, err) : -1;
	for (size_t i = 0; i < g->n; i++)
		free(g->names[i].entry);
	fetch_items_release(&g->links, &g->n_links);
	fetch_items_release(&g->originals, &g->n_originals);
	return rc;
}
