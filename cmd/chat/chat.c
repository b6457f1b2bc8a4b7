/* chat.c - the chat without a screen: a conversation, line by line. */
/* SPDX-License-Identifier: MIT */
/*
 * run_chat() chooses between this chat and the one with a screen (live.c).
 * Begin reading at chat_in_lines(): open_chat() opens the run,
 * run_conversation() reads and runs messages, and what follows closes the run.
 * While the run is being opened and while a message runs, a thread
 * (watch_terminal()) reads what is typed: /quit and Ctrl-D end an opening at
 * once, and Ctrl-C loses no message, because the terminal drops on it what
 * nobody has read.
 */
#include "cmd/chat/chat.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "cmd/chat/ask_lines.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/live.h"
#include "cmd/chat/message.h"
#include "cmd/chat/slash.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/external.h"
#include "cmd/print.h"
#include "cmd/session/money.h"
#include "cmd/session/open.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/transfer.h"
#include "ui/progress/turn.h"
#include "ui/streams.h"

enum {
	/* Bytes of a line. Linux's n_tty drops the rest. */
	TERMINAL_LINE = 4095,
	PASTE_MS = 20,  /* lines that arrive closer together are one paste */
	WATCH_MS = 200, /* between looks at a terminal that another reads */
};

struct chat {
	struct run *run;
	struct plain plain;
	struct turn turn;
	struct chat_input input;
	struct choice_lines choices;
	struct approve approve;
	struct asker asker;
	struct buf told; /* text that the model gets with the next prompt */
	/* The line that goes into the running turn, until it is stored. */
	struct buf steering;
	bool cut;          /* the terminal dropped the end of a long line */
	bool left;         /* the user left with /quit */
	bool armed;        /* Ctrl-C was pressed once at an empty prompt */
	const char *first; /* unsent message of -m or a pipe, or NULL */
	bool over;         /* the chat ends after the first message */
	/* Watches what is typed while the main thread does not read it. */
	pthread_t watch;
	struct cancel unwatch; /* ends the watch */
	bool watches;
	_Atomic bool opening; /* the run is being opened */
	_Atomic bool leaves;  /* /quit or Ctrl-D was typed during the opening */
	/* Held during a question. A host is asked about on another thread. */
	pthread_mutex_t questions; /* recursive */
};

static void on_event(void *arg, const struct agent_event *ev)
{
	struct chat *c = arg;

	run_note_event(c->run, ev);
	(void)turn_event(&c->turn, ev);
	plain_event(&c->plain, ev);
}

/* Converts a time to chat_input.until, where 0 means no deadline. */
static int64_t wait_until(int64_t at)
{
	return at == INT64_MAX ? 0 : at;
}

static int on_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err)
{
	struct chat *c = arg;
	int64_t asked = clock_ms();
	int rc;

	pthread_mutex_lock(&c->questions);
	c->input.until = wait_until(run_money_ends_at(c->run));
	rc = ask_approval(&c->asker, a, stop, err);
	pthread_mutex_unlock(&c->questions);
	c->turn.waited += clock_ms() - asked;
	return rc;
}

static int on_inquiry(void *arg, struct inquiry *q, enum inquiry_end *end,
		      const struct stop *stop, struct error *err)
{
	struct chat *c = arg;
	int64_t asked = clock_ms();
	int rc;

	pthread_mutex_lock(&c->questions);
	c->input.until = wait_until(run_money_ends_at(c->run));
	rc = chat_inquire(&c->input, q, end, stop, err);
	pthread_mutex_unlock(&c->questions);
	c->turn.waited += clock_ms() - asked;
	return rc;
}

/* Implements app_asker.choose. A question that can be withdrawn comes from
 * another thread. */
static int on_choose(void *arg, const struct app_question *q, struct error *err)
{
	struct chat *c = arg;
	int64_t asked = clock_ms();
	int answer = -1;

	pthread_mutex_lock(&c->questions);
	if (!q->stop || stop_check(q->stop, err) == 0)
		answer = choice_ask_lines(&c->choices, q, err);
	pthread_mutex_unlock(&c->questions);
	if (!q->stop)
		c->turn.waited += clock_ms() - asked;
	return answer;
}

static void init_questions(struct chat *c)
{
	pthread_mutexattr_t recursive;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&c->questions, &recursive);
	pthread_mutexattr_destroy(&recursive);
}

/* Prints what the turn has taken: "Done in 12 s, 3 calls, 3.2K tokens". */
static void print_turn(const struct chat *c, const char *what)
{
	struct buf line = BUF_INIT(1 << 10);

	turn_add_end(&c->turn, c->run->app->meter, clock_ms(), what, true,
		     &line);
	output_line(buf_str(&line));
	buf_release(&line);
}

/* Reports how a message ended. Returns false when the chat is over. */
static bool end_turn(struct chat *c, enum message_kind kind, int rc,
		     const struct error *err)
{
	struct app *app = c->run->app;
	bool asks = kind == MESSAGE_PROMPT || kind == MESSAGE_GIVEN;
	bool stopped = rc < 0 && err->code == ERR_CANCELLED;
	bool over = false;

	if (rc == 0 && asks)
		run_remark(c->run);
	if (rc < 0 && !stopped)
		(void)app_fail(app, err);
	if (asks)
		print_turn(c, stopped  ? "Interrupted after"
			      : rc < 0 ? "Failed after"
				       : "Done in");
	else if (stopped)
		fputs("Interrupted\n", stderr);
	over = (rc < 0 && chat_ends(err->code)) || c->plain.failed;
	if (!over)
		app_signal_clear(app);
	return !over;
}

/* True if a line that is typed now is for the chat: it runs in the foreground,
 * no editor is open, and no program reads a password. */
static bool has_terminal(const struct chat *c)
{
	struct termios mode;

	return !c->run->app->lent && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
	       tcgetattr(STDIN_FILENO, &mode) == 0 && (mode.c_lflag & ECHO);
}

/* True if the terminal's input is for another reader now. */
static bool is_for_another(struct chat *c)
{
	bool asks;

	pthread_mutex_lock(&c->input.lock);
	asks = c->input.asks;
	pthread_mutex_unlock(&c->input.lock);
	return asks || !has_terminal(c);
}

/* Reads what was typed, unless a question is open. Returns false at the end of
 * input. */
static bool read_early_lines(struct chat *c)
{
	struct chat_input *in = &c->input;
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char chunk[4096];
	ssize_t n = 1;

	pthread_mutex_lock(&in->lock);
	while (n > 0 && !in->asks && has_terminal(c) && io_poll(&p, 1, 0) > 0) {
		n = io_read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&in->typed, chunk, (size_t)n);
	}
	if (n == 0)
		in->ended = true;
	pthread_mutex_unlock(&in->lock);
	return n != 0;
}

/* Moves the first line that was typed to line, if it is complete and a message.
 * A command, and what follows it, waits for the end of the turn; so does a line
 * that goes on in the next one. */
static bool take_early_line(struct chat *c, struct buf *line)
{
	struct chat_input *in = &c->input;
	bool taken = false;

	(void)read_early_lines(c);
	pthread_mutex_lock(&in->lock);
	while (!taken && !in->asks) {
		struct str first = buf_str(&in->typed);
		size_t end = str_find(first, '\n');
		bool waits;

		if (end == first.len)
			break;
		first.len = end;
		waits = message_classify(first) != MESSAGE_PROMPT ||
			message_is_command(str_trim(first)) ||
			str_ends(first, "\\") || first.len >= TERMINAL_LINE;
		if (waits)
			break;
		taken = str_trim(first).len > 0;
		if (taken)
			buf_addstr(line, first);
		buf_consume(&in->typed, end + 1);
	}
	pthread_mutex_unlock(&in->lock);
	return taken;
}

/* A message that cannot be sent, such as one with an unknown skill, is
 * reported, and the turn continues. */
static int report_unsent(struct chat *c, struct buf *prompt,
			 const struct error *why, struct error *err)
{
	if (why->code == ERR_CANCELLED || chat_ends(why->code)) {
		*err = *why;
		return -1;
	}
	(void)app_fail(c->run->app, why);
	buf_clear(&c->steering);
	buf_clear(prompt);
	return 0;
}

/* Implements agent_steering.take: what was typed while the agent works goes
 * into the running turn. */
static int take_line(void *arg, struct buf *prompt, const struct stop *stop,
		     struct error *err)
{
	struct chat *c = arg;
	struct buf shown = BUF_INIT(4 * CHAT_MAX_LINE);
	struct error why = { 0 };
	int rc = 0;

	buf_clear(&c->steering);
	if (isatty(STDIN_FILENO) && take_early_line(c, &c->steering)) {
		buf_adds(&shown, "Sent into the running turn: ");
		app_clean(c->run->app, CLEAN_LATER, buf_str(&c->steering),
			  &shown);
		rc = 1;
		if (message_prepare(c->run, c->steering.ptr, &c->told, prompt,
				    stop, &why) < 0)
			rc = report_unsent(c, prompt, &why, err);
		else
			output_line(buf_str(&shown));
	}
	buf_release(&shown);
	return rc;
}

static void settle_line(void *arg)
{
	struct chat *c = arg;

	buf_clear(&c->steering);
}

/* The turn has ended: puts back a message that was not sent. */
static void return_line(struct chat *c)
{
	struct buf all = BUF_INIT(CHAT_MAX_LINE);

	if (!c->steering.len)
		return;
	pthread_mutex_lock(&c->input.lock);
	buf_addf(&all, "%s\n", c->steering.ptr);
	buf_addstr(&all, buf_str(&c->input.typed));
	buf_release(&c->input.typed);
	c->input.typed = all;
	buf_clear(&c->steering);
	pthread_mutex_unlock(&c->input.lock);
}

/* True if the user has typed /quit or Ctrl-D, and no message before that. */
static bool wants_to_leave(struct chat *c)
{
	struct chat_input *in = &c->input;
	bool leaves = false;

	pthread_mutex_lock(&in->lock);
	if (!in->asks) { /* else the question's reader has the input */
		struct str first = buf_str(&in->typed);

		first.len = str_find(first, '\n');
		leaves = !in->typed.len ? in->ended
					: first.len < in->typed.len &&
						  slash_is(c->run->app, first,
							   "/quit");
	}
	pthread_mutex_unlock(&in->lock);
	return leaves;
}

/* The watch's thread: cancels the opening if the user leaves. */
static void *watch_terminal(void *arg)
{
	struct chat *c = arg;
	const struct stop stop = stop_on(&c->unwatch);
	struct error ignored = { 0 };
	bool on = true;

	while (on && stop_check(&stop, &ignored) == 0) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = c->unwatch.fd[0], .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0 || p[1].revents)
			continue;
		/* A closed terminal also raises SIGHUP. */
		if (p[0].revents & ~POLLIN)
			break;
		on = read_early_lines(c);
		if (c->opening && wants_to_leave(c)) {
			c->leaves = true;
			cancel_trigger(&c->run->app->cancel);
			break;
		}
		if (is_for_another(c))
			(void)stop_sleep(&stop, WATCH_MS, &ignored);
	}
	return NULL;
}

/* Does nothing while a watch runs. Without a thread, /quit and Ctrl-D wait for
 * the end of an opening, and Ctrl-C drops the lines that wait. */
static void begin_watch(struct chat *c)
{
	struct error ignored = { 0 };

	if (c->watches || !isatty(STDIN_FILENO) || c->input.ended ||
	    cancel_init(&c->unwatch, &ignored) < 0)
		return;
	c->watches = thread_start(&c->watch, watch_terminal, c, &ignored) == 0;
	if (!c->watches)
		cancel_release(&c->unwatch);
}

static void end_watch(struct chat *c)
{
	if (!c->watches)
		return;
	cancel_trigger(&c->unwatch);
	pthread_join(c->watch, NULL);
	cancel_release(&c->unwatch);
	c->watches = false;
}

/* Sends or runs a message; text is with the prefix of its kind. */
static int send_message(struct chat *c, enum message_kind kind,
			const char *text, const struct stop *stop,
			struct error *err)
{
	int rc;

	turn_begin(&c->turn, c->run->app->meter, clock_ms());
	begin_watch(c);
	rc = message_run(c->run, kind, text + strlen(message_prefix(kind)),
			 &c->told, stop, err);
	end_watch(c);
	/* a question about a host has been withdrawn; wait for its reader */
	pthread_mutex_lock(&c->questions);
	return_line(c);
	pthread_mutex_unlock(&c->questions);
	(void)plain_end(&c->plain);
	return rc;
}

/* Runs one message, until the answer or the user's command is complete. Returns
 * false when the chat is over. */
static bool run_turn(struct chat *c, enum message_kind kind, const char *text)
{
	struct stop stop = app_stop(c->run->app);
	struct error err = { 0 };
	int rc = send_message(c, kind, text, &stop, &err);

	return end_turn(c, kind, rc, &err);
}

/* Ctrl-C at the prompt: the first one clears the line, the second leaves.
 * Returns true to leave. */
static bool handle_interrupt(struct chat *c)
{
	if (c->armed || chat_ends(ERR_NONE)) {
		fputc('\n', stderr);
		return true;
	}
	c->armed = true;
	buf_clear(&c->input.typed);
	app_signal_clear(c->run->app);
	fputs("\n(Ctrl-C again, Ctrl-D or /quit to leave)\n", stderr);
	return false;
}

/* The idle sandbox will soon cost as much as the cap allows: asks whether to go
 * on. Returns false when the chat is over. */
static bool handle_cap(struct chat *c)
{
	struct error err = { 0 };

	fputc('\n', stderr);
	if (slash_raise_idle(c->run, &err) == 0)
		return true;
	(void)app_fail(c->run->app, &err);
	return false;
}

/* Reads a message. Joins lines that end in a backslash, and lines that arrive
 * together, because those were pasted. Lines that were typed before the prompt
 * appeared are not joined. A slash command is always one line: more lines would
 * become its arguments and be dropped. Returns the same values as
 * chat_read_line(). */
static int read_message(struct chat *c, struct buf *message)
{
	bool may_paste = !chat_more_typed(&c->input, 0);

	c->cut = false;
	c->input.until = wait_until(run_money_asks_at(c->run));
	fputs("\n> ", stderr);
	for (;;) {
		size_t begin = message->len;
		int rc = chat_read_line(&c->input, message);

		if (rc <= 0)
			return rc == 0 && message->len ? 1 : rc;
		c->cut |= message->len - begin >= TERMINAL_LINE &&
			  isatty(STDIN_FILENO);
		if (message->len && message->ptr[message->len - 1] == '\\') {
			message->ptr[message->len - 1] = '\n';
			fputs(". ", stderr);
			continue;
		}
		if (!may_paste ||
		    message_is_command(str_trim(buf_str(message))) ||
		    !chat_more_typed(&c->input, PASTE_MS))
			return 1;
		buf_addc(message, '\n');
	}
}

static void report_cut(void)
{
	fprintf(stderr,
		"Not sent: the terminal cuts lines after %d bytes.\nSplit the "
		"line, or pipe the text: dcode -m \"...\" < FILE\n",
		TERMINAL_LINE);
}

static bool run_line(struct chat *c, struct str text);

/* Lets the user write a message in an external editor, and sends it when the
 * editor exits. Returns false when the chat is over. */
static bool edit_message(struct chat *c)
{
	const struct external x = { c->run->app, STDOUT_FILENO, STDERR_FILENO };
	struct buf text = BUF_INIT(EXTERNAL_MOST);
	struct buf shown = BUF_INIT(EXTERNAL_MOST);
	struct error err = { 0 };
	bool on = true;

	if (external_edit(&x, ".md", STR(""), &text, &err) < 0) {
		(void)app_fail(c->run->app, &err);
	} else if (!str_trim(buf_str(&text)).len) {
		fputs("Nothing sent: the message is empty.\n", stderr);
	} else {
		sanitize_text(str_trim(buf_str(&text)), &shown);
		fprintf(stderr, "> %s\n", shown.ptr);
		on = run_line(c, str_trim(buf_str(&text)));
	}
	buf_release(&text);
	buf_release(&shown);
	return on;
}

/* True if the slash command is one of the shell, which may read the terminal
 * itself: a key, or the changes to apply. */
static bool is_shell_command(const struct app *app, struct str line)
{
	const struct slash_command *s = app->slash;

	while (s->name && !slash_is(app, line, s->name))
		s++;
	return s->command;
}

/* Runs a slash command, which may replace the run. Returns false when the chat
 * is over. */
static bool run_slash(struct chat *c, struct str line)
{
	struct run *was = c->run;
	bool on;

	if (slash_is(was->app, line, "/editor"))
		return edit_message(c);
	/* Ctrl-C drops what the terminal has, but not what was read. */
	if (!is_shell_command(was->app, line))
		begin_watch(c);
	on = slash_run(was, line, &c->told);
	end_watch(c);
	c->left = !on;
	if (was->next) {
		c->run = c->asker.run = was->next;
		next_free(was);
	}
	if (app_signal() == SIGINT)
		app_signal_clear(c->run->app);
	return on && !chat_ends(ERR_NONE);
}

/* Runs a slash command or sends a message; text is not empty. Returns false
 * when the chat is over. */
static bool run_line(struct chat *c, struct str text)
{
	char *copy;
	bool on;

	if (message_is_command(str_trim(text)))
		return run_slash(c, str_trim(text));
	copy = xstrndup(text.ptr, text.len);
	on = run_turn(c, message_classify(text), copy);
	free(copy);
	return on;
}

static int on_pick(void *arg, const struct pick *p)
{
	struct chat *c = arg;

	c->input.until = wait_until(run_money_ends_at(c->run));
	return choose_line(p, &c->input);
}

static void print_banner(const struct chat *c)
{
	struct run *r = c->run;
	struct buf line = BUF_INIT(1 << 16);
	char *model = run_model_name(r);
	size_t head;

	buf_addf(&line, "dcode " DCODE_VERSION ": %s, tools in ", model);
	head = line.len;
	sanitize_line(str_of(r->box.sandbox.workdir), &line);
	run_mounts(r, &line);
	buf_adds(&line,
		 line.len > head ? ". /help, /quit." : "?. /help, /quit.");
	output_line(buf_str(&line));
	buf_release(&line);
	free(model);
}

static int on_opened(void *arg, struct error *err)
{
	struct chat *c = arg;

	(void)err;
	if (!c->opening)
		return 0; /* a late sandbox: the banner is above */
	c->opening = false;
	print_banner(c);
	c->plain.whole_lines = false;
	return 0;
}

/* Sends the first message while the sandbox is being created. Returns -1 if
 * creating it failed. */
static int send_first(struct chat *c, const struct stop *stop,
		      struct error *err)
{
	int rc = send_message(c, MESSAGE_GIVEN, c->first, stop, err);

	if (!run_has_come(c->run))
		return -1;
	c->first = NULL;
	c->over = !end_turn(c, MESSAGE_GIVEN, rc, err);
	return 0;
}

/* Opens the run. Sends the first message if the sandbox is still being created,
 * else runs the startup command. */
static int open_watched(struct chat *c, bool again, struct error *err)
{
	struct stop stop = app_stop(c->run->app);

	c->plain.whole_lines = isatty(STDOUT_FILENO);
	if (chat_open(c->run, again, &stop, err) < 0)
		return -1;
	if (run_is_promised(c->run) && !run_is_late(c->run))
		return send_first(c, &stop, err);
	print_banner(c);
	c->plain.whole_lines = false;
	return startup_run(c->run, &stop, err);
}

/* Like open_watched(). Returns 1 if the user left meanwhile. */
static int open_once(struct chat *c, bool again, struct error *err)
{
	int rc;

	c->opening = true;
	begin_watch(c);
	rc = open_watched(c, again, err);
	end_watch(c);
	c->opening = false;
	if ((!c->leaves && !c->input.quits) || app_signal())
		return rc;
	app_signal_clear(c->run->app);
	return 1;
}

/* Opens the run. After Ctrl-C the user is at the prompt, and the next message
 * (appended to next) starts the opening again. Returns 1 if the user left. */
static int open_chat(struct chat *c, struct buf *next, struct error *err)
{
	struct app *app = c->run->app;
	bool again = false;
	int rc;

	while ((rc = open_once(c, again, err)) < 0) {
		if (err->code != ERR_CANCELLED || app_signal() != SIGINT ||
		    !isatty(STDIN_FILENO))
			return -1;
		again = true;
		*err = (struct error){ 0 };
		app_signal_clear(app);
		fputs(CHAT_STOPPED "\n", stderr);
		buf_clear(next);
		while ((rc = read_message(c, next)) < 0)
			if (handle_interrupt(c))
				return 1;
		c->armed = false;
		if (rc == 0 || slash_is(app, buf_str(next), "/quit"))
			return 1;
	}
	return rc;
}

/* Reads and runs messages until the chat is over. next: the message that was
 * typed after an interrupted opening, or empty. Returns the exit status. */
static int run_conversation(struct chat *c, struct str next)
{
	struct buf message = BUF_INIT(CHAT_MAX_LINE);
	bool on =
		!c->over && (!c->first || run_turn(c, MESSAGE_GIVEN, c->first));
	int status = 0;

	if (on && str_trim(next).len)
		on = run_line(c, next);
	while (on && !c->input.quits) {
		struct str line;
		int rc;

		buf_clear(&message);
		rc = read_message(c, &message);
		line = str_trim(buf_str(&message));
		if (rc < 0 && !app_signal() &&
		    run_money_asks_at(c->run) <= clock_ms()) {
			on = handle_cap(c);
			status = on ? 0 : SLASH_CAP_STATUS;
			continue;
		}
		if (rc < 0) {
			on = !handle_interrupt(c);
			status = on ? 0 : 128 + app_signal();
			continue;
		}
		c->armed = false;
		if (rc == 0)
			break;
		if (c->cut)
			report_cut();
		else if (line.len)
			on = run_line(c, buf_str(&message));
	}
	if (!on && !status && !c->left)
		status = app_signal() ? 128 + app_signal() : 1;
	buf_release(&message);
	return status;
}

/* The user does not want to leave: the chat goes on. Returns the exit status.
 */
static int return_to_chat(struct chat *c)
{
	app_signal_clear(c->run->app);
	c->left = c->over = c->armed = false;
	c->input.quits = c->input.ended = false;
	c->first = NULL;
	return run_conversation(c, STR(""));
}

/* Prints the lines that were typed but not sent, at the end of the chat. */
static void print_unsent(struct chat *c)
{
	struct app *app = c->run->app;
	struct str rest = str_trim(buf_str(&c->input.typed));
	struct buf shown = BUF_INIT(4 * CHAT_MAX_LINE);
	struct str line;

	if (c->leaves &&
	    slash_is(app, (struct str){ rest.ptr, str_find(rest, '\n') },
		     "/quit"))
		(void)str_split(&rest, '\n', &line);
	if (rest.len && isatty(STDIN_FILENO)) {
		buf_adds(&shown, "Not sent:");
		while (str_split(&rest, '\n', &line)) {
			buf_adds(&shown, "\n  ");
			app_clean(app, CLEAN_LINE, line, &shown);
		}
		output_line(buf_str(&shown));
	}
	buf_release(&shown);
}

/* Runs the chat without a screen from opening to end. Returns the exit status.
 */
static int chat_in_lines(struct run *r, const char *first)
{
	struct chat c = { .run = r,
			  .told = BUF_INIT(MESSAGE_MAX_TOLD),
			  .steering = BUF_INIT(CHAT_MAX_LINE),
			  .input = { .cancel = &r->app->cancel,
				     .lock = PTHREAD_MUTEX_INITIALIZER,
				     .typed = BUF_INIT(CHAT_MAX_LINE) } };
	const struct app_asker asker = { on_choose, &c };
	struct buf next = BUF_INIT(CHAT_MAX_LINE);
	struct error err = { 0 };
	int status = 0;
	int rc;

	init_questions(&c);
	c.choices = (struct choice_lines){ r->app, &c.input };
	c.approve = (struct approve){ .app = r->app, .input = &c.input };
	c.plain.ascii = print_is_ascii(r->app);
	c.plain.guard = &r->app->guard;
	r->app->asker = &asker;
	c.asker = (struct asker){ .run = r,
				  .ask = chat_approve,
				  .arg = &c.approve };
	r->ui = (struct agent_ui){ on_event,   on_approve, &c,   false,
				   on_inquiry, false,      false };
	r->steering = (struct agent_steering){ take_line, settle_line, &c };
	r->pick = on_pick;
	slash_set_questions(r);
	r->promises = first != NULL;
	r->defers = true;
	r->opened = on_opened;
	c.first = first;
	rc = open_chat(&c, &next, &err);
	if (rc < 0 && err.code == ERR_CANCELLED && app_signal())
		status = 128 + app_signal();
	else if (rc < 0)
		status = app_fail(r->app, &err);
	else if (rc == 0)
		status = run_conversation(&c, buf_str(&next));
	else if (app_signal())
		status = 128 + app_signal();
	while (rc == 0 && !status && !chat_ask_exit(c.run, true))
		status = return_to_chat(&c);
	r = c.run;
	print_unsent(&c);
	if (run_download(r, &err) < 0 && !status)
		status = app_fail(r->app, &err);
	chat_close(r);
	if (!status && r->unsaved)
		status = 1;
	next_free(r);
	c.choices.app->asker = NULL;
	c.plain.guard = NULL;
	/* When the terminal is closed, the end of input may be seen before the
	 * signal. */
	if (!status && chat_ends(ERR_NONE))
		status = 128 + app_signal();
	plain_release(&c.plain);
	asker_release(&c.asker);
	buf_release(&c.told);
	buf_release(&c.steering);
	buf_release(&c.input.typed);
	buf_release(&next);
	pthread_mutex_destroy(&c.questions);
	return status;
}

int run_chat(struct run *r, const char *first)
{
	struct app *app = r->app;
	int status;

	r->began = clock_ms();
	app->pictures = pictures_new(getenv("HOME"));
	status = live_can(r) ? live_chat(r, first) : chat_in_lines(r, first);
	pictures_free(app->pictures);
	app->pictures = NULL;
	return status;
}
