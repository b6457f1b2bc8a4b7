/* run_overlap.c - the first request, sent while the sandbox is being made. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "agent/early.h"
#include "base/mem.h"
#include "cmd/jobs/jobs.h"
#include "cmd/overlap/overlap.h"
#include "cmd/run/run.h"
#include "cmd/run/run_hooks.h"
#include "cmd/run/yolo.h"
#include "cmd/secret.h"
#include "hooks/hooks.h"
#include "mcp/mcp.h"
#include "sandbox/place.h"
#include "session/consent.h"
#include "tree/user_repo.h"

static bool is_on(const struct run *r)
{
	struct error ignored = { 0 };
	bool on = false;

	return settings_bool(r->app->settings, NULL, "sandboxes.overlap", &on,
			     &ignored) == 0 &&
	       on;
}

/* What changes the prompt, or has to happen before it, in the sandbox. */
static bool needs_sandbox(const struct run *r)
{
	const struct run_options *o = &r->options;
	bool names_file = o->task && strchr(o->task, '@');
	bool has_tree = o->workspace && !strcmp(o->workspace, "repo");

	return names_file || o->startup ||
	       ((o->apply || o->branch) && !has_tree);
}

/* A question about the sandbox that is asked once there is one. */
static bool asks_later(const struct run *r)
{
	const struct run_options *o = &r->options;

	return r->interactive && ((o->sandbox_id && !o->asks_given) ||
				  (o->yolo && !yolo_acknowledged(r->app)));
}

/* What they say goes with the prompt. */
static bool has_hooks(const struct run *r)
{
	return hooks_have(r->app->hooks, HOOK_SESSION_START) ||
	       hooks_have(r->app->hooks, HOOK_USER_PROMPT_SUBMIT);
}

/* Of servers whose tools are not known from before. */
static bool waits_for_tools(const struct run *r)
{
	struct mcp_status st;

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		mcp_server_status(mcp_server(r->mcp, i), &st);
		if (st.state == MCP_STARTING)
			return true;
	}
	return false;
}

bool overlap_can(struct run *r)
{
	bool attaches = r->options.sandbox_id || r->thread.id;
	const char *dir;

	if ((!r->ahead && !r->listen) ||
	    r->host.provider->flags & SANDBOX_UNISOLATED || !is_on(r) ||
	    needs_sandbox(r) || asks_later(r) ||
	    (r->interactive && has_hooks(r)) || waits_for_tools(r) ||
	    run_jobs_pending(r))
		return false;
	/* the sandbox of a thread may be gone: then a new one is made */
	dir = place_expect(&r->host, attaches);
	if (!dir || (r->thread.id && !place_expect(&r->host, false)))
		return false;
	r->box.sandbox =
		(struct sandbox){ .host = &r->host, .workdir = xstrdup(dir) };
	return true;
}

int overlap_begin(struct run *r, const struct stop *stop, struct error *err)
{
	free(r->expected);
	r->expected = r->box.sandbox.workdir;
	r->box.sandbox = (struct sandbox){ 0 };
	if (early_begin(&r->agent, stop, !r->interactive, err) < 0)
		return -1;
	if (!r->interactive) /* a chat with such hooks waits: overlap_can() */
		early_hooks(r->agent.early, run_hooks_cause(r));
	return 0;
}

/* Whether the user will be asked if his tree may be sent. */
static bool asks_about_tree(const struct run *r)
{
	struct error ignored = { 0 };
	bool is_repository = false;
	struct store *store;
	bool asked = false;
	char *root;

	if (!r->interactive || r->options.workspace || r->options.sandbox_id ||
	    !secret_terminal(r->app))
		return false;
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      &ignored);
	if (root && is_repository)
		asked = app_store(r->app, &store, &ignored) == 0 &&
			consent_get(store, root, r->host.provider->name, &asked,
				    &ignored) >= 0 &&
			asked;
	free(root);
	return is_repository && !asked;
}

void overlap_answered(struct run *r)
{
	if (!r->agent.early)
		return;
	if (r->ahead)
		(void)early_send(r->agent.early, r->ahead);
	if (r->listen)
		r->listen(r->ui.arg, r->agent.early);
}

void overlap_begins(void *arg)
{
	struct run *r = arg;

	if (r->agent.early && !asks_about_tree(r))
		overlap_answered(r);
}

static void listen_no_more(struct run *r)
{
	if (r->listen)
		r->listen(r->ui.arg, NULL);
}

/* The model was told of another place: what it says is of no use. */
static int ask_anew(struct run *r, struct error *err)
{
	early_end(&r->agent);
	model_close(r->model);
	r->agent.model = r->model = NULL;
	if (run_open_model(r, err) < 0)
		return -1;
	r->agent.model = r->model;
	run_set_window(r);
	return run_resume_load(r, err);
}

int overlap_end(struct run *r, struct error *err)
{
	listen_no_more(r);
	if (!early_close(&r->agent))
		early_end(&r->agent);
	if (run_name_session(r, err) < 0)
		return -1;
	if (!place_is(&r->box.sandbox, r->expected))
		return ask_anew(r, err);
	early_save(&r->agent); /* with the name of its sandbox */
	return 0;
}

int overlap_fail(struct run *r, struct error *why)
{
	listen_no_more(r);
	/* a chat that goes on begins anew, with the same message */
	if (!r->interactive || why->code != ERR_CANCELLED)
		early_fail(&r->agent, why);
	early_end(&r->agent);
	if (!r->box.request.host) { /* it was to come */
		free(r->box.sandbox.workdir);
		r->box.sandbox = (struct sandbox){ 0 };
	}
	return -1;
}
