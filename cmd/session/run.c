/* run.c - a conversation with everything it needs, opened and closed. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/agents/agent_choice.h"
#include "cmd/command.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/jobs.h"
#include "cmd/session/run_stdin.h"
#include "cmd/session/unsent.h"
#include "cmd/skills/run_skills.h"
#include "cmd/subagents/run_subagents.h"
#include "hooks/hooks.h"
#include "sandbox/rights.h"

enum { RUN_MAX_S = 24 * 3600 }; /* without --timeout */

char *run_model_name(const struct run *r)
{
	return xasprintf("%s:%s", r->choice.provider, r->choice.model);
}

static bool on_host(const struct run *r)
{
	return r->host.provider->flags & SANDBOX_UNISOLATED;
}

void run_mounts(const struct run *r, struct buf *out)
{
	const struct sandbox *sb = &r->box.sandbox;
	char id[APPROVAL_MACHINE];

	for (size_t i = 0; i < sb->mounts.n; i++) {
		buf_adds(out, i ? ", " : " (");
		sanitize_line(str_of(sb->mounts.list[i].inside), out);
		buf_adds(out, " = ");
		sanitize_line(str_of(sb->mounts.list[i].path), out);
		buf_adds(out, " on this machine");
	}
	buf_adds(out, sb->mounts.n ? ")" : "");
	if (sandbox_is_shared(sb)) {
		buf_adds(out,
			 " (not isolated: commands have a user's rights on ");
		sanitize_line(str_of(sandbox_called(sb, id, sizeof(id))), out);
		buf_addc(out, ')');
	}
}

/* Everything that guards the agent or adds to it, whichever way the run was
 * started: before its first request, so that none goes out without. */
static void attach(struct run *r)
{
	run_hooks_follow(r);
	run_subagents_attach(r);
	run_web_attach(r);
	run_mcp_attach(r);
}

/* The model with its prompt and history, the session, the agent. */
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
		.meter = r->app->meter,
		.raise = r->raise,
		.raise_arg = r,
		.go_on = r->go_on,
		.go_on_arg = r,
		.answer = BUF_INIT(64 << 20),
		.window = r->agent.window,
		.probe = r->agent.probe,
		.reset = run_reset_model,
		.reset_arg = r,
		.history_dir = r->history_dir,
		.prepare = run_skills_prepare,
		.prepare_arg = r,
	};
	attach(r);
	return 0;
}

/* The sandbox first, unless the model need not wait for it. */
static int open_both(struct run *r, const struct stop *stop, struct error *err)
{
	if (run_promise_can(r))
		return open_conversation(r, stop, err) < 0
			       ? -1
			       : run_promise_begin(r, stop, err);
	return run_open_sandbox(r, stop, err) < 0 ||
			       open_conversation(r, stop, err) < 0
		       ? -1
		       : run_open_rest(r, err);
}

int run_open_rest(struct run *r, struct error *err)
{
	if (run_jobs_open(r, err) < 0 || run_asks_attached(r, err) < 0)
		return -1;
	if (r->interactive && r->options.yolo && !r->declined &&
	    run_set_mode(r, RUN_YOLO, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	if (r->interactive)
		grants_load(&r->grants, r->app->settings);
	if (on_host(r))
		secret_files_open(&r->secrets, settings_dir(r->app->settings));
	return 0;
}

static bool is_missing_key(const struct error *err)
{
	return !strcmp(err->reason, MODEL_NO_KEYS) ||
	       !strcmp(err->reason, MODEL_NO_KEY);
}

/* Beside the model's key, in err, the sandbox's may be missing: who has to get
 * both is told of both at once. */
static void tell_sandbox_too(struct run *r, struct error *err)
{
	struct app plain = { .mask = r->app->mask };
	struct sandbox_client host = { 0 };
	struct error why = { 0 };

	if (app_client_check(r->app, r->options.sandbox_as, &host, &why) == 0)
		sandbox_client_close(&host);
	else if (r->app->json)
		error_add(err, "; %s", why.message);
	else
		(void)app_fail(&plain, &why);
}

/* Before a chat has its screen: a sandbox that cannot be had, and a model. */
static int prepare_chat(struct run *r, struct error *err)
{
	struct sandbox_client host = { 0 };
	struct model_choice c = { 0 };
	struct error why = { 0 };

	if (!r->thread.id) { /* which may have its sandbox elsewhere */
		if (app_client_check(r->app, r->options.sandbox_as, &host,
				     err) < 0) {
			if (run_first_choose(r, &c, &why) == 0)
				model_choice_release(&c);
			else if (is_missing_key(&why))
				(void)app_fail(r->app, &why);
			return -1;
		}
		sandbox_client_close(&host);
	}
	return run_first_start(r, err);
}

static void tell_model(const struct run *r)
{
	char *name = run_model_name(r);

	if (r->choice.by_key && !r->made)
		print_line(r->app,
			   "Model: %s (the default; -M chooses another)", name);
	free(name);
}

int run_open(struct run *r, const struct stop *stop, struct error *err)
{
	struct settings *set;

	if (app_settings(r->app, &set, err) < 0 ||
	    run_money_begin(r, err) < 0 || run_resume_begin(r, err) < 0)
		return -1;
	if (run_choose_model(r, err) < 0) {
		if (is_missing_key(err))
			tell_sandbox_too(r, err);
		return -1;
	}
	tell_model(r);
	if (run_open_client(r, err) < 0 || run_mcp_begin(r, err) < 0)
		return -1;
	run_workspace_remark(r);
	return open_both(r, stop, err);
}

void run_undo(struct run *r)
{
	struct error ignored = { 0 };

	run_promise_end(r);
	/* The sandbox first, since it costs money; a failure has been warned
	 * about. */
	r->lost = run_end_sandbox(r, &ignored) < 0 && ignored.code == ERR_GONE;
	run_mcp_end(r);
	if (r->opened_client)
		sandbox_client_close(&r->host);
	window_probe_free(r->agent.probe);
	if (r->model)
		model_close(r->model);
	if (r->session)
		session_free(r->session);
	secret_files_release(&r->secrets);
	r->unsaved |= r->saved.failed != NULL;
	saved_work_release(&r->saved);
	free(r->history_dir);
	run_wrote_release(&r->wrote);
	grants_clear(&r->grants);
	buf_release(&r->applied);
	buf_release(&r->agent.answer);
	buf_release(&r->agent.hook_context);
	buf_release(&r->agent.hook_end.reason);
	hooks_end_session(r->app->hooks, r);
	model_choice_release(&r->choice);
	r->opened_client = false;
	r->host = (struct sandbox_client){ 0 };
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
	run_options_release(&r->options);
	thread_release(&r->thread);
}

static char *join_prompt(char *piped, const char *task)
{
	char *whole;

	if (!piped || !task)
		return piped ? piped : xstrdup(task);
	whole = xasprintf("%s\n\n%s", piped, task);
	free(piped);
	return whole;
}

/* Answers come from the terminal once a pipe has been read to its end. */
static bool back_to_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;

	if (fd > STDERR_FILENO)
		close(fd);
	return ok;
}

/* Flags that mean something only without a user at the terminal. */
static int check_unattended(const struct run *r, struct error *err)
{
	static const char text[] =
		"%s requires --non-interactive (-n) or piped stdin";
	const struct run_options *o = &r->options;

	if (!r->interactive)
		return 0;
	if (o->max_turns)
		return error_set(err, ERR_USAGE, text, "--max-turns");
	if (o->timeout_s)
		return error_set(err, ERR_USAGE, text, "--timeout");
	if (o->apply || o->branch)
		return error_set(err, ERR_USAGE, text,
				 o->apply ? "--apply" : "--branch");
	if (o->quiet && o->no_stream)
		return error_set(err, ERR_USAGE, text,
				 "--quiet and --no-stream");
	if (o->quiet)
		return error_set(err, ERR_USAGE, text, "--quiet");
	if (o->no_stream)
		return error_set(err, ERR_USAGE, text, "--no-stream");
	if (r->app->json)
		return error_set(err, ERR_USAGE, text, "--json");
	return 0;
}

int run_allow_resolve(struct run_options *o, const struct settings *set,
		      struct error *err)
{
	const char *const *names;
	struct buf text = BUF_INIT(1 << 16);
	size_t n = 0;
	int rc = settings_list(set, NULL, "shell.allow_list", &names, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		buf_adds(&text, i ? "," : "");
		buf_adds(&text, names[i]);
	}
	if (text.len)
		rc = allow_list_parse(&o->allow, text.ptr, err);
	if (rc < 0 &&
	    settings_source(set, NULL, "shell.allow_list") == SOURCE_POLICY) {
		err->code = ERR_POLICY;
		error_wrap(err, SETTINGS_POLICY_FILE);
	}
	buf_release(&text);
	return rc;
}

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

/* A chat needs somebody who types: at standard input, or at the controlling
 * terminal when that is a pipe or empty. */
static int choose_mode(struct run *r, const char *piped, struct error *err)
{
	const struct run_options *o = &r->options;
	bool chat = !piped || (o->message && o->message[0]);

	r->interactive = !o->task && chat &&
			 (isatty(STDIN_FILENO) || back_to_terminal());
	r->app->unattended = !r->interactive;
	r->options.yes |= o->yolo && !r->interactive;
	if (o->task || piped || r->interactive)
		return 0;
	error_set(err, ERR_USAGE,
		  "nothing to do: standard input is empty, and a chat needs a "
		  "terminal");
	return error_hint(err, "Give the task with -n \"...\", or pipe it in.");
}

/* The flags, then the piped text; *prompt is owned, NULL without any. */
static int prepare(struct run *r, const struct args *args, char **prompt,
		   struct error *err)
{
	const struct run_options *o = &r->options;
	char *piped = NULL;

	if (run_read_flags(r, args, err) < 0 ||
	    run_read_stdin(&piped, o, &r->stop, err) < 0)
		return -1;
	if (choose_mode(r, piped, err) < 0) {
		free(piped);
		return -1;
	}
	if (agent_make(r->app, o->agent, err) < 0 ||
	    run_skills_open(r, err) < 0) {
		free(piped);
		return -1;
	}
	if (r->interactive && args_value(args, "agent"))
		agent_remember(r->app, o->agent);
	run_subagents_open(r);
	if (piped || o->task || o->message)
		*prompt = join_prompt(piped, o->task ? o->task : o->message);
	if (!r->interactive && !r->options.timeout_s) {
		r->options.timeout_s = RUN_MAX_S;
		r->stop = stop_within(&r->stop, (int64_t)RUN_MAX_S * 1000);
	}
	if (check_unattended(r, err) < 0)
		return -1;
	return o->skill ? run_skills_begin(r, prompt, err) : 0;
}

int run_chat_or_task(struct app *app, const struct args *args)
{
	struct run r = { .app = app, .stop = app_stop(app), .args = args };
	struct error err = { 0 };
	char *prompt = NULL;
	int begins = 0;
	int status;

	app->unattended =
		args_value(args, "non-interactive") || !isatty(STDIN_FILENO);
	(void)app_http(app); /* libcurl loads while the rest gets ready */
	if (prepare(&r, args, &prompt, &err) < 0)
		status = err.code == ERR_USAGE && !app->json
				 ? command_refuse(NULL, NULL, &err)
				 : run_fail(&r, &err);
	else if (r.interactive && (begins = prepare_chat(&r, &err)) <= 0)
		status = begins < 0 ? app_fail(app, &err) : 1;
	else if (r.interactive)
		status = run_chat(&r, prompt);
	else
		status = run_task(&r, prompt);
	free(prompt);
	run_subagents_close(&r);
	run_skills_close(&r);
	run_options_release(&r.options);
	thread_release(&r.thread);
	if (app->settings)
		records_pack(app);
	return status;
}
