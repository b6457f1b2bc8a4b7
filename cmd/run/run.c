/* run.c - a conversation with everything it needs, opened and closed. */
/* SPDX-License-Identifier: MIT */
#include "cmd/run/run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/secret.h"

enum {
	MAX_PROMPT = 1 << 20,
	MOST_TOOLS = 64,
	RUN_MAX_S = 24 * 3600, /* without --timeout */
};

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

	for (size_t i = 0; i < sb->mounts.n; i++) {
		buf_adds(out, i ? ", " : " (");
		sanitize_line(str_of(sb->mounts.list[i].inside), out);
		buf_adds(out, " = ");
		sanitize_line(str_of(sb->mounts.list[i].path), out);
		buf_adds(out, " on this machine");
	}
	buf_adds(out, sb->mounts.n ? ")" : "");
}

/* With schemas that have to be freed. */
static size_t offered_tools(const struct run *r, struct tool_spec *specs,
			    bool *runs_commands)
{
	size_t n = 0;

	*runs_commands = false;
	for (size_t i = 0; tools[i] && n < MOST_TOOLS; i++) {
		if (!run_offers(r, tools[i]))
			continue;
		specs[n] = tools[i]->spec;
		specs[n++].schema = tool_schema(tools[i]);
		*runs_commands |= (tools[i]->flags & TOOL_RUNS) != 0;
	}
	return n;
}

/* With -q only warnings that concern security are printed. */
static void ignore_line(const char *line)
{
	(void)line;
}

static int open_model(struct run *r, struct error *err)
{
	struct tool_spec specs[MOST_TOOLS];
	struct buf prompt = BUF_INIT(MAX_PROMPT);
	char *name = run_model_name(r);
	struct prompt_facts facts = {
		.config_dir = settings_dir(r->app->settings),
		.cwd = settings_cwd(r->app->settings),
		.model = name,
		.sandbox = &r->box.sandbox,
		.interactive = r->interactive,
	};
	struct model_brief brief = {
		.tools = specs,
		.n_tools = offered_tools(r, specs, &facts.runs_commands),
	};
	int rc;

	prompt_build(&facts, &prompt,
		     r->options.quiet ? ignore_line : app_warn_line);
	brief.system = prompt.ptr;
	rc = model_open(&r->model, app_http(r->app), &r->choice, &brief, err);
	for (size_t i = 0; i < brief.n_tools; i++)
		free((char *)specs[i].schema);
	buf_release(&prompt);
	free(name);
	return rc;
}

static int open_session(struct run *r, struct error *err)
{
	struct store *store;
	char *name;
	struct session_info info = {
		.provider = r->host.provider->name,
		.sandbox = on_host(r) ? "" : r->box.sandbox.id,
		.label = r->box.ours ? r->box.label : "",
		.cwd = settings_cwd(r->app->settings),
	};

	if (app_store_later(r->app, &store, err) < 0)
		return -1;
	name = run_model_name(r);
	info.model = name;
	if (r->session)
		session_set_info(r->session, &info);
	else
		r->session = session_new(store, &info);
	free(name);
	return 0;
}

/* A thread goes on with its model; -M takes precedence. */
static int choose_model(struct run *r, const struct settings *set,
			struct error *err)
{
	const char *model = r->options.model;

	if (!model && r->thread.id && r->thread.model[0])
		model = r->thread.model;
	if (model_choose(&r->choice, set, model, r->options.model_params,
			 err) == 0)
		return 0;
	if (r->thread.id && !r->options.model && !err->hint[0])
		error_hint(err, "-M SPEC goes on with another model.");
	return -1;
}

int run_open(struct run *r, const struct stop *stop, struct error *err)
{
	struct settings *set;

	if (app_settings(r->app, &set, err) < 0 ||
	    run_resume_begin(r, err) < 0 || choose_model(r, set, err) < 0)
		return -1;
	if (r->choice.project_key)
		app_warn_project_key(r->app, r->choice.project_key,
				     r->choice.provider);
	if (r->choice.api_key)
		(void)mask_add(r->app->mask,
			       r->choice.key_env ? r->choice.key_env
						 : "API_KEY",
			       str_of(r->choice.api_key));
	if (run_open_sandbox(r, stop, err) < 0 || open_session(r, err) < 0 ||
	    open_model(r, err) < 0 || run_resume_load(r, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	if (on_host(r))
		secret_files_open(&r->secrets, settings_dir(r->app->settings));
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
		.answer = BUF_INIT(64 << 20),
	};
	return 0;
}

void run_close(struct run *r)
{
	struct error ignored = { 0 };

	/* The sandbox first, since it costs money; a failure has been warned
	 * about. */
	(void)lifecycle_close(&r->box, &ignored);
	if (r->opened_client)
		sandbox_client_close(&r->host);
	if (r->model)
		model_close(r->model);
	if (r->session)
		session_free(r->session);
	secret_files_release(&r->secrets);
	saved_work_release(&r->saved);
	run_wrote_release(&r->wrote);
	buf_release(&r->applied);
	buf_release(&r->agent.answer);
	model_choice_release(&r->choice);
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

/* The configured list; a flag's is there already. */
static int configured_allow_list(struct run_options *o,
				 const struct settings *set, struct error *err)
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

static int read_flags(struct run *r, const struct args *args, struct error *err)
{
	struct run_options *o = &r->options;
	struct settings *set;
	const char *sandbox;

	if (run_options_read(o, args, err) < 0)
		return -1;
	if (o->timeout_s)
		r->stop = stop_within(&r->stop, o->timeout_s * 1000);
	if (app_settings(r->app, &set, err) < 0)
		return -1;
	if (o->max_retries && settings_set_flag(set, "retries.max_retries",
						o->max_retries, err) < 0)
		return -1;
	if (run_policy_apply(o, set, err) < 0)
		return -1;
	if (!o->allow.given && configured_allow_list(o, set, err) < 0)
		return -1;
	if (run_resume_find(r, err) < 0 ||
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
	if (o->task || piped || r->interactive)
		return 0;
	error_set(err, ERR_USAGE,
		  "nothing to do: no text comes from standard input, and there "
		  "is no terminal for a chat");
	return error_hint(err, "give the task with -n \"...\", or pipe it in");
}

/* The flags, then the piped text; *prompt is owned, NULL without any. */
static int prepare(struct run *r, const struct args *args, char **prompt,
		   struct error *err)
{
	const struct run_options *o = &r->options;
	char *piped = NULL;

	if (read_flags(r, args, err) < 0 ||
	    run_read_stdin(&piped, o, &r->stop, err) < 0)
		return -1;
	if (choose_mode(r, piped, err) < 0) {
		free(piped);
		return -1;
	}
	if (piped || o->task || o->message)
		*prompt = join_prompt(piped, o->task ? o->task : o->message);
	if (!r->interactive && !r->options.timeout_s) {
		r->options.timeout_s = RUN_MAX_S;
		r->stop = stop_within(&r->stop, (int64_t)RUN_MAX_S * 1000);
	}
	return check_unattended(r, err);
}

int run_chat_or_task(struct app *app, const struct args *args)
{
	struct run r = { .app = app, .stop = app_stop(app) };
	struct error err = { 0 };
	char *prompt = NULL;
	int status;

	app->unattended =
		args_value(args, "non-interactive") || !isatty(STDIN_FILENO);
	(void)app_http(app); /* libcurl loads while the rest gets ready */
	if (prepare(&r, args, &prompt, &err) < 0)
		status = err.code == ERR_USAGE && !app->json
				 ? command_refuse(NULL, NULL, &err)
				 : run_fail(&r, &err);
	else if (r.interactive)
		status = run_chat(&r, prompt);
	else
		status = run_task(&r, prompt);
	free(prompt);
	run_options_release(&r.options);
	thread_release(&r.thread);
	return status;
}

void run_remark(const struct run *r)
{
	static const char *const words[] = {
		[FINISH_LENGTH] = "the answer was cut at the model's output "
				  "limit; raise max_tokens with --model-params",
		[FINISH_WINDOW] = "the answer was cut where the model's "
				  "context window ends; begin a new "
				  "conversation",
		[FINISH_REFUSAL] = "the model refused to answer; the request "
				   "was taken out of the conversation",
	};
	enum finish finish = r->agent.finish;

	if (r->options.quiet)
		return;
	if (finish < sizeof(words) / sizeof(words[0]) && words[finish])
		app_warn("%s", words[finish]);
	else if (!r->agent.answer.len)
		app_warn("the model ended its turn without a word");
}
