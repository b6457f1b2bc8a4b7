/* start.c - starts a chat or a task for a command line without a command. */
/* SPDX-License-Identifier: MIT */

/*
 * prepare_run() reads the flags and piped text. It chooses a chat if a user is
 * at a terminal, otherwise a task. prepare_chat() reports a missing sandbox
 * provider or model before the chat's screen opens. Then run_chat() or
 * run_task() opens the run and closes it.
 */
#include "cmd/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/chat.h"
#include "cmd/command.h"
#include "cmd/first_start.h"
#include "cmd/session/agent_choice.h"
#include "cmd/session/conversation.h"
#include "cmd/session/open.h"
#include "cmd/session/options.h"
#include "cmd/session/skills.h"
#include "cmd/session/workspace.h"
#include "cmd/stdin.h"
#include "cmd/subagents/run_subagents.h"
#include "cmd/task.h"
#include "sandbox/secrets/secrets.h"

enum { RUN_MAX_S = 24 * 3600 }; /* time limit of a task without --timeout */
enum {
	MAX_CHARS = 10 << 20,
	MAX_BYTES = 4 * MAX_CHARS,
	FIRST_BYTE_MS = 10000, /* with -n, a pipe that stays silent for this
				  long is ignored */
	NOTICE_MS = 3000,
};

/* Returns 1 if stdin is readable, 0 after ms of silence, -1 with err. */
static int wait_readable(int64_t ms, const struct stop *stop, struct error *err)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = stop_fd(stop), .events = POLLIN } };
	struct stop nearer = stop_within(stop, ms);
	int n = poll(p, 2, stop_poll_ms(&nearer, -1));

	if (stop_check(stop, err) < 0)
		return -1;
	if (n < 0 && errno != EINTR)
		return error_errno(err, "waiting for standard input");
	return n > 0 && p[0].revents ? 1 : 0;
}

/* Returns 1 if there is input or its end, 0 if stdin should be ignored, -1 with
 * err. forever: without the time limit. */
static int wait_first(bool forever, bool quiet, const struct stop *stop,
		      struct error *err)
{
	int64_t begin = clock_ms();
	bool noticed = false;

	for (;;) {
		int64_t waited = clock_ms() - begin;
		int rc;

		if (waited >= NOTICE_MS && !noticed && !quiet) {
			app_warn("waiting for standard input; close it, or use "
				 "</dev/null");
			noticed = true;
		}
		if (waited >= FIRST_BYTE_MS && !forever) {
			if (!quiet)
				app_warn("standard input stayed silent for 10 "
					 "s and is "
					 "ignored; use --stdin to wait for it");
			return 0;
		}
		rc = wait_readable(1000, stop, err);
		if (rc)
			return rc;
	}
}

/* Refuses text with a NUL byte, which would end the prompt, and text that is
 * not UTF-8, which the models' servers refuse. */
static int check_text(const struct buf *text, struct error *err)
{
	if (text->over || str_chars(buf_str(text)) > MAX_CHARS)
		return error_set(err, ERR_LIMIT,
				 "Piped input exceeds 10 MiB limit. Consider "
				 "writing the content to a file and "
				 "referencing it instead.");
	if (!str_is_utf8(buf_str(text)) ||
	    str_find(buf_str(text), '\0') < text->len)
		return error_set(err, ERR_REMOTE,
				 "Could not read piped input \xE2\x80\x94 "
				 "ensure the input is valid text");
	return 0;
}

/* Reads piped text. *text is owned; NULL if nothing was piped, or if -n was
 * given and the pipe stayed silent. */
static int run_read_stdin(char **text, const struct run_options *o,
			  const struct stop *stop, struct error *err)
{
	struct buf all = BUF_INIT(MAX_BYTES);
	bool required = o->read_stdin;
	struct str trimmed;
	struct stat st;
	int rc = -1;

	*text = NULL;
	if (isatty(STDIN_FILENO)) {
		if (required)
			return error_set(err, ERR_REMOTE,
					 "--stdin was passed but stdin is a "
					 "terminal. Pipe input or use -n "
					 "instead.");
		return 0;
	}
	if (fstat(STDIN_FILENO, &st) < 0) {
		if (required)
			return error_errno(err, "--stdin: standard input");
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = wait_first(required || !o->task, o->quiet, stop, err);
		if (rc <= 0)
			return rc;
		rc = -1;
	}
	if (stdin_read(&all, stop, err) < 0 || check_text(&all, err) < 0)
		goto out;
	trimmed = str_trim(buf_str(&all));
	if (trimmed.len) {
		struct buf copy = BUF_INIT(MAX_BYTES);

		buf_addstr(&copy, trimmed);
		*text = buf_detach(&copy);
	}
	rc = 0;
out:
	buf_release(&all);
	return rc;
}

/* Checks before the chat's screen opens that there is a sandbox provider and a
 * model. */
static int prepare_chat(struct run *r, struct error *err)
{
	struct sandbox_client client = { 0 };
	struct model_choice c = { 0 };
	struct error why = { 0 };

	if (!r->thread.id) { /* the sandbox of a resumed thread may be at
				another endpoint */
		if (app_client_check(r->app, r->options.sandbox_as, &client,
				     err) < 0) {
			if (run_find_model(r, &c, &why) == 0)
				model_choice_release(&c);
			else if (run_lacks_key(&why))
				(void)app_fail(r->app, &why);
			return -1;
		}
		/* asks for a passphrase before the screen does */
		if (client.provider->secrets)
			secrets_open_store(r->app->settings);
		sandbox_client_close(&client);
	}
	return run_first_start(r, err);
}

/* Joins piped text and the task, in this order. Takes ownership of piped.
 * Owned. */
static char *join_prompt(char *piped, const char *task)
{
	char *whole;

	if (!piped || !task)
		return piped ? piped : xstrdup(task);
	whole = xasprintf("%s\n\n%s", piped, task);
	free(piped);
	return whole;
}

/* After piped text was read, opens the terminal as stdin. */
static bool reopen_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;

	if (fd > STDERR_FILENO)
		close(fd);
	return ok;
}

/* Refuses flags that only apply to a task, because this is a chat. */
static int check_unattended(const struct run *r, struct error *err)
{
	static const char text[] =
		"%s requires --non-interactive (-n) or piped stdin";
	const struct run_options *o = &r->options;

	if (!r->interactive)
		return 0;
	/* args, not options: the machine's policy may set max_turns for a chat,
	 * too */
	if (args_value(r->args, "max-turns"))
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
	if (o->output)
		return error_set(err, ERR_USAGE, text, "--output");
	if (r->app->json)
		return error_set(err, ERR_USAGE, text, "--json");
	return 0;
}

/* Chooses a chat if a user can type. If standard input is a pipe or empty, that
 * is possible on the controlling terminal. */
static int choose_mode(struct run *r, const char *piped, struct error *err)
{
	const struct run_options *o = &r->options;
	bool chat = !piped || (o->message && o->message[0]);

	r->interactive =
		!o->task && chat && (isatty(STDIN_FILENO) || reopen_terminal());
	r->app->unattended = !r->interactive;
	r->options.yes |= o->yolo && !r->interactive;
	if (o->task || piped || r->interactive)
		return 0;
	error_set(err, ERR_USAGE,
		  "nothing to do: standard input is empty, and a chat needs a "
		  "terminal");
	return error_hint(err, "Give the task with -n \"...\", or pipe it in.");
}

/* Reads the flags, then the piped text. *prompt is owned; NULL if there is
 * none. */
static int prepare_run(struct run *r, const struct args *args, char **prompt,
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

/* At the end releases everything and packs dcode's repository. */
int run_chat_or_task(struct app *app, const struct args *args)
{
	struct run r = { .app = app, .stop = app_stop(app), .args = args };
	struct error err = { 0 };
	char *prompt = NULL;
	int begins = 0;
	int status;

	app->unattended =
		args_value(args, "non-interactive") || !isatty(STDIN_FILENO);
	(void)app_http(app); /* loads libcurl in the background */
	if (prepare_run(&r, args, &prompt, &err) < 0)
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
