/* snapshot.c - the user's tree as it is now, as a commit of dcode's own. */
/* SPDX-License-Identifier: MIT */
#include "worktree/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worktree/pass.h"

/* What a commit on top of the base has to take from the tree. */
struct local_tree {
	struct workspace *w;
	struct selection s;
	struct listing base; /* empty: it is not known */
	struct listing now;
	struct selected *files; /* that differ; paths are s's */
	size_t n;
	const char **gone; /* paths of base or now: differ, or are not there */
	size_t n_gone;
	size_t at; /* in s */
};

static int add_change(void *arg, const struct listing_entry *before,
		      const struct listing_entry *after, struct error *err)
{
	struct local_tree *t = arg;

	(void)err;
	t->gone[t->n_gone++] = (after ? after : before)->path;
	while (after && t->at < t->s.n &&
	       strcmp(t->s.files[t->at].path, after->path) < 0)
		t->at++;
	if (after && t->at < t->s.n)
		t->files[t->n++] = t->s.files[t->at++];
	return 0;
}

static int read_files(const struct pass_request *r, struct listing *read,
		      const struct stop *stop, struct error *err)
{
	struct pass *p;
	int rc;

	if (pass_open(&p, r, err) < 0)
		return -1;
	rc = pass_run(p, stop, err);
	if (rc == 0) {
		*read = *pass_listing(p);
		*pass_listing(p) = (struct listing){ 0 };
	}
	pass_close(p);
	return rc;
}

/* Files that the cache knows are not opened. */
static int find_changes(struct local_tree *t, const struct stop *stop,
			struct error *err)
{
	struct pass_request r = { .workspace = t->w,
				  .files = t->s.files,
				  .n = t->s.n };

	struct error none = { 0 };

	if (t->w->base[0] &&
	    workspace_read_listing(t->w, &t->base, stop, &none) < 0)
		listing_release(&t->base);
	if (read_files(&r, &t->now, stop, err) < 0)
		return -1;
	t->files = xcalloc(t->s.n + 1, sizeof(*t->files));
	t->gone = xcalloc(t->s.n + t->base.n + 1, sizeof(*t->gone));
	return listing_compare(&t->base, &t->now, add_change, t, err);
}

/* The base with what differs, which is read now. */
static int commit_changes(struct local_tree *t, const char *ref,
			  struct listing *read, char oid[GIT_OID],
			  const struct stop *stop, struct error *err)
{
	struct odb_commit_info info = { .ref = ref,
					.parent = t->w->base[0] ? t->w->base
								: NULL,
					.message = "local tree" };
	struct pass_request r = { .workspace = t->w,
				  .files = t->files,
				  .n = t->n };
	int rc = 0;

	if (odb_commit_begin(&r.commit, &t->w->git, &info, stop, err) < 0)
		return -1;
	if (info.parent && !t->base.n)
		rc = odb_commit_clear(r.commit, err);
	for (size_t i = 0; rc == 0 && t->base.n && i < t->n_gone; i++)
		rc = odb_commit_delete(r.commit, str_of(t->gone[i]), err);
	if (rc == 0)
		rc = read_files(&r, read, stop, err);
	if (rc == 0)
		return odb_commit_end(r.commit, oid, err);
	odb_commit_abort(r.commit);
	return -1;
}

/* Of what differed, now has what went into the commit. */
static void update_listing(struct local_tree *t, const struct listing *read)
{
	for (size_t i = 0; i < t->n_gone; i++)
		listing_drop(&t->now, t->gone[i]);
	for (size_t i = 0; i < read->n; i++)
		listing_add(&t->now, read->entries[i].mode,
			    read->entries[i].hash,
			    str_of(read->entries[i].path));
	listing_sort(&t->now);
}

int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err)
{
	struct local_tree t = { .w = w };
	struct listing read = { 0 };
	int rc = select_files(&t.s, w, r, stop, err);

	if (rc == 0)
		rc = find_changes(&t, stop, err);
	if (rc == 0)
		rc = commit_changes(&t, snapshot->ref, &read, snapshot->commit,
				    stop, err);
	if (rc == 0 && snapshot->read) {
		update_listing(&t, &read);
		*snapshot->read = t.now;
		t.now = (struct listing){ 0 };
	}
	listing_release(&read);
	listing_release(&t.base);
	listing_release(&t.now);
	free(t.files);
	free(t.gone);
	select_release(&t.s);
	return rc;
}
