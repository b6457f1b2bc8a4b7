/* apply.c - dcode apply: applies a sandbox's changes to the user's tree. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/commands/tree_session.h"
#include "cmd/session/changes.h"
#include "cmd/session/options.h"
#include "cmd/session/push_branch.h"
#include "worktree/user_repo.h"

enum { JSON_MAX = 64 << 20 };

static const struct arg_row apply_options[] = {
	{ "conflicts", 0, ARG_FLAG, NULL,
	  "If there are conflicts, write the files with conflict markers "
	  "instead of stopping" },
	{ "index", 0, ARG_FLAG, NULL, "Also stage the applied changes" },
	{ "branch", 0, ARG_VALUE, "NAME",
	  "Commit to this new branch instead; working tree and index do not "
	  "change" },
	{ "push", 0, ARG_FLAG, NULL,
	  "Commit to a branch and push it with your own git; asks first at a "
	  "terminal" },
	{ "pr", 0, ARG_FLAG, NULL,
	  "With --push: also open a pull request (GitHub) or merge request "
	  "(GitLab)" },
	{ "remote", 0, ARG_VALUE, "NAME",
	  "With --push: push to this remote instead of origin" },
	{ "interactive", 0, ARG_FLAG, NULL,
	  "Ask about each file and hunk, like git add -p" },
	{ "partial", 0, ARG_FLAG, NULL,
	  "Apply the other files if some are refused or blocked by local "
	  "files" },
	{ "patch", 0, ARG_VALUE, "FILE",
	  "Apply this git patch instead of a sandbox's changes; - is standard "
	  "input" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Also apply new files that git ignores and that match this pattern" },
	{ "undo", 0, ARG_FLAG, NULL, "Undo the last apply" },
	{ "force", 0, ARG_FLAG, NULL,
	  "Apply even if you switched branches since; with --branch: replace "
	  "an existing branch; with --undo: also undo your later changes" },
	ARG_JSON,
	{ 0 },
};

/* job: the push, or NULL. */
static void report_changes(struct change_set *ch, const struct push_job *job)
{
	struct buf data = BUF_INIT(JSON_MAX);

	if (!ch->app->json)
		return;
	buf_addc(&data, '{');
	changes_json(ch, &data);
	if (job && job->p.commit) {
		buf_adds(&data, ",\"push\":");
		push_job_json(job, &data);
	}
	buf_addc(&data, '}');
	app_envelope("apply", &data);
	buf_release(&data);
}

/* Fails if the thread's tree is not that of the current directory: only there
 * may files be written. */
static int check_root(struct change_set *ch, struct error *err)
{
	bool is_repository;
	char *root = user_repo_root(settings_cwd(ch->app->settings),
				    &is_repository, err);
	int rc = root ? 0 : -1;

	if (root && strcmp(root, ch->workspace->root) != 0) {
		rc = error_set(err, ERR_USAGE,
			       "thread %s belongs to the directory %s",
			       ch->thread, ch->workspace->root);
		error_hint(err, "Run cd %s first.", ch->workspace->root);
	}
	free(root);
	return rc;
}

/* Applies the changes, and prints what was done. */
static int apply_and_print(struct change_set *ch, const struct stop *stop,
			   struct error *err)
{
	int rc = changes_apply(ch, stop, err);

	if (rc == 0 && !ch->app->json)
		changes_print(ch);
	return rc;
}

/* --push. Initialise with the name of the remote; release with
 * pushing_release(). */
struct pushing {
	struct push_job job;
	struct push_record record;
	char *name; /* owned: the branch, if --branch was not given */
};

static void pushing_release(struct pushing *p, struct change_set *ch)
{
	ch->pushed = NULL;
	ch->confirm = NULL;
	ch->confirm_arg = NULL;
	if (ch->given[CHANGES_BRANCH] == p->name)
		ch->given[CHANGES_BRANCH] = NULL;
	push_job_close(&p->job);
	free(p->record.branch);
	free(p->name);
}

/* Commits the changes to a branch and pushes it. Checks first whether it can be
 * pushed. */
static int apply_and_push(struct change_set *ch, struct pushing *p,
			  const struct stop *stop, struct error *err)
{
	int rc;

	push_record_read(&p->record, ch->workspace);
	p->name = push_branch_name(&p->record, ch->task, ch->thread);
	if (!ch->given[CHANGES_BRANCH])
		ch->given[CHANGES_BRANCH] = p->name;
	ch->pushed = &p->record;
	ch->confirm = push_job_confirm;
	ch->confirm_arg = &p->job;
	p->job.app = ch->app;
	p->job.workspace = ch->workspace;
	p->job.branch = ch->given[CHANGES_BRANCH];
	p->job.thread = ch->thread;
	p->job.title = ch->task;
	rc = push_job_open(&p->job, stop, err);
	if (rc == 0)
		rc = apply_and_print(ch, stop, err);
	if (rc == 0 && ch->commit[0])
		rc = push_job_run(&p->job, stop, err);
	return rc;
}

/* Fails if --push or --remote does not fit the other options. */
static int check_push(const struct change_set *ch, const struct args *args,
		      struct error *err)
{
	static const struct {
		enum changes_mode mode;
		const char *name;
	} others[] = { { CHANGES_INDEX, "--index" },
		       { CHANGES_CONFLICTS, "--conflicts" },
		       { CHANGES_PATCH, "--patch" },
		       { CHANGES_UNDO, "--undo" } };

	if (!args_flag(args, "push") &&
	    (args_value(args, "remote") || args_flag(args, "pr")))
		return error_set(err, ERR_USAGE, "--%s needs --push",
				 args_flag(args, "pr") ? "pr" : "remote");
	if (!args_flag(args, "push"))
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (ch->given[others[i].mode])
			return error_set(err, ERR_USAGE,
					 "--push cannot be combined with %s",
					 others[i].name);
	return 0;
}

/* Fetches a thread's changes and applies them to the user's tree. */
static int apply_thread(struct change_set *ch, const struct args *args,
			const struct stop *stop, struct error *err)
{
	struct pushing p = { .job.remote = args_value(args, "remote"),
			     .job.requests = args_flag(args, "pr") };
	bool pushes = args_flag(args, "push");
	struct fetch_request with = { 0 };
	struct tree_session t = { 0 };
	struct fetch f = { 0 };
	char *title = NULL;
	const char **include =
		include_read(ch->app, args, &with.n_include, err);
	int rc = include ? tree_open(&t, ch->app,
				     args->argc ? args->argv[0] : NULL, stop,
				     err)
			 : -1;

	/* no tree was sent: the tools may work in this directory itself */
	if (rc < 0 && pushes && err->code == ERR_NOT_FOUND)
		error_hint(err, "With --sandbox none or --workspace bind the "
				"changes are in this directory: push them with "
				"your own git.");
	with.include = include;
	ch->workspace = &t.workspace;
	ch->thread = t.thread;
	if (rc == 0)
		rc = check_root(ch, err);
	if (rc == 0)
		rc = tree_fetch(&t, ch->app, &with, &f, stop, err);
	if (rc == 0)
		rc = tree_confirm(ch->app, &f, ch->given[CHANGES_PARTIAL], err);
	if (rc == 0) {
		free(changes_came_from(ch->app, t.thread, &title));
		ch->from_branch = t.branch;
		ch->task = title;
		memcpy(ch->theirs, f.theirs, sizeof(ch->theirs));
		if (!pushes) /* the question about the push names them */
			rc = loud_changes(ch->app, ch->workspace, ch->theirs,
					  stop, err);
	}
	if (rc == 0)
		rc = pushes ? apply_and_push(ch, &p, stop, err)
			    : apply_and_print(ch, stop, err);
	if (rc == 0) {
		report_changes(ch, pushes ? &p.job : NULL);
		tree_report(ch->app, &f, tree_is_gone(&t));
	}
	pushing_release(&p, ch);
	fetch_release(&f);
	free(include);
	tree_close(&t);
	ch->workspace = NULL;
	ch->thread = ch->from_branch = ch->task = NULL;
	free(title);
	return rc;
}

/* Opens the workspace of the current directory, without a sandbox. */
static int open_local_tree(struct workspace *w, struct app *app,
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

/* Applies a patch file or undoes the last apply. Neither needs a thread. */
static int apply_local(struct change_set *ch, const struct stop *stop,
		       struct error *err)
{
	struct workspace w = { 0 };
	int rc = open_local_tree(&w, ch->app, stop, err);

	ch->workspace = &w;
	if (rc == 0)
		rc = apply_and_print(ch, stop, err);
	if (rc == 0)
		report_changes(ch, NULL);
	workspace_close(&w);
	ch->workspace = NULL;
	return rc;
}

static int run_apply(struct app *app, const struct args *args)
{
	struct change_set ch = { .app = app,
				 .force = args_flag(args, "force") };
	struct stop stop = app_stop(app);
	struct settings *set;
	struct error err = { 0 };
	int status;
	int rc = changes_read_modes(&ch, args, &err);

	if (rc == 0 && args->argc && ch.given[CHANGES_PATCH])
		rc = error_set(&err, ERR_USAGE,
			       "--patch FILE cannot be combined with a thread");
	if (rc == 0)
		rc = check_push(&ch, args, &err);
	if (rc == 0)
		rc = app_settings(app, &set, &err);
	if (rc == 0)
		rc = changes_need_sandbox(&ch)
			     ? apply_thread(&ch, args, &stop, &err)
			     : apply_local(&ch, &stop, &err);
	status = rc < 0 ? app_fail(app, &err) : changes_status(&ch);
	changes_release(&ch);
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
	.summary = "Merge a sandbox's changes into the working tree, or undo "
		   "the last apply",
	.subs = subs,
};
