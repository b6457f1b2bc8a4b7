/* bring.c - what a sandbox changed, brought onto the user's tree. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/bring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/secret.h"
#include "cmd/session/shared.h"
#include "session/thread.h"
#include "tree/user_repo.h"
#include "workspace/select.h"
#include "workspace/snapshot.h"

enum {
	LOCK_MS = 10000,
	BASE_MS = 120000,
};

static void on_line(void *arg, const char *text)
{
	(void)arg;
	app_warn("%s", text);
}

/* The tree is written by now: Ctrl-C comes too late for what belongs to it. */
static int on_base(void *arg, const struct apply_plan *p, struct error *err)
{
	struct bring *b = arg;
	struct stop stop = stop_cleanup(BASE_MS);

	return shared_move(b->workspace, p->label, p->base_before,
			   p->base_after, &stop, err);
}

static int open_journal(struct bring *b, struct journal *j,
			const struct stop *stop, struct error *err)
{
	struct journal_hooks hooks = { b, on_line, on_base };
	struct stop wait = stop_within(stop, LOCK_MS);

	*j = (struct journal){ .lock = -1, .root = -1 };
	if (journal_open(j, b->workspace->directory, b->workspace->root, &hooks,
			 &wait, err) == 0)
		return 0;
	if (err->code == ERR_TIMEOUT)
		error_hint(err, "Another dcode is applying to this tree. Try "
				"again when it has finished.");
	return -1;
}

int bring_recover(struct app *app, struct workspace *w, const struct stop *stop,
		  struct error *err)
{
	struct bring b = { .app = app, .workspace = w };
	char *left = path_join(w->directory, "journal");
	struct journal j;
	int rc = 0;

	if (access(left, F_OK) == 0) {
		rc = open_journal(&b, &j, stop, err);
		journal_close(&j);
	}
	free(left);
	return rc;
}

struct touched {
	char **paths;
	size_t n;
};

static int add_touched(void *arg, const struct odb_record *d, struct error *err)
{
	struct touched *t = arg;

	(void)err;
	apply_add_path(&t->paths, &t->n, d->path);
	return 0;
}

/* The local tree as it is now, with each path that the sandbox changed. */
static int snapshot(struct bring *b, const char *base, char ours[GIT_OID],
		    const struct stop *stop, struct error *err)
{
	struct workspace *w = b->workspace;
	struct touched t = { 0 };
	struct snapshot snapshot = { .ref = "refs/dcode-apply/ours" };
	struct select_request r = {
		.home = settings_home(b->app->settings),
	};
	int rc = 0;

	if (base)
		rc = odb_tree_diff(&w->git, base, b->theirs,
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

static int ask_branch(struct bring *b, const char *now, struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	buf_adds(&line, "the tree came from branch ");
	sanitize_line(str_of(b->from_branch), &line);
	buf_adds(&line, ", but this is ");
	sanitize_line(str_of(now[0] ? now : "no branch"), &line);
	if (b->app->unattended || b->app->json || !secret_terminal(b->app)) {
		rc = error_set(err, ERR_USAGE, "%s", line.ptr);
		error_hint(err, "--force applies it here anyway; --branch NAME "
				"makes a branch.");
	} else {
		app_warn("%s", line.ptr);
		rc = secret_confirm(b->app, "Apply here? [y/N] ", err);
		if (rc == 0)
			rc = error_set(err, ERR_CANCELLED,
				       "nothing was written");
	}
	buf_release(&line);
	return rc < 0 ? -1 : 0;
}

static int check_branch(struct bring *b, const struct user_repo *u,
			struct error *err)
{
	if (b->options.force || !b->from_branch || !b->from_branch[0] ||
	    !u->git_dir || !strcmp(u->branch, b->from_branch))
		return 0;
	return ask_branch(b, u->branch, err);
}

/* --index, checked before anything is written. Owned, or NULL with err. */
static char *index_path(const struct user_repo *u, struct error *err)
{
	if (u->git_dir)
		return path_join(u->git_dir, "index");
	error_set(err, ERR_USAGE, "--index: this is not a git repository");
	return NULL;
}

static int merge_tree(struct bring *b, struct journal *j,
		      const struct user_repo *u, const struct stop *stop,
		      struct error *err)
{
	struct workspace *w = b->workspace;
	char ours[GIT_OID];
	char base[GIT_OID] = "";
	char *index = NULL;
	struct apply_request q = {
		.git = &w->git,
		.label = b->options.patch ? NULL : w->label,
		.base = base,
		.ours = ours,
		.theirs = b->theirs,
		.base_before = w->base,
		.mask = b->app->mask,
		.conflicts = b->options.conflicts,
		.stage = bring_index,
		.stage_arg = b,
	};
	struct bring_partial partial = { .base = base, .ours = ours };
	struct user_attributes a = { 0 };
	int rc;

	memcpy(base, w->base, sizeof(base));
	if (b->options.index && !(index = index_path(u, err)))
		return -1;
	q.index = index;
	rc = snapshot(b, b->options.patch ? NULL : base, ours, stop, err);
	if (rc == 0 && b->options.patch)
		rc = bring_patch(b, ours, base, stop, err);
	if (rc == 0 && b->options.partial)
		rc = bring_partial(b, &partial, stop, err) < 0 ? -1 : 0;
	if (rc == 0)
		user_repo_attributes(u, &w->git,
				     settings_home(b->app->settings), &a, stop);
	if (rc == 0) {
		q.attributes.info = buf_str(&a.info);
		q.attributes.global = buf_str(&a.global);
		rc = apply_merge(&b->result, j, &q, stop, err);
	}
	/* What is in the way is known only by now: without it, then. */
	while (rc == 0 && b->options.partial && b->result.n_blocked) {
		partial.blocked = b->result.blocked;
		partial.n_blocked = b->result.n_blocked;
		rc = bring_partial(b, &partial, stop, err);
		if (rc <= 0)
			break;
		apply_result_release(&b->result);
		rc = apply_merge(&b->result, j, &q, stop, err);
	}
	user_repo_attributes_release(&a);
	free(index);
	return rc;
}

/* The commit stands, also where that cannot be remembered. */
static int branch_off(struct bring *b, const struct stop *stop,
		      struct error *err)
{
	struct error ignored = { 0 };
	int rc = bring_branch(b, stop, err);

	if (rc == 0 && b->commit[0] && !b->n_left_out && !b->options.patch)
		(void)shared_set_branched(b->workspace, b->theirs, stop,
					  &ignored);
	return rc;
}

int bring_run(struct bring *b, const struct stop *stop, struct error *err)
{
	struct workspace *w = b->workspace;
	struct user_repo u;
	struct journal j;
	int rc;

	if (user_repo_open(&u, w->root, &w->git, stop, err) < 0)
		return -1;
	rc = open_journal(b, &j, stop, err);
	b->nothing = !b->options.patch && !strcmp(b->theirs, w->base);
	if (rc == 0 && !b->nothing && b->options.interactive)
		rc = bring_pick(b, stop, err);
	if (rc == 0 && !b->nothing && b->options.branch)
		rc = branch_off(b, stop, err);
	else if (rc == 0 && !b->nothing)
		rc = check_branch(b, &u, err) < 0
			     ? -1
			     : merge_tree(b, &j, &u, stop, err);
	journal_close(&j);
	user_repo_release(&u);
	return rc;
}

int bring_undo(struct bring *b, const struct stop *stop, struct error *err)
{
	struct apply_undo_request q = { b->options.force, bring_unstage, b };
	struct journal j;
	int rc = open_journal(b, &j, stop, err);

	if (rc == 0)
		rc = apply_undo(&b->result, &j, &q, err);
	journal_close(&j);
	return rc;
}

int bring_status(const struct bring *b)
{
	const struct apply_result *r = &b->result;

	return r->merge.n || r->n_blocked || r->n_changed || r->index_changed
		       ? 1
		       : 0;
}

void bring_release(struct bring *b)
{
	apply_result_release(&b->result);
	for (size_t i = 0; i < b->n_left_out; i++)
		free(b->left_out[i]);
	free(b->left_out);
}

char *bring_came_from(struct app *app, const char *thread, char **title)
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
