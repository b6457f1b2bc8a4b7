/* open.c - opens and closes a conversation with everything it needs. */
/* SPDX-License-Identifier: MIT */

/*
 * run_read_flags() reads flags and settings. run_open() then opens the parts in
 * order of dependency: money, thread, model, provider, MCP servers, sandbox,
 * conversation. If the sandbox is created in the background, the conversation
 * is opened before it, and open_rest() runs when the sandbox is ready.
 * run_undo() closes in reverse order and may be called after any failure.
 */
#include "cmd/session/open.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd/print.h"
#include "cmd/session/agent_choice.h"
#include "cmd/session/conversation.h"
#include "cmd/session/grants.h"
#include "cmd/session/hooks.h"
#include "cmd/session/money.h"
#include "cmd/session/options.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/save.h"
#include "cmd/session/skills.h"
#include "cmd/session/tools.h"
#include "cmd/session/workspace.h"
#include "cmd/subagents/run_subagents.h"
#include "hooks/hooks.h"
#include "sandbox/sandbox.h"

/* If plan mode has begun or ended, offers the model the tools that fit. */
static int follow_plan_mode(struct run *r, struct error *err)
{
	bool plans = r->mode == RUN_PLAN;

	return r->offers_plan == plans ? 0 : run_offer_tools(r, err);
}

/* agent.add_news callback: plan mode has begun or ended since the model was
 * last told. */
static void add_news(void *arg, struct buf *out)
{
	struct run *r = arg;
	bool plans = r->mode == RUN_PLAN;

	if (plans == r->plans)
		return;
	buf_adds(out, plans ? MESSAGE_NOTE_PLAN : MESSAGE_NOTE_PLAN_OVER);
	r->plans = plans;
}

/* Applies --approval-mode. The model is open: its system prompt describes all
 * tools, because plan mode may end. */
static int begin_mode(struct run *r, struct error *err)
{
	enum run_mode mode = (enum run_mode)r->options.mode;

	if (mode == RUN_MANUAL)
		return 0;
	if (run_check_mode(r, mode, err) < 0)
		return -1;
	r->mode = (int)mode;
	return follow_plan_mode(r, err);
}

/* agent.update_tools callback: if MCP servers have changed their tools, or plan
 * mode has begun or ended, offers the new ones with the next request. */
static int update_tools(void *arg, const struct stop *stop, struct error *err)
{
	struct run *r = arg;

	(void)stop;
	if (r->mcp && run_mcp_update(r) && run_offer_tools(r, err) < 0)
		return -1;
	return follow_plan_mode(r, err);
}

/* Attaches hooks, subagents, web access and MCP to the agent. Must run before
 * the first request, which would otherwise bypass them. */
static void attach_features(struct run *r)
{
	run_hooks_follow(r);
	run_subagents_attach(r);
	run_web_attach(r);
	run_mcp_attach(r);
	r->agent.update_tools = update_tools;
	r->agent.tools_arg = r;
}

/* agent.ran callback. */
static void note_contacts(void *arg, struct sandbox *sb,
			  const struct part *call)
{
	struct run *r = arg;

	host_gate_end_command(&r->gate);
	contacts_note(&r->contacts, session_id(r->session), sb, call);
}

/* Opens the model with prompt and history, the session and the agent. */
static int open_conversation(struct run *r, const struct stop *stop,
			     struct error *err)
{
	if (run_mcp_wait(r, stop, err) < 0 || run_name_session(r, err) < 0 ||
	    run_open_model(r, err) < 0)
		return -1;
	run_set_window(r);
	if (run_resume_load(r, err) < 0)
		return -1;
	r->history_dir = app_state_path(r->app, "conversation_history", err);
	contacts_close(&r->contacts);
	contacts_open(&r->contacts, r->app);
	r->agent = (struct agent){
		.model = r->model,
		.sandbox = &r->box.sandbox,
		.session = r->session,
		.mask = r->app->mask,
		.thread = session_id(r->session),
		.saved_results = r->stored_results,
		.secrets = &r->secrets,
		.ui = r->ui,
		.max_turns = r->options.max_turns,
		.turns_by_policy = r->options.turns_by_policy,
		.meter = r->app->meter,
		.raise = r->raise,
		.raise_arg = r,
		.go_on = r->go_on,
		.go_on_arg = r,
		.push = r->push,
		.push_arg = r,
		.steering = r->steering,
		.add_news = add_news,
		.news_arg = r,
		.answer = BUF_INIT(64 << 20),
		.window = r->agent.window,
		.probe = r->agent.probe,
		.reset = run_reset_model,
		.reset_arg = r,
		.history_dir = r->history_dir,
		.prepare = run_skills_prepare,
		.prepare_arg = r,
		.ran = note_contacts,
		.ran_arg = r,
	};
	attach_features(r);
	return begin_mode(r, err);
}

/* Does the part of run_open() that needs the sandbox. On the thread that waits
 * for the sandbox. */
static int open_rest(struct run *r, struct error *err)
{
	if (run_jobs_open(r, err) < 0 || run_asks_attached(r, err) < 0)
		return -1;
	if (r->interactive && r->options.yolo && !r->declined &&
	    run_set_mode(r, RUN_YOLO, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	if (r->interactive)
		grants_load(&r->grants, r->app->settings);
	/* what is piped answers no question about a host */
	if (r->interactive && (r->theme || isatty(STDIN_FILENO)) &&
	    host_gate_open(&r->gate, r->app, &r->box, err) < 0)
		return -1;
	if (settings_list(r->app->settings, NULL, "redact.paths_off",
			  &r->agent.exempt, &r->agent.n_exempt, err) < 0)
		return -1;
	if (!run_has_sandbox(r))
		secret_files_open(&r->secrets, settings_dir(r->app->settings));
	if (!run_has_sandbox(r) && r->interactive) {
		r->changes.app = r->app;
		r->agent.watch = command_changes_watch;
		r->agent.watch_arg = &r->changes;
	}
	return 0;
}

/* Opens the sandbox and the conversation. If the sandbox can be created in the
 * background, the conversation comes first. */
static int open_both(struct run *r, const struct stop *stop, struct error *err)
{
	if (run_promise_can(r))
		return open_conversation(r, stop, err) < 0
			       ? -1
			       : run_promise_begin(r, open_rest, stop, err);
	return run_open_sandbox(r, stop, err) < 0 ||
			       open_conversation(r, stop, err) < 0
		       ? -1
		       : open_rest(r, err);
}

/* Call if the model's key is missing (err). Also reports a missing key of the
 * sandbox provider, so that the user can set both at once. */
static void check_sandbox_key(struct run *r, struct error *err)
{
	struct app plain = { .mask = r->app->mask };
	struct sandbox_client client = { 0 };
	struct error why = { 0 };

	if (app_client_check(r->app, r->options.sandbox_as, &client, &why) == 0)
		sandbox_client_close(&client);
	else if (r->app->json)
		error_add(err, "; %s", why.message);
	else
		(void)app_fail(&plain, &why);
}

/* Prints the name of a model that the user did not choose. */
int run_open(struct run *r, const struct stop *stop, struct error *err)
{
	struct settings *set;
	char *name;

	if (app_settings(r->app, &set, err) < 0 ||
	    run_money_begin(r, err) < 0 || run_resume_begin(r, err) < 0)
		return -1;
	if (run_choose_model(r, err) < 0) {
		if (run_lacks_key(err))
			check_sandbox_key(r, err);
		return -1;
	}
	if (r->choice.by_key && !r->made) {
		/* the model is only the first one that has a key */
		name = run_model_name(r);
		print_line(r->app,
			   "Model: %s (the default; -M chooses another)", name);
		free(name);
	}
	if (run_open_client(r, err) < 0 || run_mcp_begin(r, err) < 0)
		return -1;
	run_workspace_remark(r);
	return open_both(r, stop, err);
}

/* Closes whatever was opened. The sandbox is first, because it costs money. */
void run_undo(struct run *r)
{
	struct error ignored = { 0 };

	run_promise_end(r);
	/* A failure was already reported; only a lost sandbox matters here. */
	r->lost = run_end_sandbox(r, &ignored) < 0 && ignored.code == ERR_GONE;
	run_mcp_end(r);
	if (r->opened_client)
		sandbox_client_close(&r->client);
	window_probe_free(r->agent.probe);
	if (r->model)
		model_close(r->model);
	if (r->session)
		session_free(r->session);
	secret_files_release(&r->secrets);
	command_changes_close(&r->changes);
	r->unsaved |= r->saved.failed != NULL;
	saved_work_release(&r->saved);
	free(r->history_dir);
	run_wrote_release(&r->wrote);
	free(r->offer.server);
	buf_release(&r->offer.names);
	free(r->draft);
	r->draft = NULL;
	grants_clear(&r->grants);
	buf_release(&r->applied);
	buf_release(&r->agent.answer);
	buf_release(&r->agent.hook_context);
	buf_release(&r->agent.hook_end.reason);
	hooks_end_session(r->app->hooks, r);
	model_choice_release(&r->choice);
	r->opened_client = false;
	r->client = (struct sandbox_client){ 0 };
	r->model = NULL;
	r->session = NULL;
	r->secrets = (struct secret_files){ 0 };
	r->saved = (struct saved_work){ 0 };
	r->history_dir = NULL;
	r->wrote = (struct run_wrote){ 0 };
	r->agent = (struct agent){ 0 };
	r->choice = (struct model_choice){ 0 };
}

void run_close(struct run *r)
{
	run_undo(r);
	run_subagents_close(r);
	run_skills_close(r);
	contacts_close(&r->contacts);
	host_gate_close(&r->gate);
	run_options_release(&r->options);
	thread_release(&r->thread);
}

/* The order matters: the sandbox and the agent are needed by later steps. */
int run_read_flags(struct run *r, const struct args *args, struct error *err)
{
	struct run_options *o = &r->options;
	struct settings *set;
	const char *sandbox;

	if (run_options_read(o, args, err) < 0)
		return -1;
	r->app->trusted = o->trusted;
	if (o->timeout_s)
		r->stop = stop_within(&r->stop, o->timeout_s * 1000);
	if (app_settings(r->app, &set, err) < 0)
		return -1;
	if (o->max_retries && settings_set_flag(set, "retries.max_retries",
						o->max_retries, err) < 0)
		return -1;
	if (o->effort &&
	    settings_set_flag(set, "models.effort", o->effort, err) < 0)
		return -1;
	if (run_policy_apply(o, set, err) < 0 ||
	    run_asks_resolve(o, set, err) < 0)
		return -1;
	if (!o->allow.given && run_allow_resolve(o, set, err) < 0)
		return -1;
	if (run_resume_find(r, err) < 0 ||
	    agent_choose(r->app, args_value(args, "agent"), r->thread.agent,
			 &o->agent, err) < 0 ||
	    run_offer_sandbox(r, args, &sandbox, err) < 0 ||
	    run_sandbox_resolve(o, r->app, sandbox, err) < 0 ||
	    run_exit_resolve(o, r->app, args, err) < 0 ||
	    run_workspace_resolve(o, r->app, args, err) < 0 ||
	    run_options_check(o, err) < 0)
		return -1;
	run_policy_remark(o, set);
	return 0;
}
