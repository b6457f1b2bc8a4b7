/* apply.c - brings what a sandbox changed onto the user's tree. */
/* SPDX-License-Identifier: MIT */
#include "apply/apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/obstacle.h"
#include "apply/shared_base.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "git/odb.h"
#include "tree/bare_repo.h"
#include "tree/blobs.h"
#include "tree/name.h"

enum {
	SECRET_FILE_MAX = 16 << 20, /* larger ones are not searched */
	TARGET_MAX = 4096,
	GITLINK = 0160000, /* the mode of a submodule */
};

struct apply_work {
	struct apply_result *result;
	struct journal *journal;
	const struct apply_request *request;
	const struct stop *stop;
	struct blobs_file *blobs; /* before and after of the changes */
	size_t n_blobs;
};

void apply_add_path(char ***list, size_t *n, const char *path)
{
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = xstrdup(path);
}

static void release_paths(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void apply_result_release(struct apply_result *r)
{
	release_paths(r->blocked, r->n_blocked);
	release_paths(r->changed, r->n_changed);
	release_paths(r->kept, r->n_kept);
	for (size_t i = 0; i < r->n; i++)
		free(r->files[i].path);
	free(r->files);
	merge_release(&r->merge);
	*r = (struct apply_result){ 0 };
}

static void add_blob(struct apply_work *w, const char *side, unsigned id,
		     const char *oid)
{
	struct blobs_file *f;

	w->blobs = xrealloc(w->blobs, w->n_blobs + 1, sizeof(*w->blobs));
	f = &w->blobs[w->n_blobs++];
	*f = (struct blobs_file){ .path = journal_file(w->journal, side, id) };
	snprintf(f->oid, sizeof(f->oid), "%s", oid);
}

static int refuse(const char *path, const char *why, struct error *err)
{
	error_set(err, ERR_POLICY, "%s %s: nothing was written", path, why);
	err->code = ERR_PROTOCOL;
	return -1;
}

/* One difference between the local tree and the merged one. */
static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct apply_work *w = arg;
	const char *why = name_refuse(str_of(d->path),
				      d->new_mode ? d->new_mode : d->old_mode);
	struct plan_change *c;

	/* What git has lost is listed with the conflicts. */
	if (w->result->merge.unwritable && d->new_mode == GITLINK)
		return 0;
	if (why)
		return refuse(d->path, why, err);
	c = plan_add(&w->journal->plan, d->path);
	c->before.mode = d->old_mode;
	c->after.mode = d->new_mode;
	if (d->old_mode)
		add_blob(w, "before", c->id, d->old_oid);
	if (d->new_mode)
		add_blob(w, "after", c->id, d->new_oid);
	return 0;
}

/* The hashes of the bytes, in the order of add_change(). */
static void set_hashes(struct apply_work *w)
{
	struct apply_plan *p = &w->journal->plan;
	size_t b = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct plan_change *c = &p->changes[i];

		if (c->before.mode)
			memcpy(c->before.hash, w->blobs[b++].hash,
			       TREEFILE_HASH);
		if (c->after.mode)
			memcpy(c->after.hash, w->blobs[b++].hash,
			       TREEFILE_HASH);
	}
}

/* A patch of any origin may bring one, or the part that one lacks here. */
static int check_repositories(const struct journal *j, struct error *err)
{
	struct bare_repos made = { 0 };
	struct tree_dir disk;
	int rc = tree_dir_open(&disk, j->plan.root, err);

	for (size_t i = 0; i < j->plan.n; i++)
		if (j->plan.changes[i].after.mode)
			bare_repo_add(&made, str_of(j->plan.changes[i].path));
	for (size_t i = 0; rc == 0 && i < j->plan.n; i++) {
		const char *path = j->plan.changes[i].path;

		if (bare_repo_find(&made, &disk, path) >= 0)
			rc = refuse(path, bare_repo_refused, err);
	}
	tree_dir_close(&disk);
	bare_repo_release(&made);
	return rc;
}

static int check_links(const struct journal *j, struct error *err)
{
	for (size_t i = 0; i < j->plan.n; i++) {
		const struct plan_change *c = &j->plan.changes[i];
		struct buf target = BUF_INIT(TARGET_MAX);
		const char *why = NULL;
		char *path;
		int rc;

		if (c->after.mode != NAME_LINK)
			continue;
		path = journal_file(j, "after", c->id);
		rc = path_read(path, &target, err);
		free(path);
		if (rc == 0)
			why = name_refuse_target(str_of(c->path),
						 buf_str(&target));
		buf_release(&target);
		if (rc < 0)
			return -1;
		if (why)
			return refuse(c->path, why, err);
	}
	return 0;
}

static bool holds_secret(const struct apply_work *w,
			 const struct plan_change *c)
{
	struct buf text = BUF_INIT(SECRET_FILE_MAX);
	struct buf masked = BUF_INIT(2 * SECRET_FILE_MAX);
	char *path = journal_file(w->journal, "after", c->id);
	struct error ignored = { 0 };
	bool found = false;

	if (path_read(path, &text, &ignored) == 0) {
		mask_text(w->request->mask, buf_str(&text), &masked);
		found = !str_eq(buf_str(&text), buf_str(&masked));
	}
	free(path);
	buf_release(&text);
	buf_wipe(&masked);
	return found;
}

static void list_files(struct apply_work *w)
{
	const struct apply_plan *p = &w->journal->plan;
	struct apply_result *r = w->result;

	r->files = xcalloc(p->n + 1, sizeof(*r->files));
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_change *c = &p->changes[i];

		r->files[r->n++] = (struct apply_file){
			.path = xstrdup(c->path),
			.letter = !c->before.mode  ? 'A'
				  : !c->after.mode ? 'D'
						   : 'M',
			.secret = c->after.mode && w->request->mask &&
				  holds_secret(w, c),
		};
	}
}

static void on_blocked(void *arg, const char *path)
{
	struct apply_work *w = arg;

	apply_add_path(&w->result->blocked, &w->result->n_blocked, path);
}

static void on_changed(void *arg, const char *path)
{
	struct apply_work *w = arg;

	apply_add_path(&w->result->changed, &w->result->n_changed, path);
}

/* What a new program gets: the umask has no other way to be read that another
 * thread could not notice. */
static int program_perm(const struct journal *j, mode_t *perm,
			struct error *err)
{
	char *probe = path_join(j->dir, "umask");
	int fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = error_errno(err, "writing %s", probe);
	else
		*perm = st.st_mode & 0777;
	if (fd >= 0)
		close(fd);
	unlink(probe);
	free(probe);
	return rc;
}

/* The user's own link in place of a directory has a name of git's in the merge,
 * where it may lead out: a conflict that cannot be written. */
static int check_merged_links(struct apply_work *w, struct error *err)
{
	struct merge *m = &w->result->merge;
	struct error why = { 0 };

	if (check_links(w->journal, &why) == 0)
		return 0;
	for (size_t i = 0; why.code == ERR_PROTOCOL && i < m->n; i++)
		if (!strcmp(m->conflicts[i].kind, MERGE_FILE_DIRECTORY))
			m->unwritable = true;
	if (m->unwritable)
		return 0;
	*err = why;
	return -1;
}

static void on_kept(void *arg, const char *path)
{
	struct apply_work *w = arg;

	apply_add_path(&w->result->kept, &w->result->n_kept, path);
}

/* What both sides share once the result is written. */
static int set_base_after(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	const struct shared_base s = { .git = q->git,
				       .label = q->label,
				       .base = q->base,
				       .theirs = q->theirs,
				       .merge = &w->result->merge,
				       .kept = on_kept,
				       .arg = w };

	return shared_base_compute(&s, w->journal->plan.base_after, w->stop,
				   err);
}

/* The plan, its files, and what of the tree forbids it. */
static int make_plan(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	struct journal *j = w->journal;
	struct obstacle_report report = { on_blocked, on_changed, w };
	mode_t perm = 0;

	if (journal_begin(j, err) < 0)
		return -1;
	if (q->label) {
		j->plan.label = xstrdup(q->label);
		snprintf(j->plan.base_before, GIT_OID, "%s", q->base_before);
	}
	if (odb_tree_diff(q->git, q->ours, w->result->merge.tree,
			  &(struct odb_sink){ add_change, w }, w->stop,
			  err) < 0 ||
	    blobs_write(q->git, w->blobs, w->n_blobs, w->stop, err) < 0)
		return -1;
	set_hashes(w);
	if (check_merged_links(w, err) < 0 || check_repositories(j, err) < 0 ||
	    program_perm(j, &perm, err) < 0 ||
	    obstacle_check(&j->plan, j->root, perm, &report, err) < 0)
		return -1;
	list_files(w);
	if (j->plan.n) /* else there is nothing to stage */
		j->plan.index = xstrdup(q->index);
	j->plan.unrecorded = !j->plan.n && !w->result->merge.n;
	return 0;
}

static int write_index(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	char *before = path_join(w->journal->dir, "index.before");
	char *after = path_join(w->journal->dir, "index.after");
	int rc = q->stage(q->stage_arg, before, after, w->result->files,
			  w->result->n, err);

	if (rc == 0)
		rc = journal_write_index(w->journal, err);
	free(before);
	free(after);
	return rc;
}

static int write_all(struct apply_work *w, struct error *err)
{
	struct journal *j = w->journal;

	if (stop_check(w->stop, err) < 0 ||
	    (w->request->label && set_base_after(w, err) < 0) ||
	    journal_seal(j, err) < 0 ||
	    (j->plan.index && journal_lock_index(j, err) < 0))
		return journal_fail(j, err);
	if (journal_write(j, err) < 0)
		return -1;
	if (j->plan.index && write_index(w, err) < 0)
		return journal_fail(j, err);
	if (journal_finish(j, err) < 0)
		return -1;
	w->result->applied = true;
	return 0;
}

int apply_merge(struct apply_result *r, struct journal *j,
		const struct apply_request *q, const struct stop *stop,
		struct error *err)
{
	struct apply_work w = {
		.result = r, .journal = j, .request = q, .stop = stop
	};
	struct merge_sides sides = { .base = q->base,
				     .ours = q->ours,
				     .theirs = q->theirs,
				     .attributes = q->attributes };
	struct error ignored = { 0 };
	int rc = merge_compute(&r->merge, q->git, &sides, stop, err);

	if (rc == 0)
		rc = make_plan(&w, err);
	if (rc == 0 && !r->n_blocked && !r->n_changed &&
	    (!r->merge.n || (q->conflicts && !r->merge.unwritable)))
		rc = write_all(&w, err);
	else
		(void)journal_abandon(j, &ignored);
	for (size_t i = 0; i < w.n_blobs; i++)
		free(w.blobs[i].path);
	free(w.blobs);
	return rc;
}
