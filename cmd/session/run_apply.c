/* run_apply.c - dcode -n --apply: the changes come back at the end of a run. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cmd/session/bring.h"
#include "cmd/session/loud.h"
#include "cmd/session/run.h"
#include "cmd/session/tree.h"
#include "tree/user_repo.h"

enum { APPLY_MS = 10 * 60000 };

static const char *flag(const struct run *r)
{
	return r->options.branch ? "--branch" : "--apply";
}

static bool is_asked(const struct run *r)
{
	return r->options.apply || r->options.branch;
}

/* 0, or -1 where the sandbox has no tree. */
static int open_tree(struct run *r, struct workspace *w,
		     const struct stop *stop, struct error *err)
{
	int rc = tree_find(w, r->app, settings_cwd(r->app->settings),
			   r->box.label, stop, err);

	if (rc <= 0)
		return rc;
	error_set(err, ERR_USAGE,
		  "%s: the sandbox has no copy of this repository", flag(r));
	return error_hint(err, "Add --workspace repo to send it.");
}

/* What can be said of the branch before there is a sandbox. */
static int check_branch(struct run *r, struct workspace *w, struct error *err)
{
	struct bring b = { .app = r->app,
			   .options = { .branch = r->options.branch },
			   .workspace = w };
	bool is_repository;
	char *state = app_state_path(r->app, "", err);
	char *root = state ? user_repo_root(settings_cwd(r->app->settings),
					    &is_repository, err)
			   : NULL;
	int rc = root ? workspace_open(w, state, root, WORKSPACE_NO_SANDBOX,
				       &r->stop, err)
		      : -1;

	if (rc == 0)
		rc = bring_branch_check(&b, &r->stop, err);
	free(state);
	free(root);
	return rc;
}

int run_branch_check(struct run *r, struct error *err)
{
	struct workspace w = { 0 };
	int rc = r->options.branch ? check_branch(r, &w, err) : 0;

	workspace_close(&w);
	return rc;
}

int run_apply_check(struct run *r, struct error *err)
{
	struct workspace w = { 0 };
	int rc = is_asked(r) ? open_tree(r, &w, &r->stop, err) : 0;

	workspace_close(&w);
	return rc;
}

/* What keeps the changes from coming: the run has failed then. */
static int check_result(const struct run *r, const struct bring *b,
			struct error *err)
{
	if (bring_status(b) == 0)
		return 0;
	error_set(err, ERR_BUSY,
		  "%s: not all changes of the sandbox were applied", flag(r));
	return error_hint(err, "`dcode apply %s` applies the rest.", b->thread);
}

static int bring_back(struct run *r, struct bring *b, const struct stop *stop,
		      struct error *err)
{
	struct fetch f = { 0 };
	const struct fetch_request with = { .sandbox = &r->box.sandbox,
					    .include = r->options.include,
					    .n_include = r->options.n_include };
	int rc = tree_fetch_from(b->workspace, r->app, &with, &f, stop, err);

	if (rc == 0)
		rc = tree_confirm(r->app, &f, false, err);
	if (rc == 0) {
		memcpy(b->theirs, f.theirs, sizeof(b->theirs));
		rc = loud_changes(r->app, b->workspace, b->theirs, stop, err);
	}
	if (rc == 0)
		rc = bring_run(b, stop, err);
	if (rc == 0) {
		buf_addc(&r->applied, '{');
		bring_json(b, false, &r->applied);
		buf_addc(&r->applied, '}');
		if (!r->options.quiet)
			bring_print(b, false);
		rc = check_result(r, b, err);
	}
	fetch_release(&f);
	return rc;
}

int run_apply(struct run *r, struct error *err)
{
	struct stop signals = app_stop(r->app);
	struct stop stop = stop_within(&signals, APPLY_MS);
	struct workspace w = { 0 };
	struct bring b = {
		.app = r->app,
		.options = { .branch = r->options.branch },
		.workspace = &w,
		.thread = session_id(r->session),
		.task = r->options.task,
	};
	char *branch;
	char *title = NULL;
	int rc;

	if (!is_asked(r))
		return 0;
	r->applied = BUF_INIT(64 << 20);
	branch = bring_came_from(r->app, b.thread, &title);
	b.from_branch = branch;
	if (!b.task || !b.task[0]) /* it came through a pipe */
		b.task = title;
	rc = open_tree(r, &w, &stop, err);
	if (rc == 0)
		rc = bring_back(r, &b, &stop, err);
	/* It was possible when the run began. */
	if (rc < 0 && r->options.branch && err->code == ERR_USAGE) {
		err->code = ERR_BUSY;
		error_hint(err,
			   "`dcode apply %s --branch OTHER` commits to another "
			   "branch.",
			   b.thread);
	}
	bring_release(&b);
	workspace_close(&w);
	free(branch);
	free(title);
	return rc;
}
