/* live.c - the chat with a screen: typing goes on while the agent works. */
/* SPDX-License-Identifier: MIT */
/*
 * One thread owns the screen, the worker's thread runs the agent. Begin reading
 * at live_chat() and run_loop_once(). A signal (on_signal()) or the end of
 * input from the terminal (read_keys()) ends the chat. run_loop() then closes
 * the run, and with it the sandbox.
 */
#include "cmd/chat/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/appearance.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/slash.h"
#include "cmd/session/open.h"
#include "cmd/session/skills.h"
#include "model/money.h"

enum {
	READ_BYTES = 1 << 16,
	FRAME_MS = 16, /* at least this long between frames that no key has
			  caused */
	MAX_BACKLOG = 4 << 20,
};

enum {
	FD_KEYS,
	FD_EVENTS,
	FD_PRINTED,
	FD_CANCEL,
	FD_SCREEN,
	FD_OUTPUT, /* the terminal accepts the rest of an unfinished frame */
	N_FDS
};

bool live_can(const struct run *r)
{
	const char *term = getenv("TERM");

	return !r->options.plain && term && term[0] &&
	       strcmp(term, "dumb") != 0 && isatty(STDIN_FILENO) &&
	       isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

/* Updates the progress line and the counts from an agent event. */
static void update_progress(struct live *l, const struct agent_event *ev)
{
	if (turn_event(&l->turn, ev))
		live_set_wait(l, l->turn.doing);
	switch (ev->kind) {
	case EVENT_RESTART:
		if (ev->thought)
			break;
		l->since = clock_ms();
		l->retries_at = ev->wait.ms ? l->since + ev->wait.ms : 0;
		break;
	case EVENT_TERMINAL:
		if (!l->lent && !l->gone)
			(void)tty_write(&l->screen.tty, ev->text);
		break;
	case EVENT_COMPACT:
		if (ev->compact.over)
			l->context = ev->compact.after;
		break;
	case EVENT_TURN:
		if (!ev->usage)
			break;
		usage_sum(&l->usage, ev->usage);
		l->context = ev->usage->input + ev->usage->cache_read +
			     ev->usage->cache_write + ev->usage->output;
		break;
	default:
		break;
	}
}

/* Handles a notice of the worker. While a job is being stopped, its questions
 * are answered at once. */
static void on_notice(struct live *l, const struct queued *item)
{
	switch ((enum worker_notice)item->notice) {
	case NOTICE_DONE:
		live_done(l);
		break;
	case NOTICE_QUESTION:
		if (l->stopping) {
			worker_answer(&l->worker, DIALOG_OPEN);
			break;
		}
		l->asked = item->arg;
		l->asked_at = clock_ms();
		break;
	case NOTICE_WITHDRAWN:
		if (item->arg)
			live_drop_question(l, item->arg);
		break;
	case NOTICE_CHOICE:
		l->asked_choice = item->arg;
		l->asked_at = clock_ms();
		if (l->stopping || (l->asked_choice->gives_way && l->n_queue))
			live_drop_question(l, l->asked_choice);
		break;
	case NOTICE_INQUIRY:
		l->asked_inquiry = item->arg;
		l->asked_at = clock_ms();
		if (l->stopping)
			live_drop_question(l, l->asked_inquiry);
		break;
	case NOTICE_PICK:
		l->asked_at = clock_ms();
		if (l->stopping)
			worker_answer(&l->worker, -1);
		else
			l->asked_pick = item->arg;
		break;
	case NOTICE_LISTENS:
		live_send_ahead(l);
		break;
	case NOTICE_OPENED:
		live_go_on(l);
		worker_answer(&l->worker, 0);
		break;
	case NOTICE_STEERING:
	case NOTICE_STEERED:
		live_hand_over(l, item->notice == NOTICE_STEERED);
		break;
	case NOTICE_SHOWN: /* live_print() was called for each notice */
		worker_answer(&l->worker, 0);
		break;
	case NOTICE_BORROW:
		live_suspend(l);
		l->lent = true;
		worker_answer(&l->worker, 0);
		break;
	case NOTICE_RETURN:
		live_resume(l);
		l->lent = false;
		worker_answer(&l->worker, 0);
		break;
	case NOTICE_JOB:
		live_show_ended(l);
		break;
	case NOTICE_SIDE_JOB:
		side_job_end(&l->clipboard, false);
		side_job_end(&l->listing, false);
		break;
	}
}

/* False while too much output waits for the terminal. Then the agent has to
 * wait. */
static bool has_screen_room(const struct live *l)
{
	return l->gone || screen_backlog(&l->screen) < MAX_BACKLOG;
}

/* Handles queued events and notices, as long as the terminal keeps up. */
static void handle_events(struct live *l)
{
	struct queued *item;

	while (has_screen_room(l) && (item = eventq_take(l->events))) {
		if (item->event.kind) {
			if (!item->event.replayed)
				update_progress(l, &item->event);
			transcript_event(&l->transcript, &item->event,
					 clock_ms());
		} else {
			live_print(l);
			on_notice(l, item);
		}
		queued_free(item);
	}
}

/* Handles a signal: stops the job and, except for Ctrl-C during a job, ends the
 * chat. */
static void on_signal(struct live *l)
{
	int number = app_signal();

	if (!number)
		return;
	if (number != SIGINT) {
		l->over = true;
		l->status = 128 + number;
	} else if (l->state == LIVE_IDLE) {
		l->over = true;
		l->status = 128 + number;
	}
	live_stop_job(l);
}

static bool has_more_typed(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return io_poll(&p, 1, 0) > 0;
}

/* Reads the available keys. Returns true if something may have to be drawn. A
 * terminal delivers a long paste in pieces of 4 KiB; it is shown when it is
 * complete. */
static bool read_keys(struct live *l)
{
	const struct key_sink sink = { live_on_key, l };
	static char chunk[READ_BYTES];
	int64_t until = clock_ms() + FRAME_MS;
	ssize_t n;

	do {
		int64_t now = clock_ms();

		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		l->burst.strict = live_has_question(l);
		if (n > 0)
			paste_burst_feed(&l->burst, &l->keys,
					 (struct str){ chunk, (size_t)n }, now,
					 sink);
		if (now >= until)
			break;
	} while (n > 0 && paste_burst_is_on(&l->burst, &l->keys) &&
		 has_more_typed());
	if (!paste_burst_is_on(&l->burst, &l->keys))
		l->editor.typed_ahead = false;
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		l->gone = l->over = true;
		eventq_close(l->events);
		l->status = l->status ? l->status : 128 + SIGHUP;
		live_stop_job(l);
		return false;
	}
	return !paste_burst_is_on(&l->burst, &l->keys);
}

static int64_t min_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* True if a question waits for a pause in the typing. During a paste it waits
 * for the end of the paste. */
static bool is_question_pending(const struct live *l)
{
	return !paste_burst_is_on(&l->burst, &l->keys) && live_is_asked(l) &&
	       !live_has_question(l);
}

/* Waits until something happens or the screen must change by itself. Events
 * that arrive before the next frame is due wait for it, because a wake-up costs
 * more than an event. */
static void wait_for_any(struct live *l, struct pollfd p[N_FDS], bool drawn,
			 int64_t frame)
{
	bool watches = !l->stopping && l->state != LIVE_CLOSING;
	int64_t until = min_time(live_redraw_at(l),
				 min_time(keys_deadline(&l->keys),
					  paste_burst_deadline(&l->burst)));
	bool draws = !l->lent && !l->gone;
	bool hears = has_screen_room(l) && (drawn || !draws);
	int64_t ms;

	/* While another program has the terminal, it gets the keys, and nothing
	 * is drawn. Events wait while the screen is behind, so that a fast
	 * command does not fill memory. */
	p[FD_SCREEN].fd = p[FD_OUTPUT].fd = -1;
	if (draws)
		until = min_time(until, screen_wait(&l->screen, p + FD_SCREEN));
	if (!drawn && draws)
		until = min_time(until, frame + FRAME_MS);
	until = min_time(until, live_notify_at(l));
	until = min_time(until, live_cap_at(l));
	if (l->letter.c)
		until = min_time(until, l->letter.at);
	if (is_question_pending(l))
		until = min_time(until, l->typed + LIVE_QUIET_MS);
	ms = until == INT64_MAX ? -1 : until - clock_ms();
	p[FD_KEYS] = (struct pollfd){ .fd = draws ? STDIN_FILENO : -1,
				      .events = POLLIN };
	p[FD_EVENTS] = (struct pollfd){ .fd = hears ? eventq_fd(l->events) : -1,
					.events = POLLIN };
	p[FD_PRINTED] =
		(struct pollfd){ .fd = l->printed.fd, .events = POLLIN };
	p[FD_CANCEL] =
		(struct pollfd){ .fd = watches ? l->run->app->cancel.fd[0] : -1,
				 .events = POLLIN };
	(void)poll(p, N_FDS, ms < 0 && until != INT64_MAX ? 0 : (int)ms);
}

/* Composes the window's title: "* dcode: question". */
static void compose_title(const struct live *l, struct buf *out)
{
	const char *sign = "";
	const char *state = "";

	if (live_is_asked(l)) {
		sign = l->theme.ascii ? "* " : "\u2733 ";
		state = ": question";
	} else if (l->state != LIVE_IDLE) {
		sign = l->theme.ascii ? "> " : "\u25CF ";
		state = ": working";
	}
	buf_addf(out, "%s%s%s", sign, l->notify.name, state);
}

/* Updates the title of the window and the progress in its tab. */
static void update_title(struct live *l)
{
	struct live_notify *n = &l->notify;
	enum tty_progress progress = live_is_asked(l) ? TTY_PROGRESS_WAITS
				     : l->state != LIVE_IDLE
					     ? TTY_PROGRESS_BUSY
					     : TTY_PROGRESS_NONE;
	struct buf title = BUF_INIT(TTY_TITLE_MOST - 1);

	if (!n->titles)
		return;
	compose_title(l, &title);
	if (strcmp(n->title, title.ptr) != 0) {
		snprintf(n->title, sizeof(n->title), "%s", title.ptr);
		tty_set_title(&l->screen.tty, buf_str(&title));
	}
	buf_release(&title);
	if (n->shows_progress && n->progress != progress) {
		n->progress = progress;
		tty_set_progress(&l->screen.tty, progress);
	}
}

/* Draws the screen, and once more if the terminal was resized meanwhile. */
static void draw_screen(struct live *l)
{
	bool resized = false;

	update_title(l);
	for (int i = 0; i < 2; i++) {
		transcript_width(&l->transcript, screen_columns(&l->screen));
		live_print(l);
		live_draw(l);
		if (screen_flush(&l->screen, &resized) < 0 || !resized)
			break;
	}
}

/* Handles keys that have waited long enough for more. Returns true if there
 * were any. */
static bool time_out_keys(struct live *l, int64_t now)
{
	const struct key_sink sink = { live_on_key, l };
	bool due = now >= paste_burst_deadline(&l->burst) ||
		   now >= keys_deadline(&l->keys);

	paste_burst_timeout(&l->burst, &l->keys, now, sink);
	keys_timeout(&l->keys, now, sink);
	return due;
}

/* One round of the loop: waits, handles keys, events and timers, and draws. */
static void run_loop_once(struct live *l, bool *drawn, int64_t *frame)
{
	struct pollfd p[N_FDS] = { 0 };
	bool typed = false;
	int64_t now;

	wait_for_any(l, p, *drawn, *frame);
	on_signal(l);
	if (p[FD_KEYS].revents)
		typed = read_keys(l);
	handle_events(l);
	now = clock_ms();
	typed = time_out_keys(l, now) || typed;
	live_watch_cap(l);
	live_update_question(l, now);
	live_notify_question(l, now);
	*drawn = typed || p[FD_SCREEN].revents || p[FD_OUTPUT].revents ||
		 now - *frame >= FRAME_MS;
	if (l->gone) {
		/* The terminal is gone. Drain the pipe so that no writer
		 * blocks. */
		printed_read(&l->printed, &l->text);
		buf_clear(&l->text);
	}
	if (!*drawn || l->lent || l->gone)
		return;
	draw_screen(l);
	*frame = now;
}

/* Asks about the sandbox, or closes the run, on the worker's thread. */
static void run_closing(struct live *l, bool offers, bool *drawn,
			int64_t *frame)
{
	l->offers = offers;
	l->state = LIVE_CLOSING;
	live_set_wait(l, !l->unopened && l->run->box.ours
				 ? "leaving the sandbox"
				 : "leaving");
	worker_run(&l->worker, live_job_close, l);
	while (l->state == LIVE_CLOSING)
		run_loop_once(l, drawn, frame);
}

/* The user does not want to leave: the chat goes on. */
static void return_to_chat(struct live *l)
{
	l->over = l->stays = l->left = l->leaves = false;
	l->armed = l->stopping = false;
	l->held = l->n_queue > 0;
	app_signal_clear(l->run->app);
}

/* Runs until the chat is over, then closes the run on the worker's thread. */
static void run_loop(struct live *l)
{
	bool drawn = false;
	int64_t frame = 0;

	for (;;) {
		while (!l->over || l->state == LIVE_OPENING ||
		       l->state == LIVE_WORKING)
			run_loop_once(l, &drawn, &frame);
		side_job_end(&l->listing, true); /* it uses the run */
		if (l->status)
			break;
		run_closing(l, true, &drawn, &frame);
		/* A signal that came meanwhile ends the chat. */
		if (!l->stays || l->status || l->gone)
			break;
		return_to_chat(l);
	}
	live_say_unsent(l);
	run_closing(l, false, &drawn, &frame);
}

/* Reads [ui] keys. */
static void load_keys(struct live *l)
{
	struct error err = { 0 };
	const char *keys = NULL;

	if (settings_string(l->run->app->settings, NULL, "ui.keys", &keys,
			    &err) < 0) {
		(void)app_fail(l->run->app, &err);
		return;
	}
	l->vi.on = keys && !strcmp(keys, "vi");
	if (keys && !l->vi.on && strcmp(keys, "emacs") != 0)
		app_warn("[ui] keys = \"%.40s\": use \"emacs\" or \"vi\"",
			 keys);
}

/* Reads [ui] status_line. */
static int load_status_line(struct live *l, struct error *err)
{
	const char *const *names;
	size_t n;

	if (settings_list(l->run->app->settings, NULL, "ui.status_line", &names,
			  &n, err) < 0)
		return -1;
	return status_order_read(&l->status_order, names, n, err);
}

/* Opens the screen, the output pipe and the worker. On failure nothing stays
 * open except the event queue. */
static int open_live(struct live *l, struct error *err)
{
	size_t output_lines;

	appearance_load(l->run->app, &l->theme, &output_lines);
	live_notify_load(l);
	load_keys(l);
	if (load_status_line(l, err) < 0)
		return -1;
	l->events = eventq_new(err);
	if (!l->events)
		return -1;
	l->worker.events = l->events;
	if (screen_open(&l->screen, STDIN_FILENO, STDOUT_FILENO, &l->theme,
			err) < 0)
		return -1;
	/* What is in the terminal's queue now was typed while dcode started. */
	l->editor.typed_ahead = has_more_typed();
	if (printed_open(&l->printed, err) < 0 ||
	    worker_start(&l->worker, err) < 0) {
		printed_close(&l->printed);
		screen_close(&l->screen);
		return -1;
	}
	transcript_init(&l->transcript, &l->theme, screen_columns(&l->screen));
	l->transcript.look.lines = output_lines;
	snprintf(l->prompt, sizeof(l->prompt), "%s ",
		 theme_glyph(&l->theme, GLYPH_PROMPT));
	l->editor.prompt = str_of(l->prompt);
	l->completer.n_commands = slash_list(
		l->run->app, l->run->skills ? &l->run->skills->all : NULL,
		&l->commands);
	l->completer.commands = l->commands;
	l->completer.list_files = live_list_files;
	l->completer.list_arguments = live_list_arguments;
	l->completer.context = l;
	l->editor.prompt_style = (struct style){ ATTR_BOLD, STYLE_ACCENT };
	return 0;
}

/* Ends the worker, restores the terminal and frees the state. */
static void close_live(struct live *l)
{
	worker_stop(&l->worker);
	handle_events(l);
	side_job_end(&l->clipboard, true);
	live_suspend(l);
	printed_close(&l->printed);
	screen_close(&l->screen);
	transcript_release(&l->transcript);
	editor_release(&l->editor);
	paste_burst_release(&l->burst);
	vi_release(&l->vi);
	history_search_release(&l->search);
	prompt_history_release(&l->history);
	complete_release(&l->completer);
	free(l->commands);
	free(l->lists_arguments);
	asker_release(&l->asker);
	dialog_close(&l->dialog);
	inquiry_dialog_close(&l->inquiry);
	rows_release(&l->live);
	buf_release(&l->text);
	buf_release(&l->told);
	buf_release(&l->arguments);
	for (size_t i = 0; i < l->n_queue; i++)
		free(l->queue[i].text);
	free(l->queue);
	free(l->now.text);
	free(l->steering.now.text);
	live_status_release(l);
}

int live_chat(struct run *r, const char *first)
{
	struct live l = { .run = r,
			  .text = BUF_INIT(LIVE_MAX_PRINTED),
			  .told = BUF_INIT(MESSAGE_MAX_TOLD),
			  .arguments = BUF_INIT(COMPLETE_BYTES) };
	struct app_terminal terminal = { worker_borrow_terminal,
					 worker_return_terminal, &l.worker,
					 &l.theme };
	const struct app_asker asker = { live_choose, &l };
	struct error err = { 0 };
	int status;

	mem_keep_little();
	pthread_mutex_init(&l.ahead.lock, NULL);
	pthread_cond_init(&l.ahead.changed, NULL);
	if (open_live(&l, &err) < 0) {
		eventq_free(l.events);
		return app_fail(r->app, &err);
	}
	r->ui = (struct agent_ui){ live_on_event, live_on_approve, &l,
				   true,          live_inquire,    true,
				   true };
	l.asker = (struct asker){ .run = r, .ask = live_ask, .arg = &l };
	r->pick = live_pick;
	r->promises = r->defers = true;
	r->opened = live_on_opened;
	r->came = live_on_came;
	r->on_job_end = live_on_job_end;
	slash_set_questions(r);
	r->steering = live_steering_of(&l);
	r->app->terminal = &terminal;
	r->app->asker = &asker;
	r->theme = &l.theme;
	r->show_thinking = &l.transcript.show_thinking;
	app_signal_output(l.printed.real[1]);
	live_status_begin(&l);
	live_say(&l, (struct style){ ATTR_BOLD, STYLE_PLAIN },
		 "dcode " DCODE_VERSION "  /help, /quit");
	live_open(&l);
	if (first)
		live_submit_prompt(&l, first);
	run_loop(&l);
	status = l.status;
	r->app->terminal = NULL;
	r->app->asker = NULL;
	if (l.run != r)
		next_free(l.run);
	r->theme = NULL;
	app_signal_output(STDERR_FILENO);
	close_live(&l);
	pthread_mutex_destroy(&l.ahead.lock);
	pthread_cond_destroy(&l.ahead.changed);
	eventq_free(l.events);
	return status;
}
