/* changes.c - dcode apply: merges a sandbox's changes into the tree or a
 * branch. */
/* SPDX-License-Identifier: MIT */

/*
 * changes_apply() implements dcode apply. It opens the journal, which finishes
 * or undoes an apply that was interrupted by a crash. Then run_merge() does one
 * merge, whatever the options are. Each option is a row of the table `modes`,
 * which says: what the merge reads instead of all changes of the sandbox
 * (changes_select.c), where the result is written (to_tree below,
 * changes_to_branch in changes_git.c), what happens if a file of the user is in
 * the way, what happens to the base, and what is printed. The functions at the
 * end of the file report the result to people (changes_print()) and programs
 * (changes_json()).
 *
 * The base of a workspace is the last state that the user's tree and the
 * sandbox share. After an apply to the user's tree the base moves, so that the
 * next apply contains only newer changes (move_shared_base()). Another dcode
 * may have moved it meanwhile.
 */
#include "cmd/session/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "session/thread.h"
#include "worktree/select.h"
#include "worktree/stream_files.h"
#include "worktree/user_repo.h"
#include "worktree/workspace.h"

/* Combines two moves of the base: another dcode moved it away from `from`, and
 * this apply moves it from `from` to `to`. */
struct joining {
	const char *from, *to;
	char **moved; /* paths moved by the other dcode; sorted */
	size_t n;
	struct odb_commit *commit;
};

/* add_moved callback: records a path that another dcode moved. That move wins
 * over this apply's. The list grows by doubling. */
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

/* odb_tree_diff() callback: adds a path that this apply moved, unless another
 * dcode moved it, too. */
static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct joining *j = arg;

	if (j->n &&
	    bsearch(&d->path, j->moved, j->n, sizeof(*j->moved), str_compare))
		return 0;
	if (!d->new_mode)
		return odb_commit_delete(j->commit, str_of(d->path), err);
	return odb_commit_blob(j->commit, d->new_mode, str_of(d->path),
			       d->new_oid, err);
}

/* Commits the combined base and sets oid. odb_commit_begin() needs a ref, which
 * is deleted here again: the caller makes the base refer to the commit. */
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

/* Combines both moves: sets oid to a commit with the base as another dcode left
 * it, plus the paths that this apply changed. */
static int join_bases(struct workspace *w, const char *from, const char *to,
		      char oid[GIT_OID], const struct stop *stop,
		      struct error *err)
{
	struct joining j = { .from = from, .to = to };
	int rc = odb_tree_diff(&w->git, from, w->base,
			       &(struct odb_sink){ add_moved, &j }, stop, err);

	if (j.n)
		qsort(j.moved, j.n, sizeof(*j.moved), str_compare);
	if (rc == 0)
		rc = write_joined(&j, w, oid, stop, err);
	for (size_t i = 0; i < j.n; i++)
		free(j.moved[i]);
	free(j.moved);
	return rc;
}

/* Makes commit the new base. Writes the listing first, because the listing
 * names the commit that it describes. */
static int set_base(struct workspace *w, const char *commit,
		    const struct stop *stop, struct error *err)
{
	struct listing l = { 0 };
	int rc = workspace_read_listing(w, &l, stop, err);

	if (rc == 0)
		rc = workspace_relist(&l, &w->git, w->base, commit, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(w, &l, commit, err);
	if (rc == 0)
		rc = workspace_set_base(w, commit, stop, err);
	listing_release(&l);
	return rc;
}

/* Moves the base under its lock. If another dcode moved the base meanwhile,
 * combines both moves. */
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
		rc = join_bases(w, from, to, oid, stop, err);
	if (rc == 0)
		rc = set_base(w, oid, stop, err);
	close(lock);
	return rc;
}

/* Moves the base of label, and its listing, from one commit to another. label
 * may belong to another sandbox than w. If another dcode moved that base
 * meanwhile, its changes stay and this apply's are added. Can be repeated
 * safely. */
static int move_shared_base(struct workspace *w, const char *label,
			    const char *from, const char *to,
			    const struct stop *stop, struct error *err)
{
	struct workspace other = *w;
	int rc;

	if (!strcmp(label, w->label))
		return move_base(w, from, to, stop, err);
	other.label = (char *)label;
	other.base_ref = odb_ref_name(label, "base");
	rc = move_base(&other, from, to, stop, err);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		rc = 0; /* the other sandbox's records were deleted meanwhile */
	free(other.base_ref);
	return rc;
}

/* Reads the sandbox commit that was last committed to a branch. */
static int read_branched(const struct workspace *w, char oid[GIT_OID],
			 const struct stop *stop)
{
	char *ref = odb_ref_name(w->label, "branch");
	struct error ignored = { 0 };
	int rc = odb_ref_get(&w->git, ref, oid, stop, &ignored);

	free(ref);
	return rc;
}

/* Records that theirs, a commit of the sandbox's files, was committed to a
 * branch of the user. The base stays. */
static int set_branched(const struct workspace *w, const char *theirs,
			const struct stop *stop, struct error *err)
{
	char *ref = odb_ref_name(w->label, "branch");
	int rc = odb_ref_set(&w->git, ref, theirs, stop, err);

	free(ref);
	return rc;
}

bool changes_have_branched(const struct workspace *w, const struct stop *stop)
{
	char oid[GIT_OID];

	return read_branched(w, oid, stop) == 0;
}

/* odb_tree_diff() callback: clears *arg, because the trees differ. */
static int mark_different(void *arg, const struct odb_record *d,
			  struct error *err)
{
	(void)d;
	(void)err;
	*(bool *)arg = false;
	return 0;
}

bool changes_are_branched(const struct workspace *w, const char *theirs,
			  const struct stop *stop)
{
	char oid[GIT_OID];
	struct error ignored = { 0 };
	bool same = true;

	return read_branched(w, oid, stop) == 0 &&
	       odb_tree_diff(&w->git, oid, theirs,
			     &(struct odb_sink){ mark_different, &same }, stop,
			     &ignored) == 0 &&
	       same;
}

enum {
	LOCK_MS = 10000,
	BASE_MS = 120000,
};

/* What a mode does if the path of a sandbox's file is taken by a file or
 * directory of the user that was never sent. */
enum in_the_way {
	WAY_STOPS = 1, /* nothing is written */
	WAY_LEFT_OUT,  /* the sandbox's file at that path is not applied */
	WAY_UNUSED,    /* does not apply: the changes go to a branch, not to the
			  user's files */
};

/* What happens to the base (see the top of this file) after the changes were
 * written. */
enum base_after {
	BASE_MOVES = 1, /* it moves to what was written */
	BASE_STAYS, /* it stays; dcode records that a commit has the changes */
	BASE_NONE,  /* no base: the changes do not come from a sandbox */
};

/* A row of `modes`: one way of dcode apply. If modes are combined, a member
 * that is 0 leaves the value of the other modes. */
struct mode {
	const char *option; /* its name without dashes */
	/* modes that it cannot be combined with; why is the error message, or
	 * NULL for the usual one */
	struct {
		enum changes_mode mode;
		const char *why;
	} excludes[5];
	bool here; /* needs neither a thread nor a sandbox */
	int (*run)(struct change_merge *m, struct error *err);
	/* drops changes of the sandbox before the user's tree is read */
	int (*choose)(struct change_set *ch, const struct stop *stop,
		      struct error *err);
	/* sets base and theirs once the user's tree is known */
	int (*replace)(struct change_merge *m, struct error *err);
	const struct change_target *target;
	bool staged;  /* also stage the changes in the user's index */
	bool markers; /* write files with conflicts, with conflict markers */
	enum in_the_way in_the_way;
	enum base_after base;
	void (*print)(const struct change_set *ch);
	const char *(*status)(const struct change_set *ch); /* for JSON */
	const char *left_out;  /* printed above the list of paths that were left
				  out */
	const char *conflicts; /* advice if conflicts prevented the writing */
};

static const struct mode modes[CHANGES_MODES];

/* Combines the rows of the given modes. Later rows override earlier ones. */
static struct mode combine_modes(const struct change_set *ch)
{
	struct mode all = modes[CHANGES_TREE];

	for (size_t i = CHANGES_TREE + 1; i < CHANGES_MODES; i++) {
		const struct mode *row = &modes[i];

		if (!ch->given[i])
			continue;
		all.here = all.here || row->here;
		all.staged = all.staged || row->staged;
		all.markers = all.markers || row->markers;
		all.run = row->run ? row->run : all.run;
		all.choose = row->choose ? row->choose : all.choose;
		all.replace = row->replace ? row->replace : all.replace;
		all.target = row->target ? row->target : all.target;
		if (row->in_the_way)
			all.in_the_way = row->in_the_way;
		all.base = row->base ? row->base : all.base;
		all.print = row->print ? row->print : all.print;
		all.status = row->status ? row->status : all.status;
		all.left_out = row->left_out ? row->left_out : all.left_out;
		if (row->conflicts)
			all.conflicts = row->conflicts;
	}
	return all;
}

/* Fails if two of the given modes cannot be combined. */
static int check_excluded(const struct change_set *ch, const struct mode *row,
			  struct error *err)
{
	for (size_t i = 0; i < sizeof(row->excludes) / sizeof(*row->excludes);
	     i++) {
		enum changes_mode other = row->excludes[i].mode;

		if (!ch->given[other])
			continue;
		if (row->excludes[i].why)
			return error_set(err, ERR_USAGE, "%s",
					 row->excludes[i].why);
		return error_set(err, ERR_USAGE,
				 "--%s cannot be combined with --%s",
				 row->option, modes[other].option);
	}
	return 0;
}

int changes_read_modes(struct change_set *ch, const struct args *args,
		       struct error *err)
{
	int rc = 0;

	for (size_t i = CHANGES_TREE + 1; i < CHANGES_MODES; i++)
		ch->given[i] = args_value(args, modes[i].option);
	for (size_t i = CHANGES_MODES; rc == 0 && i-- > 0;)
		if (ch->given[i])
			rc = check_excluded(ch, &modes[i], err);
	return rc;
}

bool changes_need_sandbox(const struct change_set *ch)
{
	return !combine_modes(ch).here;
}

struct touched {
	char **paths;
	size_t n;
};

static void on_line(void *arg, const char *text)
{
	(void)arg;
	app_warn("%s", text);
}

/* Moves the base after the tree was written. Not cancellable: tree and base
 * must match. */
static int on_base(void *arg, const struct apply_plan *p, struct error *err)
{
	struct change_set *ch = arg;
	struct stop stop = stop_cleanup(BASE_MS);

	return move_shared_base(ch->workspace, p->label, p->base_before,
				p->base_after, &stop, err);
}

/* Opens the journal. Waits up to 10 s for another dcode that applies to this
 * tree. */
static int open_journal(struct change_set *ch, struct journal *j,
			const struct stop *stop, struct error *err)
{
	struct journal_hooks hooks = { ch, on_line, on_base };
	struct stop wait = stop_within(stop, LOCK_MS);

	*j = (struct journal){ .lock = -1, .root = -1 };
	if (journal_open(j, ch->workspace->directory, ch->workspace->root,
			 &hooks, &wait, err) == 0)
		return 0;
	if (err->code == ERR_TIMEOUT)
		error_hint(err, "Another dcode is applying to this tree. Try "
				"again when it has finished.");
	return -1;
}

int changes_recover(struct app *app, struct workspace *w,
		    const struct stop *stop, struct error *err)
{
	struct change_set ch = { .app = app, .workspace = w };
	char *left = path_join(w->directory, "journal");
	struct journal j;
	int rc = 0;

	if (access(left, F_OK) == 0) {
		rc = open_journal(&ch, &j, stop, err);
		journal_close(&j);
	}
	free(left);
	return rc;
}

/* odb_tree_diff() callback: adds a path that the sandbox changed, so that it is
 * read from the user's tree even if git ignores it. */
static int add_touched(void *arg, const struct odb_record *d, struct error *err)
{
	struct touched *t = arg;

	(void)err;
	apply_add_path(&t->paths, &t->n, d->path);
	return 0;
}

/* Commits the user's current files. Includes each path that the sandbox changed
 * since base, even if git ignores it. base NULL (for --patch): without them. */
static int snapshot_tree(struct change_set *ch, const char *base,
			 char ours[GIT_OID], const struct stop *stop,
			 struct error *err)
{
	struct workspace *w = ch->workspace;
	struct touched t = { 0 };
	struct snapshot snapshot = { .ref = "refs/dcode-apply/ours" };
	struct select_request r = {
		.home = settings_home(ch->app->settings),
	};
	int rc = 0;

	if (base)
		rc = odb_tree_diff(&w->git, base, ch->theirs,
				   &(struct odb_sink){ add_touched, &t }, stop,
				   err);
	r.extra = (const char *const *)t.paths;
	r.n_extra = t.n;
	if (rc == 0)
		rc = workspace_snapshot(w, &r, &snapshot, stop, err);
	memcpy(ours, snapshot.commit, sizeof(snapshot.commit));
	for (size_t i = 0; i < t.n; i++)
		free(t.paths[i]);
	free(t.paths);
	return rc;
}

/* Asks whether to apply although another branch is checked out. Returns 0 for
 * yes, -1 with err. */
static int confirm_branch(struct change_set *ch, const char *now,
			  struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	buf_adds(&line, "the changes are based on branch ");
	sanitize_line(str_of(ch->from_branch), &line);
	buf_adds(&line, ", but ");
	sanitize_line(str_of(now[0] ? now : "HEAD"), &line);
	buf_adds(&line, now[0] ? " is checked out" : " is not on a branch");
	if (ch->app->unattended || ch->app->json || !secret_terminal(ch->app)) {
		rc = error_set(err, ERR_USAGE, "%s", line.ptr);
		error_hint(err, "--force applies them anyway; --branch NAME "
				"commits them to a new branch.");
	} else {
		app_warn("%s", line.ptr);
		rc = secret_confirm(ch->app, "Apply here? [y/N] ", err);
		if (rc == 0)
			rc = error_set(err, ERR_CANCELLED,
				       "nothing was written");
	}
	buf_release(&line);
	return rc < 0 ? -1 : 0;
}

/* If another branch is checked out than when the tree was sent, asks the user
 * or fails. */
static int check_branch(struct change_set *ch, const struct user_repo *u,
			struct error *err)
{
	if (ch->force || !ch->from_branch || !ch->from_branch[0] ||
	    !u->git_dir || !strcmp(u->branch, ch->from_branch))
		return 0;
	return confirm_branch(ch, u->branch, err);
}

static int open_tree(struct change_merge *m, struct error *err)
{
	if (check_branch(m->changes, m->user, err) < 0)
		return -1;
	if (m->mode->staged && !m->user->git_dir)
		return error_set(err, ERR_USAGE,
				 "--index: this is not a git repository");
	return 0;
}

static int read_tree(struct change_merge *m, struct error *err)
{
	return snapshot_tree(m->changes,
			     m->mode->base == BASE_NONE ? NULL : m->base,
			     m->ours, m->stop, err);
}

/* Writes files and, with --index, the index. */
static int write_tree(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	const struct workspace *w = ch->workspace;
	char *index =
		m->mode->staged ? path_join(m->user->git_dir, "index") : NULL;
	struct apply_request q = {
		.git = &w->git,
		.label = m->mode->base == BASE_MOVES ? w->label : NULL,
		.base = m->base,
		.ours = m->ours,
		.theirs = ch->theirs,
		.base_before = w->base,
		.mask = ch->app->mask,
		.conflicts = m->mode->markers,
		.index = index,
		.stage = changes_stage,
		.stage_arg = ch,
	};
	int rc = apply_merge(&ch->result, m->journal, &q, m->stop, err);

	free(index);
	return rc;
}

static const struct change_target to_tree = {
	.open = open_tree,
	.read = read_tree,
	.write = write_tree,
};

/* Reads the user's side and the sandbox's side of the merge. */
static int read_sides(struct change_merge *m, struct error *err)
{
	const struct mode *mode = m->mode;

	if (mode->target->open(m, err) < 0 || mode->target->read(m, err) < 0 ||
	    (mode->replace && mode->replace(m, err) < 0))
		return -1;
	if (mode->in_the_way == WAY_LEFT_OUT && changes_leave_out(m, err) < 0)
		return -1;
	return 0;
}

/* Merges and writes. With --partial, a write may find files of the user in the
 * way: then leaves out those paths and merges again. */
static int write_merged(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	int rc;

	do {
		apply_result_release(&ch->result);
		rc = merge_compute(&ch->result.merge, &m->git, &m->sides,
				   m->stop, err);
		if (rc == 0)
			rc = m->mode->target->write(m, err);
		if (rc == 0 && m->mode->in_the_way == WAY_LEFT_OUT &&
		    ch->result.n_blocked)
			rc = changes_leave_out(m, err);
	} while (rc > 0);
	return rc;
}

/* Reads both sides, merges them and writes the result. A failure to record a
 * commit on a branch is not an error. */
static int merge_changes(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	const struct workspace *w = ch->workspace;
	struct user_attributes a = { 0 };
	struct error ignored = { 0 };
	int rc;

	memcpy(m->base, w->base, sizeof(m->base));
	m->git = w->git;
	m->sides = (struct merge_sides){ .base = m->base,
					 .ours = m->ours,
					 .theirs = ch->theirs };
	rc = read_sides(m, err);
	if (rc == 0) {
		user_repo_attributes(m->user, &w->git,
				     settings_home(ch->app->settings), &a,
				     m->stop);
		m->sides.attributes.info = buf_str(&a.info);
		m->sides.attributes.global = buf_str(&a.global);
		rc = write_merged(m, err);
	}
	user_repo_attributes_release(&a);
	if (m->mode->target->close)
		m->mode->target->close(m);
	if (rc == 0 && m->mode->base == BASE_STAYS && ch->commit[0] &&
	    !ch->n_left_out)
		(void)set_branched(w, ch->theirs, m->stop, &ignored);
	return rc;
}

static int run_merge(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	const struct workspace *w = ch->workspace;
	struct user_repo u;
	int rc = 0;

	if (user_repo_open(&u, w->root, &w->git, m->stop, err) < 0)
		return -1;
	m->user = &u;
	ch->nothing =
		m->mode->base != BASE_NONE && !strcmp(ch->theirs, w->base);
	if (!ch->nothing && m->mode->choose)
		rc = m->mode->choose(ch, m->stop, err);
	if (rc == 0 && !ch->nothing)
		rc = merge_changes(m, err);
	user_repo_release(&u);
	return rc;
}

static int run_undo(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	struct apply_undo_request q = { ch->force, changes_unstage, ch };

	return apply_undo(&ch->result, m->journal, &q, err);
}

/* The journal stays locked until the end, also for --branch, so that no other
 * dcode moves the base meanwhile. */
int changes_apply(struct change_set *ch, const struct stop *stop,
		  struct error *err)
{
	const struct mode mode = combine_modes(ch);
	struct journal j;
	struct change_merge m = {
		.changes = ch, .stop = stop, .journal = &j, .mode = &mode
	};
	int rc = open_journal(ch, &j, stop, err);

	if (rc == 0)
		rc = mode.run(&m, err);
	journal_close(&j);
	return rc;
}

/* Files that --partial left out do not make the status 1. */
int changes_status(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	return r->merge.n || r->n_blocked || r->n_changed || r->index_changed
		       ? 1
		       : 0;
}

void changes_release(struct change_set *ch)
{
	apply_result_release(&ch->result);
	for (size_t i = 0; i < ch->n_left_out; i++)
		free(ch->left_out[i]);
	free(ch->left_out);
}

char *changes_came_from(struct app *app, const char *thread, char **title)
{
	struct error ignored = { 0 };
	struct thread t = { 0 };
	struct store *store;
	char *branch = NULL;

	if (app_store(app, &store, &ignored) == 0 &&
	    thread_find(store, thread, NULL, &t, &ignored) == 0)
		branch = xstrdup(t.branch);
	if (branch && title)
		*title = xstrdup(t.title);
	thread_release(&t);
	return branch;
}

enum { SHOWN_MOST = 100 }; /* files printed, one per line; --json has all */

/* Prints the first SHOWN_MOST paths and the number of the others. */
static void print_paths(const struct change_set *ch, char *const *list,
			size_t n, const char *after)
{
	for (size_t i = 0; i < n && i < SHOWN_MOST; i++)
		print_name(ch->app, "  ", list[i], after);
	if (n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", n - SHOWN_MOST);
}

static void print_files(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	for (size_t i = 0; i < r->n && i < SHOWN_MOST; i++) {
		const char before[] = { ' ', ' ', r->files[i].letter, ' ',
					'\0' };

		print_name(ch->app, before, r->files[i].path,
			   r->files[i].unstaged ? "  (not staged)" : "");
	}
	if (r->n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", r->n - SHOWN_MOST);
	for (size_t i = 0; i < r->n; i++)
		if (r->files[i].secret)
			print_name(ch->app, "Warning: ", r->files[i].path,
				   " contains a known secret");
}

static void print_conflicts(const struct change_set *ch)
{
	const struct merge *m = &ch->result.merge;

	fprintf(stderr, "%zu conflict%s:\n", m->n, m->n == 1 ? "" : "s");
	for (size_t i = 0; i < m->n && i < SHOWN_MOST; i++) {
		char kind[80];

		snprintf(kind, sizeof(kind), "  (%s)", m->conflicts[i].kind);
		print_name(ch->app, "  ", m->conflicts[i].path, kind);
	}
	if (m->n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", m->n - SHOWN_MOST);
}

/* Prints the user's next step, if there is one. conflicts is the advice if
 * conflicts prevented the writing. */
static void print_hint(const struct change_set *ch, const char *conflicts)
{
	const struct apply_result *r = &ch->result;
	const char *line = NULL;

	if (r->merge.unwritable)
		line = "Nothing was written: a file and a directory have the "
		       "same name. Move one away and apply again; dcode apply "
		       "--partial applies the rest.";
	else if (r->n_blocked)
		line = "Nothing was written. Move these files away and apply "
		       "again; dcode apply --partial applies the rest.";
	else if (r->n_changed)
		line = "Nothing was written. Apply again.";
	else if (r->merge.n && !r->applied)
		line = conflicts;
	if (line)
		app_print_advice(ch->app, line);
}

/* Reports an undo, which may be partial: files that the user changed since are
 * kept. */
static void print_undo(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (r->n_changed) {
		fprintf(stderr, "Not undone, because these files changed since "
				"then:\n");
		print_paths(ch, r->changed, r->n_changed, "");
		app_print_advice(
			ch->app,
			"dcode apply --undo --force undoes them, too.");
	}
	if (r->index_changed)
		app_print_advice(ch->app,
				 "The index was not undone, because it has "
				 "changed since then. dcode apply --undo "
				 "--force unstages the applied changes.");
	if (r->applied && r->n) {
		fprintf(stderr, "Undone: %zu file%s\n", r->n,
			r->n == 1 ? "" : "s");
		print_files(ch);
	} else if (r->applied) {
		fputs(r->unstaged ? "Unstaged the applied changes.\n"
				  : "Undone: an apply that wrote no file.\n",
		      stderr);
	}
}

/* Lists the paths that were not merged: with --branch those in submodules, with
 * --partial those whose place is taken by a file of the user. */
static void print_left_out(const struct change_set *ch, const char *line)
{
	if (!ch->n_left_out)
		return;
	app_print_advice(ch->app, line);
	print_paths(ch, ch->left_out, ch->n_left_out, "");
}

/* Lists the conflicts that markers cannot show. These files keep the user's
 * version. */
static void print_kept(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (!r->applied || !r->n_kept)
		return;
	app_print_advice(ch->app,
			 "Your version is kept. The sandbox's version is only "
			 "in the sandbox (dcode diff shows it):");
	print_paths(ch, r->kept, r->n_kept, "");
}

/* The order of the branches matters: nothing done, then done, then blocked. */
static void print_apply(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;
	const struct mode mode = combine_modes(ch);

	if (ch->nothing || (!r->n && !r->merge.n && !r->n_blocked &&
			    !r->n_changed && !ch->commit[0])) {
		fputs(ch->none_picked  ? "Nothing was chosen.\n"
		      : ch->n_left_out ? "Nothing else to apply.\n"
				       : "Nothing to apply: you already have "
					 "the sandbox's changes.\n",
		      stderr);
		print_left_out(ch, mode.left_out);
		return;
	}
	if (ch->commit[0])
		fprintf(stderr,
			r->n ? "Made commit %.12s on branch %s:\n"
			     : "Commit %.12s on branch %s has the changes.\n",
			ch->commit, ch->given[CHANGES_BRANCH]);
	else if (r->applied && r->n)
		fprintf(stderr, "Applied %zu file%s:\n", r->n,
			r->n == 1 ? "" : "s");
	if (r->applied || ch->commit[0])
		print_files(ch);
	print_left_out(ch, mode.left_out);
	if (r->merge.n)
		print_conflicts(ch);
	print_kept(ch);
	if (r->n_blocked) {
		fputs("These files are in the way and were never sent to the "
		      "sandbox:\n",
		      stderr);
		print_paths(ch, r->blocked, r->n_blocked, "");
	}
	if (!r->applied && r->n_changed) {
		fputs("These files changed during the merge:\n", stderr);
		print_paths(ch, r->changed, r->n_changed, "");
	}
	print_hint(ch, mode.conflicts);
	if (r->applied)
		app_print_advice(ch->app, "dcode apply --undo undoes it.");
}

void changes_print(const struct change_set *ch)
{
	combine_modes(ch).print(ch);
}

static void add_paths(const struct change_set *ch, struct buf *out,
		      const char *key, char *const *list, size_t n)
{
	buf_addf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(ch->app, out, "path", list[i]);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

/* The "status" in the JSON result. Scripts depend on these words. */
static const char *undo_status(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (!r->applied)
		return "left";
	return r->n_changed || r->index_changed ? "partly" : "undone";
}

static const char *apply_status(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (ch->commit[0])
		return "committed";
	if (r->applied)
		return r->merge.n ? "conflicts_written" : "applied";
	if (r->merge.n)
		return "conflicts";
	if (r->n_blocked || r->n_changed)
		return "blocked";
	return "nothing";
}

void changes_json(const struct change_set *ch, struct buf *out)
{
	const struct apply_result *r = &ch->result;

	json_member(out, "status", str_of(combine_modes(ch).status(ch)));
	if (ch->commit[0]) {
		buf_addc(out, ',');
		json_member(out, "branch", str_of(ch->given[CHANGES_BRANCH]));
		buf_addc(out, ',');
		json_member(out, "commit", str_of(ch->commit));
	}
	buf_adds(out, ",\"files\":[");
	for (size_t i = 0; i < r->n; i++) {
		const char letter[] = { r->files[i].letter, '\0' };

		buf_adds(out, i ? ",{" : "{");
		print_add_member(ch->app, out, "path", r->files[i].path);
		buf_addc(out, ',');
		json_member(out, "change", str_of(letter));
		if (r->files[i].unstaged)
			buf_adds(out, ",\"unstaged\":true");
		buf_adds(out, r->files[i].secret ? ",\"secret\":true}" : "}");
	}
	buf_adds(out, "],\"conflicts\":[");
	for (size_t i = 0; i < r->merge.n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(ch->app, out, "path",
				 r->merge.conflicts[i].path);
		buf_addc(out, ',');
		json_member(out, "kind", str_of(r->merge.conflicts[i].kind));
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
	add_paths(ch, out, "in_the_way", r->blocked, r->n_blocked);
	add_paths(ch, out, "changed", r->changed, r->n_changed);
	add_paths(ch, out, "left_out", ch->left_out, ch->n_left_out);
	add_paths(ch, out, "kept", r->kept, r->applied ? r->n_kept : 0);
}

#define NOT_THE_TREE                                                           \
	"--branch does not change working tree and index: it cannot be "       \
	"combined with --index or --conflicts"

/* A new mode of dcode apply needs a row here and the option's help in
 * cmd/commands/apply.c. */
static const struct mode modes[CHANGES_MODES] = {
	[CHANGES_TREE] = { .run = run_merge,
			   .target = &to_tree,
			   .in_the_way = WAY_STOPS,
			   .base = BASE_MOVES,
			   .print = print_apply,
			   .status = apply_status,
			   .conflicts = "Nothing was written. dcode apply "
					"--conflicts writes the files with "
					"conflict markers." },
	[CHANGES_INDEX] = { .option = "index", .staged = true },
	[CHANGES_CONFLICTS] = { .option = "conflicts", .markers = true },
	[CHANGES_INTERACTIVE] = { .option = "interactive",
				  .choose = changes_pick },
	[CHANGES_PARTIAL] = { .option = "partial",
			      .in_the_way = WAY_LEFT_OUT,
			      .left_out = "Left out, because a file or "
					  "directory of yours is in the "
					  "way:" },
	[CHANGES_PATCH] = { .option = "patch",
			    .excludes = { { CHANGES_INTERACTIVE,
					    "--interactive cannot be combined "
					    "with --patch" },
					  { CHANGES_BRANCH,
					    "--branch cannot be combined with "
					    "--patch" } },
			    .here = true,
			    .replace = changes_read_patch,
			    .base = BASE_NONE },
	[CHANGES_BRANCH] = { .option = "branch",
			     .excludes = { { CHANGES_INDEX, NOT_THE_TREE },
					   { CHANGES_CONFLICTS,
					     NOT_THE_TREE } },
			     .target = &changes_to_branch,
			     .in_the_way = WAY_UNUSED,
			     .base = BASE_STAYS,
			     .left_out = "Not on the branch, because they are "
					 "in submodules; dcode apply writes "
					 "them:",
			     .conflicts = "No commit was made because of the "
					  "conflicts. dcode apply --conflicts "
					  "writes the files with conflict "
					  "markers to the working tree." },
	[CHANGES_UNDO] = { .option = "undo",
			   .excludes = { { CHANGES_CONFLICTS, NULL },
					 { CHANGES_INDEX, NULL },
					 { CHANGES_BRANCH, NULL },
					 { CHANGES_PATCH, NULL },
					 { CHANGES_INTERACTIVE, NULL } },
			   .here = true,
			   .run = run_undo,
			   .print = print_undo,
			   .status = undo_status },
};
