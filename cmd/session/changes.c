/* changes.c - dcode apply: merges a sandbox's changes into the tree or a
 * branch. */
/* SPDX-License-Identifier: MIT */

/*
 * changes_apply() is dcode apply. It opens the journal, which finishes or
 * undoes an apply that was interrupted by a crash. changes_select.c may reduce
 * the sandbox's side. The merge then goes into the working tree (merge_tree())
 * or onto a branch (branch_off()). The end of the file reports the result to
 * people (changes_print()) and programs (changes_json()).
 *
 * The base of a workspace is the last state that both sides share. It moves
 * after an apply to the working tree, so that the next apply contains only
 * newer changes (move_shared_base()). Another dcode may have moved it
 * meanwhile.
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

/* Records a path that another dcode moved; it wins. The list grows by
 * doubling. */
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

/* Adds a path that this apply moved, unless another dcode moved it too. */
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

/* Commits the combined base and sets oid. A commit needs a ref: it is deleted
 * again here, before the caller moves the base to the commit. */
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

/* Sets oid to the base as another dcode left it plus the paths that this apply
 * changed. */
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

/* Moves the base. The listing names its commit, so it is written first. */
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

/* Moves the base under its lock. Joins the change of another dcode that moved
 * the base meanwhile. */
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
 * meanwhile, its changes stay and ours are added. Safe to repeat. */
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

/* Remembers that theirs was committed to a branch. A branch does not move the
 * base. */
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

/* Clears *arg: the trees differ. */
static int note_difference(void *arg, const struct odb_record *d,
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
			     &(struct odb_sink){ note_difference, &same }, stop,
			     &ignored) == 0 &&
	       same;
}

enum {
	LOCK_MS = 10000,
	BASE_MS = 120000,
};

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

/* Includes ignored and unlisted files if the sandbox changed them. */
static int add_touched(void *arg, const struct odb_record *d, struct error *err)
{
	struct touched *t = arg;

	(void)err;
	apply_add_path(&t->paths, &t->n, d->path);
	return 0;
}

/* Commits the current local tree, including each path that the sandbox changed.
 * base NULL (for --patch): only the usual files. */
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

/* Asks whether to apply on this branch anyway. Returns 0 for yes. */
static int ask_branch(struct change_set *ch, const char *now, struct error *err)
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

/* Asks or refuses if another branch is checked out than when the tree was
 * sent. */
static int check_branch(struct change_set *ch, const struct user_repo *u,
			struct error *err)
{
	if (ch->options.force || !ch->from_branch || !ch->from_branch[0] ||
	    !u->git_dir || !strcmp(u->branch, ch->from_branch))
		return 0;
	return ask_branch(ch, u->branch, err);
}

/* Merges into the working tree and, with --index, into the index. --partial may
 * need several rounds, because each merge can find more files in the way. */
static int merge_tree(struct change_set *ch, struct journal *j,
		      const struct user_repo *u, const struct stop *stop,
		      struct error *err)
{
	struct workspace *w = ch->workspace;
	char ours[GIT_OID];
	char base[GIT_OID] = "";
	char *index = NULL;
	struct apply_request q = {
		.git = &w->git,
		.label = ch->options.patch ? NULL : w->label,
		.base = base,
		.ours = ours,
		.theirs = ch->theirs,
		.base_before = w->base,
		.mask = ch->app->mask,
		.conflicts = ch->options.conflicts,
		.stage = changes_stage,
		.stage_arg = ch,
	};
	struct changes_sides partial = { .base = base, .ours = ours };
	struct user_attributes a = { 0 };
	int rc;

	memcpy(base, w->base, sizeof(base));
	if (ch->options.index && !u->git_dir)
		return error_set(err, ERR_USAGE,
				 "--index: this is not a git repository");
	if (ch->options.index)
		q.index = index = path_join(u->git_dir, "index");
	rc = snapshot_tree(ch, ch->options.patch ? NULL : base, ours, stop,
			   err);
	if (rc == 0 && ch->options.patch)
		rc = changes_read_patch(ch, ours, base, stop, err);
	if (rc == 0 && ch->options.partial)
		rc = changes_leave_out(ch, &partial, stop, err) < 0 ? -1 : 0;
	if (rc == 0)
		user_repo_attributes(
			u, &w->git, settings_home(ch->app->settings), &a, stop);
	if (rc == 0) {
		q.attributes.info = buf_str(&a.info);
		q.attributes.global = buf_str(&a.global);
		rc = apply_merge(&ch->result, j, &q, stop, err);
	}
	/* Drop the files in the way and merge again. */
	while (rc == 0 && ch->options.partial && ch->result.n_blocked) {
		partial.blocked = ch->result.blocked;
		partial.n_blocked = ch->result.n_blocked;
		rc = changes_leave_out(ch, &partial, stop, err);
		if (rc <= 0)
			break;
		apply_result_release(&ch->result);
		rc = apply_merge(&ch->result, j, &q, stop, err);
	}
	user_repo_attributes_release(&a);
	free(index);
	return rc;
}

/* Commits to the branch. Failing to remember that is not an error. */
static int branch_off(struct change_set *ch, const struct stop *stop,
		      struct error *err)
{
	struct error ignored = { 0 };
	int rc = changes_commit(ch, stop, err);

	if (rc == 0 && ch->commit[0] && !ch->n_left_out && !ch->options.patch)
		(void)set_branched(ch->workspace, ch->theirs, stop, &ignored);
	return rc;
}

/* The journal stays locked until the end, also for --branch, so that nobody
 * moves the base meanwhile. */
int changes_apply(struct change_set *ch, const struct stop *stop,
		  struct error *err)
{
	struct workspace *w = ch->workspace;
	struct user_repo u;
	struct journal j;
	int rc;

	if (user_repo_open(&u, w->root, &w->git, stop, err) < 0)
		return -1;
	rc = open_journal(ch, &j, stop, err);
	ch->nothing = !ch->options.patch && !strcmp(ch->theirs, w->base);
	if (rc == 0 && !ch->nothing && ch->options.interactive)
		rc = changes_pick(ch, stop, err);
	if (rc == 0 && !ch->nothing && ch->options.branch)
		rc = branch_off(ch, stop, err);
	else if (rc == 0 && !ch->nothing)
		rc = check_branch(ch, &u, err) < 0
			     ? -1
			     : merge_tree(ch, &j, &u, stop, err);
	journal_close(&j);
	user_repo_release(&u);
	return rc;
}

int changes_undo(struct change_set *ch, const struct stop *stop,
		 struct error *err)
{
	struct apply_undo_request q = { ch->options.force, changes_unstage,
					ch };
	struct journal j;
	int rc = open_journal(ch, &j, stop, err);

	if (rc == 0)
		rc = apply_undo(&ch->result, &j, &q, err);
	journal_close(&j);
	return rc;
}

/* Files that --partial left out do not count as a failure. */
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

/* Prints the next step for the user, if there is one. */
static void print_hint(const struct change_set *ch)
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
	else if (ch->options.branch && r->merge.n)
		line = "No commit was made because of the conflicts. dcode "
		       "apply --conflicts writes the files with conflict "
		       "markers to the working tree.";
	else if (r->merge.n && !r->applied)
		line = "Nothing was written. dcode apply --conflicts writes "
		       "the files with markers.";
	if (line)
		app_print_advice(ch->app, line);
}

/* Reports an undo, which may be partial: files that the user changed since are
 * kept. */
static void print_undo(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (r->n_changed) {
		fprintf(stderr, "Changed since then, so not undone:\n");
		print_paths(ch, r->changed, r->n_changed, "");
		app_print_advice(
			ch->app,
			"dcode apply --undo --force undoes them, too.");
	}
	if (r->index_changed)
		app_print_advice(ch->app,
				 "The index changed since then, so it "
				 "is left as it is: dcode apply --undo "
				 "--force unstages what was applied.");
	if (r->applied && r->n) {
		fprintf(stderr, "Undone: %zu file%s\n", r->n,
			r->n == 1 ? "" : "s");
		print_files(ch);
	} else if (r->applied) {
		fputs(r->unstaged ? "Unstaged what was applied.\n"
				  : "Undone: an apply that wrote no file.\n",
		      stderr);
	}
}

/* Lists files not merged: with --branch those in submodules, with --partial
 * those in the way. */
static void print_left_out(const struct change_set *ch)
{
	if (!ch->n_left_out)
		return;
	app_print_advice(ch->app,
			 ch->options.branch
				 ? "Not on the branch, because they are in "
				   "submodules; dcode apply writes them:"
				 : "Left out, because a file or directory of "
				   "yours is in the way:");
	print_paths(ch, ch->left_out, ch->n_left_out, "");
}

/* Lists conflicts that cannot be shown with markers. */
static void print_kept(const struct change_set *ch)
{
	const struct apply_result *r = &ch->result;

	if (!r->applied || !r->n_kept)
		return;
	app_print_advice(ch->app,
			 "Your version stays. The sandbox's version is "
			 "only in the sandbox (dcode diff shows it):");
	print_paths(ch, r->kept, r->n_kept, "");
}

/* The order of the cases matters: nothing done, then done, then blocked. */
void changes_print(const struct change_set *ch, bool undo)
{
	const struct apply_result *r = &ch->result;

	if (undo) {
		print_undo(ch);
		return;
	}
	if (ch->nothing || (!r->n && !r->merge.n && !r->n_blocked &&
			    !r->n_changed && !ch->commit[0])) {
		fputs(ch->none_picked  ? "Nothing was chosen.\n"
		      : ch->n_left_out ? "Nothing else to apply.\n"
				       : "Nothing to apply: you already have "
					 "the sandbox's changes.\n",
		      stderr);
		print_left_out(ch);
		return;
	}
	if (ch->commit[0])
		fprintf(stderr, "Made commit %.12s on branch %s:\n", ch->commit,
			ch->options.branch);
	else if (r->applied && r->n)
		fprintf(stderr, "Applied %zu file%s:\n", r->n,
			r->n == 1 ? "" : "s");
	if (r->applied || ch->commit[0])
		print_files(ch);
	print_left_out(ch);
	if (r->merge.n)
		print_conflicts(ch);
	print_kept(ch);
	if (r->n_blocked) {
		fputs("In the way, and never sent to the sandbox:\n", stderr);
		print_paths(ch, r->blocked, r->n_blocked, "");
	}
	if (!r->applied && r->n_changed) {
		fputs("Changed during the merge:\n", stderr);
		print_paths(ch, r->changed, r->n_changed, "");
	}
	print_hint(ch);
	if (r->applied)
		app_print_advice(ch->app, "dcode apply --undo undoes it.");
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

/* Returns the "status" of the JSON result. Part of the interface for
 * scripts. */
static const char *status_of(const struct change_set *ch, bool undo)
{
	const struct apply_result *r = &ch->result;

	if (undo)
		return r->applied ? r->n_changed || r->index_changed ? "partly"
								     : "undone"
				  : "left";
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

void changes_json(const struct change_set *ch, bool undo, struct buf *out)
{
	const struct apply_result *r = &ch->result;

	json_member(out, "status", str_of(status_of(ch, undo)));
	if (ch->commit[0]) {
		buf_addc(out, ',');
		json_member(out, "branch", str_of(ch->options.branch));
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
