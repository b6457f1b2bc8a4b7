/* chat.c - dcode: a conversation, line by line. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/install.h"
#include "cmd/run.h"
#include "ui/plain.h"

enum {
	MAX_LINE = 10 << 20,
	TERMINAL_LINE = 4095, /* bytes; Linux's n_tty drops the rest */
	PASTE_MS = 20,        /* lines that come closer belong together */
	MAX_SHOWN = 16 << 20, /* bytes of a question */
	WORDS_MOST = 8,       /* of /auth */
	MANY_LINES = 20,      /* more than these may not stay on the screen */
};

struct chat {
	struct run *run;
	struct plain plain;
	struct buf typed; /* read from the terminal, not yet a line */
	bool ended;       /* standard input is at its end */
	bool cut;         /* the terminal has dropped some of a line */
	bool armed;       /* one Ctrl-C at an empty prompt was seen */
};

/* A line without its end. 1 got one, 0 at the end, -1 interrupted. */
static int read_line(struct chat *c, struct buf *line)
{
	struct cancel *cancel = &c->run->app->cancel;
	char chunk[4096];

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = cancel->fd[0], .events = POLLIN },
		};
		size_t at = str_find(buf_str(&c->typed), '\n');
		ssize_t n;

		if (at < c->typed.len || (c->ended && c->typed.len)) {
			buf_add(line, c->typed.ptr, at);
			buf_consume(&c->typed, at + (at < c->typed.len));
			return 1;
		}
		if (c->ended)
			return 0;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 0;
		if (p[1].revents)
			return -1;
		if (!p[0].revents)
			continue;
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&c->typed, chunk, (size_t)n);
		else if (n == 0 || errno != EINTR)
			c->ended = true;
	}
}

static void on_event(void *arg, const struct agent_event *ev)
{
	struct chat *c = arg;

	plain_event(&c->plain, ev);
}

/* All of what will run, with every byte visible: nothing may hide behind a
 * control character or beyond the edge of a summary, and no line of it can
 * pass for one of ours. False when it is too much to show. */
static bool show_call(const struct part *call)
{
	struct buf text = BUF_INIT(MAX_SHOWN);
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;
	const cJSON *item;
	size_t lines = 0;
	bool whole;

	cJSON_ArrayForEach (item, args) {
		char *value = cJSON_IsString(item)
				      ? xstrdup(item->valuestring)
				      : cJSON_PrintUnformatted(item);

		buf_adds(&text, "  ");
		clean_visible(str_of(item->string), "  | ", &text);
		buf_adds(&text, ": ");
		clean_visible(str_of(value), "  | ", &text);
		buf_addc(&text, '\n');
		free(value);
	}
	whole = !text.over;
	for (size_t i = 0; whole && i < text.len; i++)
		lines += text.ptr[i] == '\n';
	fprintf(stderr, "%s wants to run on this machine:\n%s", call->name,
		whole && text.len ? text.ptr : "");
	if (lines > MANY_LINES)
		fprintf(stderr,
			"(%zu lines; the first ones may have scrolled "
			"away)\n",
			lines);
	cJSON_Delete(args);
	buf_release(&text);
	return whole;
}

/* What was typed before a question was shown does not answer it: it is kept
 * for the next prompt. */
static void set_aside(struct chat *c, struct buf *early)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char chunk[4096];

	while (isatty(STDIN_FILENO) && poll(&p, 1, 0) > 0) {
		ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n <= 0)
			break; /* read_line() will see it again */
		buf_add(&c->typed, chunk, (size_t)n);
	}
	*early = c->typed;
	c->typed = BUF_INIT(MAX_LINE);
}

static void put_back(struct chat *c, struct buf *early)
{
	buf_addstr(early, buf_str(&c->typed));
	buf_release(&c->typed);
	c->typed = *early;
}

/* 1 yes, 0 no, -1 interrupted. */
static int ask(struct chat *c)
{
	struct buf line = BUF_INIT(MAX_LINE);
	int answer = -2;

	while (answer == -2) {
		struct str word;
		int rc;

		fputs("Allow it? [y/N] ", stderr);
		buf_clear(&line);
		rc = read_line(c, &line);
		word = str_trim(buf_str(&line));
		if (rc < 0)
			answer = -1;
		else if (str_is_nocase(word, "y") || str_is_nocase(word, "yes"))
			answer = 1;
		else if (rc == 0 || !word.len || str_is_nocase(word, "n") ||
			 str_is_nocase(word, "no"))
			answer = 0;
		else
			fputs("Please answer y or n.\n", stderr);
	}
	buf_release(&line);
	return answer;
}

static int on_approve(void *arg, const struct part *call, enum approval *answer,
		      struct buf *reason, const struct stop *stop,
		      struct error *err)
{
	struct chat *c = arg;
	struct buf early;
	int said;

	*answer = APPROVE_YES;
	if (run_needs_no_question(c->run, call))
		return 0;
	*answer = APPROVE_NO;
	set_aside(c, &early);
	if (show_call(call)) {
		said = ask(c);
	} else {
		said = 0;
		fputs("(too long to be shown: not allowed)\n", stderr);
		buf_addf(reason,
			 "The call of %s is too long to be shown to the user, "
			 "who has to approve it.",
			 call->name);
	}
	put_back(c, &early);
	if (said > 0)
		*answer = APPROVE_YES;
	return said < 0 ? stop_check(stop, err) : 0;
}

/* true when the program shall end. */
static bool ends_chat(enum err code)
{
	return code == ERR_GONE || app_signal() == SIGTERM ||
	       app_signal() == SIGHUP || app_signal() == SIGQUIT;
}

/* One prompt to its answer; false when the chat is over. */
static bool turn(struct chat *c, const char *prompt)
{
	struct app *app = c->run->app;
	struct stop stop = app_stop(app);
	struct error err = { 0 };
	bool over = false;
	int rc = agent_run(&c->run->agent, prompt, &stop, &err);

	(void)plain_end(&c->plain);
	if (rc < 0 && err.code == ERR_CANCELLED)
		fputs("Interrupted\n", stderr);
	else if (rc < 0)
		(void)app_fail(app, &err);
	else
		run_remark(c->run);
	over = (rc < 0 && ends_chat(err.code)) || c->plain.failed;
	if (!over)
		app_signal_clear(app);
	return !over;
}

/* Ctrl-C at the prompt: the first empties the line, the second leaves. */
static bool interrupted(struct chat *c)
{
	if (c->armed || ends_chat(ERR_NONE)) {
		fputc('\n', stderr);
		return true;
	}
	c->armed = true;
	buf_clear(&c->typed);
	app_signal_clear(c->run->app);
	fputs("\n(Ctrl-C again, Ctrl-D or /quit to leave)\n", stderr);
	return false;
}

static bool is_quit(struct str line)
{
	return str_is_nocase(line, "/quit") || str_is_nocase(line, "/q") ||
	       str_is_nocase(line, "exit");
}

static void slash_help(struct str line)
{
	if (!str_is_nocase(line, "/help"))
		fprintf(stderr, "Unknown command: %.*s\n",
			(int)(line.len < 60 ? line.len : 60), line.ptr);
	fputs("Type a message and Enter. A line that ends in \\ goes on. "
	      "Ctrl-C interrupts.\n/help  this   /quit  leave   /install  a "
	      "provider   /auth  stored keys\n",
	      stderr);
}

/* /install NAME, or /install PACKAGE --package [--yes]. */
static void slash_install(const struct chat *c, struct str rest)
{
	struct install in = { .app = c->run->app };
	struct str word;
	char *name = NULL;
	bool good = true;

	while (str_split(&rest, ' ', &word)) {
		if (!word.len)
			continue;
		if (str_is(word, "--package"))
			in.package = true;
		else if (str_is(word, "--yes") || str_is(word, "--force"))
			in.yes = true;
		else if (str_is(word, "--offline"))
			in.offline = true;
		else if (name || word.ptr[0] == '-')
			good = false;
		else
			name = xstrndup(word.ptr, word.len);
	}
	in.name = name;
	if (!good || !name)
		fputs("Usage: /install NAME [--offline]\n"
		      "       /install PACKAGE --package [--yes] [--offline]\n",
		      stderr);
	else
		(void)install_run(&in);
	fflush(stdout);
	free(name);
}

/* /auth [list | status NAME | set NAME | remove NAME]. */
static void slash_auth(const struct chat *c, struct str rest)
{
	static const char *const bare[] = { "list", NULL };
	char *words[WORDS_MOST + 1] = { NULL };
	struct args args = { 0 };
	struct error err = { 0 };
	struct str word;
	int n = 0;

	while (n < WORDS_MOST && str_split(&rest, ' ', &word))
		if (word.len)
			words[n++] = xstrndup(word.ptr, word.len);
	if (args_parse(&args, command_auth.options, NULL, n ? n : 1,
		       n ? words : (char **)bare, &err) == 0)
		(void)command_auth.run(c->run->app, &args);
	else
		(void)app_fail(c->run->app, &err);
	fflush(stdout);
	args_release(&args);
	for (int i = 0; i < n; i++)
		free(words[i]);
}

static void slash(const struct chat *c, struct str line)
{
	struct str word = { line.ptr, str_find(line, ' ') };

	if (str_is_nocase(word, "/install"))
		slash_install(c, str_skip(line, word.len));
	else if (str_is_nocase(word, "/auth"))
		slash_auth(c, str_skip(line, word.len));
	else
		slash_help(line);
}

/* Is there a line, or the beginning of one, within ms? */
static bool more_typed(const struct chat *c, int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return isatty(STDIN_FILENO) && !c->ended &&
	       (c->typed.len || poll(&p, 1, ms) > 0);
}

/* A message: lines joined where one ends in a backslash, and where they came
 * together, as pasted ones do. What was typed ahead is not pasted. As
 * read_line(). */
static int read_message(struct chat *c, struct buf *message)
{
	bool may_paste = !more_typed(c, 0);

	c->cut = false;
	fputs("\n> ", stderr);
	for (;;) {
		size_t begin = message->len;
		int rc = read_line(c, message);

		if (rc <= 0)
			return rc == 0 && message->len ? 1 : rc;
		c->cut |= message->len - begin >= TERMINAL_LINE &&
			  isatty(STDIN_FILENO);
		if (message->len && message->ptr[message->len - 1] == '\\') {
			message->ptr[message->len - 1] = '\n';
			fputs(". ", stderr);
			continue;
		}
		if (!may_paste || !more_typed(c, PASTE_MS))
			return 1;
		buf_addc(message, '\n');
	}
}

static void say_cut(void)
{
	fprintf(stderr,
		"Not sent: a terminal drops what is beyond %d bytes of a "
		"line.\nBreak the line, or pipe the text: dcode -m \"...\" < "
		"FILE\n",
		TERMINAL_LINE);
}

static int converse(struct chat *c, const char *first)
{
	struct buf message = BUF_INIT(MAX_LINE);
	bool on = !first || turn(c, first);
	int status = 0;

	while (on) {
		struct str line;
		int rc;

		buf_clear(&message);
		rc = read_message(c, &message);
		line = str_trim(buf_str(&message));
		if (rc < 0) {
			on = !interrupted(c);
			status = on ? 0 : 128 + app_signal();
			continue;
		}
		c->armed = false;
		if (rc == 0 || is_quit(line))
			break;
		if (c->cut)
			say_cut();
		else if (str_starts(line, "/"))
			slash(c, line);
		else if (line.len)
			on = turn(c, message.ptr);
	}
	if (!on && !status)
		status = app_signal() ? 128 + app_signal() : 1;
	buf_release(&message);
	return status;
}

int run_chat(struct run *r, const char *first)
{
	struct chat c = { .run = r,
			  .plain = { .chat = true },
			  .typed = BUF_INIT(MAX_LINE) };
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };
	struct buf place = BUF_INIT(1 << 16);
	char *model;
	int status;

	r->ui = (struct agent_ui){ on_event, on_approve, &c };
	if (run_open(r, &stop, &err) < 0) {
		status = app_fail(r->app, &err);
	} else {
		model = run_model_name(r);
		clean_line(str_of(r->box.sandbox.workdir), &place);
		fprintf(stderr,
			"dcode " DCODE_VERSION
			": %s, tools in %s. /help, /quit.\n",
			model, place.len ? place.ptr : "?");
		buf_release(&place);
		free(model);
		status = converse(&c, first);
	}
	run_close(r);
	/* A terminal that goes is an end of input and a signal, in any order.
	 */
	if (!status && ends_chat(ERR_NONE))
		status = 128 + app_signal();
	plain_release(&c.plain);
	buf_release(&c.typed);
	return status;
}
