/* shared.c - moves the base of a workspace: what both sides share. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "workspace/relist.h"

/* The base as another dcode has left it, and what is new in to on top. */
struct joining {
	const char *from, *to;
	char **moved; /* paths where the base is not as from: they stay */
	size_t n;
	struct odb_commit *commit;
};

static int add_moved(void *arg, const struct odb_record *d, struct error *err)
{
	struct joining *j = arg;

	(void)err;
	if (!(j->n & (j->n - 1)))
		j->moved = xrealloc(j->moved, j->n ? j->n * 2 : 1,
				    sizeof(*j->moved));
	j->moved[j->n++] = xstrdup(d->path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct joining *j = arg;

	if (j->n &&
	    bsearch(&d->path, j->moved, j->n, sizeof(*j->moved), by_name))
		return 0;
	if (!d->new_mode)
		return odb_commit_delete(j->commit, str_of(d->path), err);
	return odb_commit_blob(j->commit, d->new_mode, str_of(d->path),
			       d->new_oid, err);
}

static int write_joined(struct joining *j, struct workspace *w,
			char oid[GIT_OID], const struct stop *stop,
			struct error *err)
{
	char *ref = odb_ref_name(w->label, "joined");
	struct odb_commit_info info = { .ref = ref,
					.parent = w->base,
					.message = "taken over" };
	struct error ignored = { 0 };
	int rc = odb_commit_begin(&j->commit, &w->git, &info, stop, err);

	if (rc == 0 &&
	    odb_tree_diff(&w->git, j->from, j->to,
			  &(struct odb_sink){ add_change, j }, stop, err) < 0) {
		odb_commit_abort(j->commit);
		rc = -1;
	} else if (rc == 0) {
		rc = odb_commit_end(j->commit, oid, err);
	}
	if (rc == 0)
		rc = odb_ref_set(&w->git, ref, NULL, stop, &ignored);
	free(ref);
	return rc;
}

static int join(struct workspace *w, const char *from, const char *to,
		char oid[GIT_OID], const struct stop *stop, struct error *err)
{
	struct joining j = { .from = from, .to = to };
	int rc = odb_tree_diff(&w->git, from, w->base,
			       &(struct odb_sink){ add_moved, &j }, stop, err);

	if (j.n)
		qsort(j.moved, j.n, sizeof(*j.moved), by_name);
	if (rc == 0)
		rc = write_joined(&j, w, oid, stop, err);
	for (size_t i = 0; i < j.n; i++)
		free(j.moved[i]);
	free(j.moved);
	return rc;
}

static int set_base(struct workspace *w, const char *commit,
		    const struct stop *stop, struct error *err)
{
	struct listing l = { 0 };
	int rc = workspace_read_listing(w, &l, stop, err);

	if (rc == 0)
		rc = relist_commit(&l, &w->git, w->base, commit, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(w, &l, commit, err);
	if (rc == 0)
		rc = workspace_set_base(w, commit, stop, err);
	listing_release(&l);
	return rc;
}

static int move_base(struct workspace *w, const char *from, const char *to,
		     const struct stop *stop, struct error *err)
{
	char oid[GIT_OID];
	int lock = workspace_lock_base(w, stop, err);
	int rc = 0;

	if (lock < 0)
		return -1;
	if (!from[0] || !strcmp(w->base, from) || !strcmp(w->base, to))
		snprintf(oid, sizeof(oid), "%s", to);
	else
		rc = join(w, from, to, oid, stop, err);
	if (rc == 0)
		rc = set_base(w, oid, stop, err);
	close(lock);
	return rc;
}

int shared_move(struct workspace *w, const char *label, const char *from,
		const char *to, const struct stop *stop, struct error *err)
{
	struct workspace other = *w;
	int rc;

	if (!strcmp(label, w->label))
		return move_base(w, from, to, stop, err);
	other.label = (char *)label;
	other.base_ref = odb_ref_name(label, "base");
	rc = move_base(&other, from, to, stop, err);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		rc = 0; /* that sandbox's records have gone meanwhile */
	free(other.base_ref);
	return rc;
}

static int read_branched(const struct workspace *w, char oid[GIT_OID],
			 const struct stop *stop)
{
	char *ref = odb_ref_name(w->label, "branch");
	struct error ignored = { 0 };
	int rc = odb_ref_get(&w->git, ref, oid, stop, &ignored);

	free(ref);
	return rc;
}

int shared_set_branched(const struct workspace *w, const char *theirs,
			const struct stop *stop, struct error *err)
{
	char *ref = odb_ref_name(w->label, "branch");
	int rc = odb_ref_set(&w->git, ref, theirs, stop, err);

	free(ref);
	return rc;
}

bool shared_has_branched(const struct workspace *w, const struct stop *stop)
{
	char oid[GIT_OID];

	return read_branched(w, oid, stop) == 0;
}

static int note_difference(void *arg, const struct odb_record *d,
			   struct error *err)
{
	(void)d;
	(void)err;
	*(bool *)arg = false;
	return 0;
}

bool shared_is_branched(const struct workspace *w, const char *theirs,
			const struct stop *stop)
{
	char oid[GIT_OID];
	struct error ignored = { 0 };
	bool same = true;

	return read_branched(w, oid, stop) == 0 &&
	       odb_tree_diff(&w->git, oid, theirs,
			     &(struct odb_sink){ note_difference, &same }, stop,
			     &ignored) == 0 &&
	       same;
}
