/* undo.c - takes the last apply back, through the same journal. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "apply/apply.h"
#include "apply/obstacle.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "tree/name.h"
#include "tree/user_index.h"

/* The bytes of a record's side become a side of the new journal. */
static int take_side(const struct journal *j, const char *record,
		     const char *from, const char *to, unsigned id,
		     struct error *err)
{
	char *old = xasprintf("%s/%s/%u", record, from, id);
	char *new = journal_file(j, to, id);
	int rc = 0;

	if (link(old, new) < 0)
		rc = error_errno(err, "writing %s", new);
	free(old);
	free(new);
	return rc;
}

static int copy_link(int dir, const char *name, int to)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n < 0 || io_write_all(to, target, (size_t)n) < 0 ? -1 : 0;
}

/* With force: what the user has there now is what a crash restores. */
static int copy_current(const struct journal *j, struct plan_change *c,
			struct error *err)
{
	char *path = journal_file(j, "before", c->id);
	unsigned char hash[TREEFILE_HASH];
	const char *name;
	int dir = treefile_parent(j->root, c->path, &name);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int from = -1;
	int rc = 0;

	if (dir >= 0 && c->before.mode != NAME_LINK)
		from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0 || dir < 0 ||
	    (c->before.mode == NAME_LINK ? copy_link(dir, name, to)
	     : from < 0                  ? -1
					 : treefile_copy(from, to, hash)) < 0)
		rc = error_errno(err, "keeping %s", c->path);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (dir >= 0)
		close(dir);
	free(path);
	return rc;
}

static bool is_plain(const struct treefile *t)
{
	return t->mode == 0 || t->mode == NAME_FILE ||
	       t->mode == NAME_PROGRAM || t->mode == NAME_LINK;
}

/* Takes a reversed change into the new journal. *stays: not without force. */
static int take_change(struct journal *j, const char *record,
		       struct plan_change *c, bool force, bool *stays,
		       struct error *err)
{
	struct treefile now;
	bool same;

	*stays = false;
	if (treefile_stat(j->root, c->path, &now, err) < 0)
		return -1;
	/* check_directories() looks at what is in it. */
	if (!c->before.mode && now.mode == TREEFILE_DIR)
		now.mode = 0;
	if (now.mode == TREEFILE_BLOCKED)
		now.mode = 0;
	same = treefile_equal(&now, &c->before);
	if (!same && (!force || !is_plain(&now))) {
		*stays = !treefile_equal(&now, &c->after);
		if (*stays)
			return 0;
	}
	c->before = now;
	if (c->after.mode &&
	    take_side(j, record, "before", "after", c->id, err) < 0)
		return -1;
	return now.mode ? copy_current(j, c, err) : 0;
}

static void on_blocked(void *arg, const char *path)
{
	struct apply_result *r = arg;

	apply_add_path(&r->changed, &r->n_changed, path);
}

/* Directories in the place of files that come back: what the user has put into
 * one keeps it. */
static int check_directories(struct apply_result *r, struct journal *j,
			     struct error *err)
{
	struct obstacle_report report = { .blocked = on_blocked, .arg = r };

	for (size_t i = 0; i < j->plan.n;) {
		const struct plan_change *c = &j->plan.changes[i];
		size_t before = r->n_changed;
		struct treefile now;

		if (treefile_stat(j->root, c->path, &now, err) < 0)
			return -1;
		if (c->after.mode && now.mode == TREEFILE_DIR &&
		    obstacle_directory(&j->plan, j->root, c->path, &report,
				       err) < 0)
			return -1;
		if (r->n_changed > before)
			plan_remove(&j->plan, i);
		else
			i++;
	}
	return 0;
}

static void list_change(struct apply_result *r, const struct plan_change *c)
{
	r->files = xrealloc(r->files, r->n + 1, sizeof(*r->files));
	r->files[r->n++] = (struct apply_file){
		.path = xstrdup(c->path),
		.letter = !c->before.mode  ? 'A'
			  : !c->after.mode ? 'D'
					   : 'M',
	};
}

static int take_changes(struct apply_result *r, struct journal *j,
			const char *record, bool force, struct error *err)
{
	for (size_t i = 0; i < j->plan.n;) {
		struct plan_change *c = &j->plan.changes[i];
		bool stays;

		if (take_change(j, record, c, force, &stays, err) < 0)
			return -1;
		if (stays) {
			apply_add_path(&r->changed, &r->n_changed, c->path);
			plan_remove(&j->plan, i);
		} else {
			i++;
		}
	}
	return check_directories(r, j, err);
}

/* What an undo works on. */
struct undo_work {
	struct apply_result *result;
	struct journal *journal;
	const struct apply_undo_request *request;
	char *record; /* owned: the directory of what is taken back */
};

/* Makes index.after, which takes the place of the user's index. 1: it is there;
 * 0: the index changed since, and stays. */
static int make_index(const struct undo_work *w, struct error *err)
{
	const struct journal *j = w->journal;
	char *applied = path_join(w->record, "index.after");
	char *before = path_join(w->record, "index.before");
	char *after = path_join(j->dir, "index.after");
	struct apply_unstage q = { before, applied, after };
	int rc;

	if (user_index_same(j->plan.index, applied))
		rc = user_index_copy(before, after, err) < 0 ? -1 : 1;
	else
		rc = w->request->unstage(w->request->arg, &q, err);
	free(applied);
	free(before);
	free(after);
	return rc;
}

static int take_index(struct undo_work *w, struct error *err)
{
	struct journal *j = w->journal;
	int rc = j->plan.index ? make_index(w, err) : 1;

	if (rc == 0) {
		w->result->index_changed = true;
		free(j->plan.index);
		j->plan.index = NULL;
	}
	return rc < 0 ? -1 : 0;
}

/* The index is locked: what was staged while it was not counts, too. */
static int write_index(const struct undo_work *w, struct error *err)
{
	int rc = make_index(w, err);

	if (rc == 0)
		rc = error_set(err, ERR_BUSY, "%s changed while it was undone",
			       w->journal->plan.index);
	return rc < 0 ? -1 : journal_write_index(w->journal, err);
}

static int write_undo(const struct undo_work *w, struct error *err)
{
	struct journal *j = w->journal;
	bool index = j->plan.index != NULL;

	if (journal_seal(j, err) < 0 ||
	    (index && journal_lock_index(j, err) < 0))
		return journal_fail(j, err);
	if (journal_write(j, err) < 0)
		return -1;
	if (index && write_index(w, err) < 0)
		return journal_fail(j, err);
	if (journal_finish(j, err) < 0)
		return -1;
	w->result->applied = true;
	w->result->unstaged = index;
	return 0;
}

static int prepare(struct undo_work *w, struct apply_plan *p, struct error *err)
{
	struct journal *j = w->journal;

	if (journal_begin(j, err) < 0)
		return -1;
	/* The new plan is the old one backwards, under a token of its own. */
	free(p->token);
	p->token = j->plan.token;
	j->plan.token = NULL;
	plan_release(&j->plan);
	j->plan = *p;
	*p = (struct apply_plan){ 0 };
	plan_reverse(&j->plan);
	if (take_changes(w->result, j, w->record, w->request->force, err) < 0 ||
	    take_index(w, err) < 0)
		return -1;
	for (size_t i = 0; i < j->plan.n; i++)
		list_change(w->result, &j->plan.changes[i]);
	return 0;
}

int apply_undo(struct apply_result *r, struct journal *j,
	       const struct apply_undo_request *q, struct error *err)
{
	struct undo_work w = { .result = r, .journal = j, .request = q };
	struct error ignored = { 0 };
	struct apply_plan p = { 0 };
	int rc = journal_last(j, &p, &w.record, err);

	if (rc == 0)
		rc = prepare(&w, &p, err);
	if (rc == 0 && (r->n || (!r->n_changed && !r->index_changed)))
		rc = write_undo(&w, err);
	else
		(void)journal_abandon(j, &ignored);
	plan_release(&p);
	free(w.record);
	return rc;
}
