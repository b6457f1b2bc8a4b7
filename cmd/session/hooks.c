/* hooks.c - runs the user's hooks, and a project's once trusted, for a run. */
/* SPDX-License-Identifier: MIT */

/*
 * The app owns the hooks, because a chat uses the same hooks for several runs.
 * run_hooks_follow() tells them which run is current. A project's hooks file
 * needs the user's consent first (project_trust_open()). run_hooks_start() and
 * run_hooks_end() send SessionStart and SessionEnd; the events of calls and
 * messages come from src/agent/hooked.c.
 */
#include "cmd/session/hooks.h"

#include <stdlib.h>

#include "agent/hooked.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/policy.h"
#include "cmd/project_trust.h"
#include "cmd/session/run.h"
#include "session/thread_file.h"
#include "worktree/user_repo.h"

enum { END_MS = 5000 /* time limit of SessionEnd after a signal */ };

/* Returns the run's mode by the name that hooks know. */
static const char *permission_mode(void *arg)
{
	const struct run *r = arg;

	if (r->mode == RUN_PLAN)
		return "plan";
	if (run_allows_all(r))
		return "bypassPermissions";
	return r->mode == RUN_AUTO_EDIT ? "acceptEdits" : "default";
}

/* Writes the whole thread to a file for hooks and returns the file's path.
 * Owned. NULL if there is no transcript. */
static char *write_transcript(void *arg, const char *session)
{
	struct app *app = arg;

	return app->transcript
		       ? thread_transcript_write(app->transcript, session)
		       : NULL;
}

/* Opens the transcript with a separate database connection, because hooks run
 * on other threads. */
static void open_transcript(struct run *r)
{
	struct app *app = r->app;
	struct error ignored = { 0 };
	int64_t no;
	char *dir;

	if (!app->hooks || app->transcript)
		return;
	dir = app_state_path(app, "transcripts", &ignored);
	if (dir)
		app->transcript = thread_transcript_new(
			store_again(session_store(r->session, &no)), app->mask,
			dir);
	free(dir);
}

static int continue_without(void *arg, const struct error *why,
			    struct error *err)
{
	return policy_go_on_without(arg, why, err);
}

/* Loads the user's hooks file, then the project's. */
static int load_hooks(struct app *app, struct error *err)
{
	const struct settings *set = app->settings;
	struct error ignored = { 0 };
	bool repository = false;
	char *root = user_repo_root(settings_cwd(set), &repository, &ignored);
	char *user = path_join(settings_dir(set), "hooks.json");
	char *project = root ? path_join(root, ".deepagents/hooks.json") : NULL;
	struct hooks_source src = { .settings = set,
				    .mask = app->mask,
				    .user_file = user,
				    .project_file = project,
				    .root = root,
				    .cwd = settings_cwd(set),
				    .warn = app_warn_line,
				    .tell = app->quiet ? NULL : app_warn_line,
				    .without = continue_without,
				    .transcript = write_transcript,
				    .arg = app };
	int rc = project_trust_open(app, &src.trust, err);

	if (rc == 0)
		rc = hooks_load(&app->hooks, &src, err);
	if (rc < 0)
		error_topic(err, "hooks");
	app->hooks_read = rc == 0;
	free(project);
	free(user);
	free(root);
	return rc;
}

int run_hooks_open(struct run *r, struct error *err)
{
	return r->app->hooks_read ? 0 : load_hooks(r->app, err);
}

/* On -1 the current hooks stay in use. */
int run_hooks_reload(struct run *r, struct error *err)
{
	struct hooks *old = r->app->hooks;

	if (load_hooks(r->app, err) < 0) {
		r->app->hooks = old;
		r->app->hooks_read = true;
		return -1;
	}
	hooks_free(old);
	run_hooks_follow(r);
	return 0;
}

void run_hooks_follow(struct run *r)
{
	open_transcript(r);
	r->agent.hooks = r->app->hooks;
	hooks_set_session(r->app->hooks, session_id(r->session),
			  permission_mode, r);
}

const char *run_hooks_cause(const struct run *r)
{
	return r->thread.id ? "resume" : "startup";
}

int run_hooks_start(struct run *r, const char *cause, const struct stop *stop,
		    struct error *err)
{
	run_hooks_follow(r); /* /clear has ended the old session, which detached
				the hooks */
	return hooked_session_start(&r->agent, cause, stop, err);
}

/* After a signal, the hooks have END_MS to finish. */
void run_hooks_end(struct run *r, const char *cause)
{
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	if (stop_check(&stop, &ignored) < 0)
		stop = stop_cleanup(END_MS);
	if (r->agent.hooks)
		hooked_session_end(&r->agent, cause, &stop);
	r->agent.hooks = NULL;
}

/* The hooks run in the background; their results are not used. */
void run_hooks_notify(struct run *r, const char *tool)
{
	static const char type[] = "permission_prompt";
	cJSON *fields;
	char *message;

	if (!hooks_have(r->app->hooks, HOOK_NOTIFICATION))
		return;
	message = xasprintf("dcode asks whether %s may run", tool);
	fields = cJSON_CreateObject();
	cJSON_AddStringToObject(fields, "message", message);
	cJSON_AddStringToObject(fields, "notification_type", type);
	hooks_notify(r->app->hooks, HOOK_NOTIFICATION, type, fields);
	free(message);
}
