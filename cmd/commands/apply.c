/* apply.c - dcode apply: a sandbox's changes onto the user's tree. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/session/bring.h"
#include "cmd/session/loud.h"
#include "cmd/session/options.h"
#include "cmd/session/tree.h"
#include "tree/user_repo.h"

enum { JSON_MAX = 64 << 20 };

static const struct arg_row apply_options[] = {
	{ "conflicts", 0, ARG_FLAG, NULL,
	  "Write conflicts with git's markers; without it conflicts stop the "
	  "apply" },
	{ "index", 0, ARG_FLAG, NULL, "Stage what is applied" },
	{ "branch", 0, ARG_VALUE, "NAME",
	  "Commit to this new branch instead; working tree and index do not "
	  "change" },
	{ "interactive", 0, ARG_FLAG, NULL,
	  "Ask about each file and hunk, like git add -p" },
	{ "partial", 0, ARG_FLAG, NULL,
	  "Apply the rest when some files are refused or have no place here" },
	{ "patch", 0, ARG_VALUE, "FILE",
	  "Apply this git patch instead of a sandbox's changes; - is standard "
	  "input" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Also bring new files of this name that git ignores" },
	{ "undo", 0, ARG_FLAG, NULL, "Undo the last apply" },
	{ "force", 0, ARG_FLAG, NULL,
	  "Apply on another branch than the tree came from, or replace an "
	  "existing branch; with --undo: undo later changes too" },
	ARG_JSON,
	{ 0 },
};

static int check_options(const struct args *args, struct error *err)
{
	static const char *const alone[] = { "conflicts", "index", "branch",
					     "patch", "interactive" };
	bool undo = args_flag(args, "undo");
	const char *branch = args_value(args, "branch");

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++)
		if (undo && args_value(args, alone[i]))
			return error_set(err, ERR_USAGE,
					 "--undo cannot be combined with --%s",
					 alone[i]);
	if (branch &&
	    (args_flag(args, "index") || args_flag(args, "conflicts")))
		return error_set(
			err, ERR_USAGE,
			"--branch does not change working tree and index: it "
			"cannot be combined with --index or --conflicts");
	if (args_flag(args, "interactive") && args_value(args, "patch"))
		return error_set(err, ERR_USAGE,
				 "--interactive cannot be combined with "
				 "--patch");
	if (branch && args_value(args, "patch"))
		return error_set(err, ERR_USAGE,
				 "--branch cannot be combined with --patch");
	if (args->argc && args_value(args, "patch"))
		return error_set(err, ERR_USAGE,
				 "--patch FILE takes no thread");
	return 0;
}

static void report(struct bring *b, bool undo)
{
	struct buf data = BUF_INIT(JSON_MAX);

	if (!b->app->json) {
		bring_print(b, undo);
		return;
	}
	buf_addc(&data, '{');
	bring_json(b, undo, &data);
	buf_addc(&data, '}');
	app_envelope("apply", &data);
	buf_release(&data);
}

/* A thread by its id may be of any tree; only the one here is written to. */
static int check_root(struct bring *b, struct error *err)
{
	bool is_repository;
	char *root = user_repo_root(settings_cwd(b->app->settings),
				    &is_repository, err);
	int rc = root ? 0 : -1;

	if (root && strcmp(root, b->workspace->root) != 0) {
		rc = error_set(err, ERR_USAGE, "thread %s belongs to %s",
			       b->thread, b->workspace->root);
		error_hint(err, "Run cd %s first.", b->workspace->root);
	}
	free(root);
	return rc;
}

static int apply_thread(struct bring *b, const struct args *args,
			const struct stop *stop, struct error *err)
{
	struct fetch_request with = { 0 };
	struct tree_session t = { 0 };
	struct fetch f = { 0 };
	char *title = NULL;
	const char **include = include_read(b->app, args, &with.n_include, err);
	int rc = include ? tree_open(&t, b->app,
				     args->argc ? args->argv[0] : NULL, stop,
				     err)
			 : -1;

	with.include = include;
	b->workspace = &t.workspace;
	b->thread = t.thread;
	if (rc == 0)
		rc = check_root(b, err);
	if (rc == 0)
		rc = tree_fetch(&t, b->app, &with, &f, stop, err);
	if (rc == 0)
		rc = tree_confirm(b->app, &f, args_flag(args, "partial"), err);
	if (rc == 0) {
		free(bring_came_from(b->app, t.thread, &title));
		b->from_branch = t.branch;
		b->task = title;
		memcpy(b->theirs, f.theirs, sizeof(b->theirs));
		rc = loud_changes(b->app, b->workspace, b->theirs, stop, err);
	}
	if (rc == 0)
		rc = bring_run(b, stop, err);
	if (rc == 0) {
		report(b, false);
		tree_report(b->app, &f, tree_is_gone(&t));
	}
	fetch_release(&f);
	free(include);
	tree_close(&t);
	b->workspace = NULL;
	b->thread = b->from_branch = b->task = NULL;
	free(title);
	return rc;
}

/* The tree that dcode was started in, without a sandbox. */
static int open_here(struct workspace *w, struct app *app,
		     const struct stop *stop, struct error *err)
{
	bool is_repository;
	char *state = app_state_path(app, "", err);
	char *root = state ? user_repo_root(settings_cwd(app->settings),
					    &is_repository, err)
			   : NULL;
	int rc = -1;

	w->on_wait = app_warn_line;
	if (root)
		rc = workspace_open(w, state, root, WORKSPACE_NO_SANDBOX, stop,
				    err);
	free(state);
	free(root);
	return rc;
}

/* What needs no thread: the tree here, by a patch or backwards. */
static int apply_here(struct bring *b, bool undo, const struct stop *stop,
		      struct error *err)
{
	struct workspace w = { 0 };
	int rc = open_here(&w, b->app, stop, err);

	b->workspace = &w;
	if (rc == 0)
		rc = undo ? bring_undo(b, stop, err) : bring_run(b, stop, err);
	if (rc == 0)
		report(b, undo);
	workspace_close(&w);
	b->workspace = NULL;
	return rc;
}

static int run_apply(struct app *app, const struct args *args)
{
	bool undo = args_flag(args, "undo");
	struct bring b = {
		.app = app,
		.options = { .conflicts = args_flag(args, "conflicts"),
			     .index = args_flag(args, "index"),
			     .force = args_flag(args, "force"),
			     .interactive = args_flag(args, "interactive"),
			     .partial = args_flag(args, "partial"),
			     .branch = args_value(args, "branch"),
			     .patch = args_value(args, "patch") },
	};
	struct stop stop = app_stop(app);
	struct settings *set;
	struct error err = { 0 };
	int status;
	int rc = check_options(args, &err);

	if (rc == 0)
		rc = app_settings(app, &set, &err);
	if (rc == 0 && (undo || b.options.patch))
		rc = apply_here(&b, undo, &stop, &err);
	else if (rc == 0)
		rc = apply_thread(&b, args, &stop, &err);
	status = rc < 0 ? app_fail(app, &err) : bring_status(&b);
	bring_release(&b);
	return status;
}

static const struct subcommand subs[] = {
	{ .name = "",
	  .args = "[ID]",
	  .options = apply_options,
	  .most = 1,
	  .run = run_apply },
	{ 0 },
};

const struct command command_apply = {
	.name = "apply",
	.summary =
		"Merge a sandbox's changes into the working tree, or undo that",
	.subs = subs,
};
