/* live_jobs.c - jobs and queued messages in the chat with a screen. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: the lists that commands let the user choose from,
 * commands that run at once, background jobs that end, the message that is sent
 * while the sandbox is created, the worker's jobs, messages into the running
 * turn, the queue and /queue, the cap on the cost (--max-usd), and the end of a
 * job.
 *
 * Begin reading at live_submit(), live_next() and live_done(). A message goes
 * from live_submit() to the queue. live_next() starts it as a job on the
 * worker's thread, where run_job() passes a prompt to message_run()
 * (message.c).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/message.h"
#include "cmd/chat/slash.h"
#include "cmd/session/money.h"
#include "cmd/session/open.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/skills.h"
#include "cmd/session/transfer.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/sandbox.h"
#include "term/rows.h"

enum {
	SHOWN_BYTES = 1 << 20,
	QUEUED_CELLS = 200, /* shown of a message by /queue */
};

int live_pick(void *arg, const struct pick *p)
{
	struct live *l = arg;

	return p->n ? worker_pick(&l->worker, p) : -1;
}

static void close_picker(struct live *l)
{
	selection_list_release(&l->picker);
	l->picking = false;
	complete_update(&l->completer, &l->editor);
}

void live_open_pick(struct live *l, int64_t now)
{
	const struct pick *p = l->asked_pick;

	if (p->opens)
		p->opens(p->view->arg);
	selection_list_open(&l->picker, str_of(p->title), p->items, p->n,
			    p->selected);
	selection_list_set_view(&l->picker, p->view);
	l->picker.takes_typed = p->typed;
	l->picking = true;
	l->focused = false;
	l->opened = now;
}

static void answer_pick(struct live *l, int chosen)
{
	const struct pick *p = l->asked_pick;

	if (p->closed)
		p->closed(p->view->arg, chosen);
	l->asked_pick = NULL;
	worker_answer(&l->worker, chosen);
}

/* The job was stopped: returns -1 to the command that asked for a choice. */
static void cancel_pick(struct live *l)
{
	if (!l->asked_pick)
		return;
	if (l->picking)
		close_picker(l);
	answer_pick(l, -1);
}

void live_on_picker(struct live *l, const struct key_event *ev)
{
	enum selection_result result = selection_list_event(&l->picker, ev);
	int chosen = -1;

	if (result != SELECTION_CHOSEN && result != SELECTION_CANCELLED)
		return;
	if (result == SELECTION_CHOSEN)
		chosen = (int)selection_list_chosen(&l->picker);
	if (chosen == (int)l->asked_pick->n)
		buf_addstr(l->asked_pick->typed, l->picker.typed.name);
	close_picker(l);
	answer_pick(l, chosen);
}

static void print_echo(struct live *l, const char *text)
{
	char *line =
		xasprintf("%s %s", theme_glyph(&l->theme, GLYPH_PROMPT), text);

	live_print(l);
	live_say(l, (struct style){ ATTR_BOLD, STYLE_USER }, line);
	free(line);
}

/* True if a sandbox exists and no job opens, changes or leaves it. */
static bool has_sandbox(const struct live *l)
{
	return !l->unopened && !l->late &&
	       (l->state == LIVE_IDLE ||
		(l->state == LIVE_WORKING && l->now.kind != JOB_SLASH));
}

/* True while the run's subagents can be read: they are neither being loaded nor
 * closed. */
static bool is_open(const struct live *l)
{
	return !l->unopened &&
	       (l->state == LIVE_IDLE || l->state == LIVE_WORKING);
}

/* Shows the manual page for "/help TOPIC". Returns false if there is none. */
static bool show_topic(struct live *l, struct str line, const char *text)
{
	struct str word = str_trim(str_skip(line, str_find(line, ' ')));
	char *topic = xstrndup(word.ptr, word.len);
	const struct manual_page *page = manual_find(topic);

	free(topic);
	if (!page)
		return false;
	print_echo(l, text);
	elsewhere_show_page(l, page);
	live_print(l);
	return true;
}

/* Runs a command that does not have to wait. Returns false for any other text.
 */
static bool run_immediate_command(struct live *l, const char *text)
{
	struct str line = str_trim(str_of(text));
	struct buf shown = BUF_INIT(SHOWN_BYTES);
	bool done;

	if (message_classify(line) != MESSAGE_SLASH ||
	    (l->state == LIVE_WORKING && l->now.kind == JOB_SLASH &&
	     slash_is(l->run->app, str_of(l->now.text), "/reload")))
		return false; /* /reload is replacing the settings */
	if ((slash_needs_sandbox(l->run->app, line) && !has_sandbox(l)) ||
	    (slash_is(l->run->app, line, "/agents") && !is_open(l)))
		return false;
	if (slash_is(l->run->app, line, "/editor")) {
		elsewhere_edit(l);
		return true;
	}
	if (slash_is(l->run->app, line, "/help") && show_topic(l, line, text))
		return true;
	done = slash_show(l->run, line, screen_columns(&l->screen), &shown);
	if (done) {
		print_echo(l, text);
		if (shown.len)
			live_say(l, (struct style){ 0, STYLE_MUTED },
				 shown.ptr);
		live_print(l);
	}
	buf_release(&shown);
	return done;
}

/* Copies the approval mode of the old run, where it may have changed since the
 * new run was opened. A mode that allows more is not copied to a run on this
 * machine, or to a run where the user has just declined it. */
static void copy_mode(struct run *now, const struct run *was)
{
	if (mode_allows_more((enum run_mode)now->mode,
			     (enum run_mode)was->mode) ||
	    (!sandbox_acts_on_host(&now->box.sandbox) && !now->declined))
		now->mode = was->mode;
}

/* Puts a message before what is being written. */
static void put_into_draft(struct live *l, const char *prefix, const char *text)
{
	struct buf draft = BUF_INIT(64 << 20);

	buf_adds(&draft, prefix);
	buf_adds(&draft, text);
	if (!editor_is_empty(&l->editor)) {
		buf_addc(&draft, '\n');
		editor_text(&l->editor, &draft);
	}
	editor_set(&l->editor, buf_str(&draft));
	l->editor.recalled = true;
	buf_release(&draft);
}

/* Call after each command, which may have replaced the run or its thread. */
static void update_run(struct live *l)
{
	struct run *was = l->run;

	if (was->next) {
		l->run = was->next;
		l->asker.run = l->run;
		copy_mode(l->run, was);
		next_free(was);
	}
	if (l->run->switched != l->switched) {
		l->context = 0;
		call_menu_close(&l->calls_menu);
		call_log_clear(&l->transcript.log);
	}
	l->switched = l->run->switched;
	l->usage = l->run->agent.usage;
	l->late = run_is_late(l->run);
	if (l->run->draft)
		put_into_draft(l, "", l->run->draft);
	free(l->run->draft);
	l->run->draft = NULL;
}

void live_on_job_end(void *arg)
{
	struct live *l = arg;

	eventq_notify(l->events, NOTICE_JOB, NULL);
}

static void show_end(void *arg, const struct job_state *job)
{
	struct live *l = arg;
	struct buf line = BUF_INIT(1 << 16);

	jobs_describe_end(job, &line);
	transcript_event(
		&l->transcript,
		&(struct agent_event){ .kind = EVENT_JOB,
				       .text = buf_str(&line),
				       .failed = jobs_has_failed(job) },
		clock_ms());
	buf_release(&line);
}

void live_show_ended(struct live *l)
{
	/* When the chat ends, its run may already be closed. */
	if (l->state != LIVE_IDLE || l->over)
		return;
	jobs_show_ended(l->run->box.sandbox.jobs, show_end, l);
	live_print(l);
}

void live_on_came(void *arg)
{
	struct live *l = arg;

	pthread_mutex_lock(&l->ahead.lock);
	pthread_cond_broadcast(&l->ahead.changed);
	pthread_mutex_unlock(&l->ahead.lock);
}

int live_on_opened(void *arg, struct error *err)
{
	struct live *l = arg;

	(void)err;
	if (l->ahead.sent || l->late)
		worker_tell(&l->worker, NOTICE_OPENED);
	return 0;
}

/* Runs on the worker's thread while the run's sandbox is being created: runs a
 * message that is sent meanwhile, or waits for the sandbox. */
static int run_early_message(struct live *l, const struct stop *stop,
			     struct error *err)
{
	struct live_ahead *a = &l->ahead;
	struct run *r = l->run;
	bool sent;

	pthread_mutex_lock(&a->lock);
	a->listens = true;
	eventq_notify(l->events, NOTICE_LISTENS, NULL);
	while (!a->sent && !run_promise_ended(r))
		pthread_cond_wait(&a->changed, &a->lock);
	a->listens = false;
	sent = a->sent;
	pthread_mutex_unlock(&a->lock);
	if (!sent)
		return run_await(r, err);
	return message_run(r, (enum message_kind)l->now.kind, l->now.text,
			   &l->told, stop, err);
}

static void queue_insert(struct live *l, size_t at, struct waiting m)
{
	l->queue = xrealloc(l->queue, l->n_queue + 1, sizeof(*l->queue));
	memmove(l->queue + at + 1, l->queue + at,
		(l->n_queue++ - at) * sizeof(*l->queue));
	l->queue[at] = m;
}

/* Removes message i; the caller owns it. */
static struct waiting queue_remove(struct live *l, size_t i)
{
	struct waiting m = l->queue[i];

	memmove(l->queue + i, l->queue + i + 1,
		(--l->n_queue - i) * sizeof(*l->queue));
	return m;
}

static void show_message(struct live *l, const struct waiting *m)
{
	struct buf text = BUF_INIT(64 << 20);

	/* Masked, because it stays in the terminal's scrollback. */
	buf_adds(&text, message_prefix((enum message_kind)m->kind));
	app_clean(l->run->app, CLEAN_LATER, str_of(m->text), &text);
	transcript_user(&l->transcript, buf_str(&text));
	buf_release(&text);
	live_print(l); /* print the message before its output */
}

/* Moves the first queued message to l->now and shows it. */
static void dequeue_message(struct live *l)
{
	free(l->now.text);
	l->now = queue_remove(l, 0);
	show_message(l, &l->now);
	turn_begin(&l->turn, live_meter(l), clock_ms());
}

void live_send_ahead(struct live *l)
{
	struct live_ahead *a = &l->ahead;

	if (l->state != LIVE_OPENING || l->stopping || l->held || l->over ||
	    a->sent || !l->n_queue ||
	    !message_is_plain((enum message_kind)l->queue[0].kind,
			      l->queue[0].text))
		return;
	pthread_mutex_lock(&a->lock);
	if (a->listens) {
		dequeue_message(l);
		a->sent = true;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	if (!a->sent)
		return;
	snprintf(a->step, sizeof(a->step), "%s", l->wait);
	live_set_wait(l, "waiting for the model");
}

void live_go_on(struct live *l)
{
	if (l->late) {
		l->late = false;
		live_status_refresh(l);
		if (l->lists_files)
			live_list_files(l);
		return;
	}
	l->ahead.sent = false;
	l->unopened = false;
	live_status_opened(l);
	l->state = LIVE_WORKING;
	l->refused = l->armed = false;
	if (l->lists_files)
		live_list_files(l);
}

/* The opening was interrupted: puts the message back at the front of the queue.
 */
static void requeue_early_message(struct live *l)
{
	if (!l->ahead.sent)
		return;
	l->ahead.sent = false;
	l->returned = true;
	transcript_end_turn(&l->transcript, clock_ms());
	queue_insert(l, 0, l->now);
	l->now = (struct waiting){ 0 };
	l->held = true;
}

/* Opens the run on the worker's thread; arg is the struct live. */
static int open_run(void *arg)
{
	struct live *l = arg;
	struct run *r = l->run;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };
	bool again = l->reopens;
	struct store *store;

	/* A message that was sent ahead is sent again, in a new thread. */
	if (l->returned && r->session && !r->thread.id)
		session_discard(r->session);
	l->returned = false;
	l->reopens = true;
	if (chat_open(r, again, &stop, &l->err) < 0 ||
	    startup_run(r, &stop, &l->err) < 0)
		return -1;
	if (run_is_promised(r) && !run_is_late(r))
		return run_early_message(l, &stop, &l->err);
	/* A message is stored before it is sent. Open the database now, so that
	 * the first message need not wait for it. */
	(void)app_store(r->app, &store, &ignored);
	return 0;
}

void live_on_event(void *arg, const struct agent_event *ev)
{
	struct live *l = arg;

	run_note_event(l->run, ev);
	eventq_push(l->events, ev);
	if (ev->kind == EVENT_REPLAYED)
		worker_tell(&l->worker, NOTICE_SHOWN);
}

int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err)
{
	struct live *l = arg;

	return ask_approval(&l->asker, a, stop, err);
}

enum dialog_answer live_ask(void *arg, struct question *q,
			    const struct stop *stop)
{
	struct live *l = arg;

	return (enum dialog_answer)worker_ask(&l->worker, q, stop);
}

/* Runs l->now on the worker's thread. */
static int run_job(void *arg)
{
	struct live *l = arg;
	struct stop stop = app_stop(l->run->app);

	switch (l->now.kind) {
	case JOB_ARGUMENTS:
		buf_clear(&l->arguments);
		slash_list_arguments(l->run, str_of(l->now.text),
				     &l->arguments);
		return 0;
	case JOB_CAP:
		return slash_raise_idle(l->run, &l->err);
	case JOB_SLASH:
		l->left = !slash_run(l->run, str_of(l->now.text), &l->told);
		return 0;
	default:
		return message_run(l->run, (enum message_kind)l->now.kind,
				   l->now.text, &l->told, &stop, &l->err);
	}
}

int live_job_close(void *arg)
{
	struct live *l = arg;

	if (l->offers) {
		l->stays = !chat_ask_exit(l->run, true);
		return 0;
	}
	if (run_download(l->run, &l->err) < 0)
		l->failed = app_fail(l->run->app, &l->err);
	chat_close(l->run);
	return 0;
}

/*
 * While the agent works, Enter queues a message that steers: after the calls of
 * an answer have run, the agent takes it (agent.steering) and sends it together
 * with their results. A message queued with Tab waits for the end of the turn.
 * If a turn ends before it has taken a message, the message is the next prompt.
 *
 * The queue belongs to the screen's thread. So the worker asks for a message,
 * in take_message(), and live_hand_over() answers. A message that was handed
 * over but not stored, because the user interrupted, returns to the queue.
 */

/* Returns the index of the message to hand over; n_queue if there is none. */
static size_t find_message(const struct live *l)
{
	size_t i = 0;

	while (i < l->n_queue && !live_queue_steers(l, i))
		i++;
	return i;
}

void live_hand_over(struct live *l, bool prepared)
{
	struct live_steering *s = &l->steering;
	size_t i = find_message(l);
	bool found = i < l->n_queue;

	if (prepared) {
		show_message(l, &s->now);
		worker_answer(&l->worker, 0);
		return;
	}
	if (found) {
		s->now = queue_remove(l, i);
		live_set_wait(l, "waiting for the model");
	}
	atomic_store(&s->waits, found);
	worker_answer(&l->worker, found);
}

/* The job has ended: puts a message that was not sent back into the queue. */
static void return_steering(struct live *l)
{
	struct live_steering *s = &l->steering;

	if (!s->now.text)
		return;
	queue_insert(l, 0, s->now);
	s->now = (struct waiting){ 0 };
	l->held = l->held || l->stopping;
}

static void settle_message(void *arg)
{
	struct live *l = arg;

	free(l->steering.now.text);
	l->steering.now = (struct waiting){ 0 };
}

/* Implements agent_steering.take. A message that cannot be sent, such as one
 * with an unknown skill, is reported, and the turn continues. */
static int take_message(void *arg, struct buf *prompt, const struct stop *stop,
			struct error *err)
{
	struct live *l = arg;
	const struct live_steering *s = &l->steering;

	while (atomic_load(&s->waits) && worker_steer(&l->worker)) {
		struct error why = { 0 };

		if (message_prepare(l->run, s->now.text, &l->told, prompt, stop,
				    &why) == 0) {
			/* only now, because a message that cannot be prepared
			 * is not sent */
			worker_tell(&l->worker, NOTICE_STEERED);
			return 1;
		}
		if (why.code == ERR_CANCELLED || chat_ends(why.code)) {
			*err = why;
			return -1;
		}
		(void)app_fail(l->run->app, &why);
		settle_message(l);
		buf_clear(prompt);
	}
	return 0;
}

struct agent_steering live_steering_of(struct live *l)
{
	return (struct agent_steering){ take_message, settle_message, l };
}

/* Appends the first line of a message, masked, since it stays in the terminal's
 * scrollback. */
static void add_message(struct live *l, const struct waiting *m,
			struct buf *out)
{
	struct buf clean = BUF_INIT(64 << 20);
	struct str text = str_trim(str_of(m->text));
	size_t end;
	size_t fits;

	app_clean(l->run->app, CLEAN_LATER, text, &clean);
	text = buf_str(&clean);
	end = str_find(text, '\n');
	fits = width_prefix((struct str){ text.ptr, end }, QUEUED_CELLS);
	buf_adds(out, message_prefix((enum message_kind)m->kind));
	buf_add(out, text.ptr, fits);
	if (fits < text.len)
		buf_adds(out, " ...");
	if (end < text.len)
		buf_addf(out, " (%zu lines)", str_count_lines(text));
	buf_release(&clean);
}

static void list_messages(struct live *l, struct buf *out)
{
	if (!l->n_queue) {
		buf_adds(out, "No message is queued.\n");
		return;
	}
	for (size_t i = 0; i < l->n_queue; i++) {
		buf_addf(out, "%zu  ", i + 1);
		add_message(l, &l->queue[i], out);
		buf_addc(out, '\n');
	}
	buf_adds(out, "/queue drop N drops one, /queue clear drops all.\n");
}

static void drop_message(struct live *l, size_t i)
{
	free(queue_remove(l, i).text);
	l->held = l->held && l->n_queue;
	/* It may have been a command that messages behind it waited for. */
	atomic_store(&l->steering.waits, l->n_queue > 0);
}

static void clear_queue(struct live *l, struct buf *out)
{
	size_t n = l->n_queue;

	while (l->n_queue)
		drop_message(l, l->n_queue - 1);
	buf_addf(out, "%zu queued message%s dropped.\n", n, n == 1 ? "" : "s");
}

/* Drops message number n, counted from 1. */
static void drop_number(struct live *l, struct str number, struct buf *out)
{
	int64_t n;

	if (!str_to_int(number, &n) || n < 1 || (size_t)n > l->n_queue) {
		buf_adds(out, "No queued message has this number: ");
		buf_addstr(out, number);
		buf_addf(out, ". There are %zu.\n", l->n_queue);
		return;
	}
	buf_adds(out, "Dropped: ");
	add_message(l, &l->queue[n - 1], out);
	buf_addc(out, '\n');
	drop_message(l, (size_t)n - 1);
}

/* /queue lists the queued messages and drops them. Dropped messages stay in the
 * history. Returns false if line is another command. */
static bool answer_queue(struct live *l, struct str line, struct buf *out)
{
	struct str rest;
	struct str word;

	line = str_trim(line);
	if (!slash_is(l->run->app, line, "/queue"))
		return false;
	rest = str_trim(str_skip(line, message_first_word(line).len));
	word = message_first_word(rest);
	if (!rest.len)
		list_messages(l, out);
	else if (str_is(rest, "clear"))
		clear_queue(l, out);
	else if (str_is(word, "drop"))
		drop_number(l, str_trim(str_skip(rest, word.len)), out);
	else
		buf_adds(out, "Use /queue, /queue clear or /queue drop N.\n");
	return true;
}

/* Runs /queue, which does not start the queue. Returns false for any other
 * text. */
static bool run_queue_command(struct live *l, const char *text)
{
	struct buf shown = BUF_INIT(SHOWN_BYTES);
	bool done = message_classify(str_of(text)) == MESSAGE_SLASH &&
		    answer_queue(l, str_of(text), &shown);

	if (done) {
		print_echo(l, text);
		live_say(l, (struct style){ 0, STYLE_MUTED }, shown.ptr);
		live_print(l);
	}
	buf_release(&shown);
	return done;
}

/* Adds a message; text is with the prefix of its kind. later: it waits for the
 * end of the turn, and messages that steer go before it. */
static void add_waiting(struct live *l, enum message_kind kind,
			const char *text, bool later)
{
	struct waiting m = {
		.kind = (enum job_kind)kind,
		.text = xstrdup(text + strlen(message_prefix(kind))),
		.steers = kind == MESSAGE_PROMPT && !later &&
			  live_queue_can_steer(l),
		.later = kind == MESSAGE_PROMPT && later,
		.number = ++l->numbered,
	};
	size_t at = l->n_queue;

	while (m.steers && at && l->queue[at - 1].later)
		at--;
	queue_insert(l, at, m);
	if (m.steers)
		atomic_store(&l->steering.waits, true);
}

void live_leave(struct live *l)
{
	if (l->n_queue && !l->leaves) {
		l->leaves = true;
		return;
	}
	l->over = true;
	live_stop_job(l);
}

/* Handles /quit. If messages are queued, puts it back into the draft: the user
 * confirms it with Enter. */
static void leave_by_command(struct live *l, const char *text)
{
	live_leave(l);
	if (!l->over)
		editor_set(&l->editor, str_of(text));
}

void live_say_unsent(struct live *l)
{
	struct buf text = BUF_INIT(SHOWN_BYTES);

	for (size_t i = 0; i < l->n_queue; i++) {
		buf_adds(&text, i ? "\n  "
				  : "Not sent (Up finds it in the "
				    "next chat):\n  ");
		add_message(l, &l->queue[i], &text);
	}
	if (l->n_queue)
		live_say(l, (struct style){ 0, STYLE_WARN }, text.ptr);
	buf_release(&text);
}

void live_submit(struct live *l, char *text, bool later)
{
	if (run_queue_command(l, text)) {
		free(text);
		return;
	}
	if (slash_is(l->run->app, str_of(text), "/quit") &&
	    (l->state != LIVE_IDLE || l->unopened || l->n_queue)) {
		leave_by_command(l, text);
	} else if (run_immediate_command(l, text)) {
		l->held = false;
	} else if (str_trim(str_of(text)).len) {
		l->held = false;
		add_waiting(l, message_classify(str_of(text)), text, later);
		if (l->asked_choice && l->asked_choice->gives_way)
			live_drop_question(l, l->asked_choice);
		/* the user does not wait for what completion lists */
		if (l->state == LIVE_WORKING && l->now.kind == JOB_ARGUMENTS)
			cancel_trigger(&l->run->app->cancel);
	}
	free(text);
	live_next(l);
}

void live_submit_prompt(struct live *l, const char *text)
{
	add_waiting(l, MESSAGE_GIVEN, text, false);
	live_next(l);
}

/* Starts l->now on the worker's thread. */
static void start_job(struct live *l, const char *wait)
{
	char text[sizeof(l->wait)];

	/* wait may point to l->wait, so copy it first. */
	snprintf(text, sizeof(text), "%s", wait);
	l->state = LIVE_WORKING;
	l->stopping = l->refused = l->armed = false;
	l->err = (struct error){ 0 };
	live_set_wait(l, text);
	l->began = l->since;
	worker_run(&l->worker, run_job, l);
}

void live_open(struct live *l)
{
	l->state = LIVE_OPENING;
	l->unopened = true;
	l->ahead.sent = false;
	l->stopping = l->armed = false;
	l->err = (struct error){ 0 };
	live_set_wait(l, "getting ready");
	l->began = l->since;
	worker_run(&l->worker, open_run, l);
}

static int run_listing(void *arg, struct buf *out, const struct stop *stop,
		       struct error *err)
{
	struct live *l = arg;

	return mention_list(l->run, l->lists_ignored, out, stop, err);
}

/* A listing that failed is nothing to the user. One for an earlier word, with
 * the files that git ignores or without them, is not what this word needs. */
static void on_listing(void *arg, struct side_job *j)
{
	struct live *l = arg;

	if (l->lists_ignored == l->completer.ignored)
		complete_set_files(&l->completer, buf_str(&j->out));
	else
		l->completer.asked = false;
	complete_update(&l->completer, &l->editor);
}

void live_list_files(void *arg)
{
	struct live *l = arg;
	const struct side_job j = { .run = run_listing,
				    .arg = l,
				    .done = on_listing,
				    .out = BUF_INIT(COMPLETE_BYTES),
				    .events = l->events };
	struct error ignored = { 0 };

	l->lists_files = !has_sandbox(l);
	if (l->lists_files || l->over || l->listing)
		return;
	l->lists_ignored = l->completer.ignored;
	l->listing = side_job_start(&j, &ignored);
}

/* Call before a command runs. */
static void stop_listing(struct live *l)
{
	l->lists_files = l->lists_files || l->listing;
	side_job_end(&l->listing, true);
}

void live_list_arguments(void *arg, struct str command)
{
	struct live *l = arg;
	char *name;

	if (!slash_has_arguments(l->run->app, command) || l->over)
		return;
	name = xstrndup(command.ptr, command.len);
	if (l->state != LIVE_IDLE || l->n_queue || l->unopened) {
		free(l->lists_arguments);
		l->lists_arguments = name;
		return;
	}
	free(l->now.text);
	l->now = (struct waiting){ .kind = JOB_ARGUMENTS, .text = name };
	start_job(l, "listing");
}

/* Starts the listing that completion requested while a job was running. */
static void start_pending_listing(struct live *l)
{
	char *command = l->lists_arguments;

	if (!command)
		return;
	l->lists_arguments = NULL;
	live_list_arguments(l, str_of(command));
	free(command);
}

void live_next(struct live *l)
{
	if (l->lists_files)
		live_list_files(l);
	if (l->state == LIVE_IDLE && !l->n_queue && !l->unopened)
		start_pending_listing(l);
	live_send_ahead(l);
	if (l->state != LIVE_IDLE || !l->n_queue || l->held || l->over)
		return;
	if (l->unopened) {
		live_open(l);
		return;
	}
	dequeue_message(l);
	if (l->now.kind == JOB_SLASH)
		stop_listing(l);
	start_job(l, job_is_prompt(l->now.kind) ? "waiting for the model"
						: "running");
}

/* Returns the index of the message that was typed last. */
static size_t find_newest(const struct live *l)
{
	size_t newest = 0;

	for (size_t i = 1; i < l->n_queue; i++)
		if (l->queue[i].number > l->queue[newest].number)
			newest = i;
	return newest;
}

bool live_take_back(struct live *l)
{
	struct waiting last;

	if (!l->n_queue)
		return false;
	last = queue_remove(l, find_newest(l));
	put_into_draft(l, message_prefix((enum message_kind)last.kind),
		       last.text);
	free(last.text);
	l->held = l->held && l->n_queue;
	return true;
}

void live_stop_job(struct live *l)
{
	if (l->state == LIVE_IDLE || l->stopping)
		return;
	l->stopping = true;
	l->held = l->n_queue > 0;
	cancel_trigger(&l->run->app->cancel);
	live_drop_question(l, NULL);
	cancel_pick(l);
	live_set_wait(l, "stopping");
}

/* True while the screen's thread must watch the cap: no job runs, or the
 * running one waits for an answer. The meter exists only after the opening, and
 * a working job watches the cap itself. */
static bool is_waiting(const struct live *l)
{
	return !l->over && !l->unopened &&
	       (l->state == LIVE_IDLE ||
		(l->state == LIVE_WORKING && live_is_asked(l)));
}

int64_t live_cap_at(const struct live *l)
{
	if (!is_waiting(l))
		return INT64_MAX;
	return l->state == LIVE_IDLE ? run_money_asks_at(l->run)
				     : run_money_ends_at(l->run);
}

static void exit_at_cap(struct live *l)
{
	l->over = true;
	l->status = SLASH_CAP_STATUS;
}

void live_watch_cap(struct live *l)
{
	if (live_cap_at(l) > clock_ms())
		return;
	if (l->state == LIVE_IDLE) {
		free(l->now.text);
		l->now = (struct waiting){ .kind = JOB_CAP };
		start_job(l, "asking about --max-usd");
		return;
	}
	/* A question of the job is still open. Say why the chat ends, unless
	 * that question was about the cap itself. */
	if (l->now.kind != JOB_CAP)
		live_say(l, (struct style){ 0, STYLE_WARN },
			 "Chat ended: the cost of the running sandbox reached "
			 "--max-usd while a question waited for an answer.");
	exit_at_cap(l);
	live_stop_job(l);
}

/* Reports that the opening was interrupted. The user is back at the prompt and
 * keeps the draft. */
static void report_interrupted_open(struct live *l)
{
	live_print(l);
	live_say(l, (struct style){ 0, STYLE_WARN }, CHAT_STOPPED);
	app_signal_clear(l->run->app);
}

/* Handles the end of the opening job: the chat is open, still unopened, or
 * over. */
static void end_opening(struct live *l, int rc)
{
	bool stopped = l->stopping && !l->over && !chat_ends(l->err.code);

	l->state = LIVE_IDLE;
	l->stopping = false;
	if (rc < 0 && stopped) {
		requeue_early_message(l);
		report_interrupted_open(l);
		return;
	}
	if (rc < 0 && l->over && l->err.code == ERR_CANCELLED) {
		/* Not a failure: the user left, which also cancels the opening,
		 * or a signal has ended the chat. */
		if (!app_signal())
			app_signal_clear(l->run->app);
		return;
	}
	if (rc < 0) {
		l->status = app_fail(l->run->app, &l->err);
		l->over = true;
		return;
	}
	l->unopened = false;
	l->late = run_is_late(l->run);
	live_status_opened(l);
	if (stopped) /* the opening finished before it could be stopped */
		app_signal_clear(l->run->app);
}

/* Prints what the turn has taken, after a word: "Done in 12 s, 3 calls". */
static void say_turn(struct live *l, struct style style, const char *what)
{
	struct buf line = BUF_INIT(SHOWN_BYTES);

	turn_add_end(&l->turn, live_meter(l), clock_ms(), what, true, &line);
	live_say(l, style, line.ptr);
	buf_release(&line);
}

/* Prints the lines after an answer: remarks about the run, then its time and
 * cost. */
static void end_answer(struct live *l)
{
	run_remark(l->run);
	live_print(l);
	say_turn(l, (struct style){ 0, STYLE_MUTED }, "Done in");
}

/* Ends a turn that the user has stopped by declining a call. */
static void report_refusal(struct live *l)
{
	struct buf line = BUF_INIT(SHOWN_BYTES);

	if (job_is_prompt(l->now.kind)) {
		turn_add_end(&l->turn, live_meter(l), clock_ms(),
			     "Stopped after", true, &line);
		buf_adds(&line, ". ");
	}
	buf_adds(&line, "Say what to do instead.");
	live_say(l, (struct style){ 0, STYLE_WARN }, line.ptr);
	buf_release(&line);
}

/* The rows above have said already why each attempt failed. */
static void shorten_error(struct live *l)
{
	struct str more = transcript_beyond_retries(&l->transcript,
						    str_of(l->err.message));
	char text[sizeof(l->err.message)];

	if (!more.ptr)
		return;
	snprintf(text, sizeof(text), "gave up%.*s", (int)more.len, more.ptr);
	snprintf(l->err.message, sizeof(l->err.message), "%s", text);
}

/* Reports the reason first, then what the turn has taken. */
static void report_failure(struct live *l)
{
	(void)app_fail(l->run->app, &l->err);
	live_print(l);
	if ((l->err.exact == CASE_FILE_TOO_LARGE ||
	     l->err.exact == CASE_NOT_AN_IMAGE) &&
	    editor_is_empty(&l->editor))
		editor_set(&l->editor, str_of(l->now.text));
	else if (job_is_prompt(l->now.kind))
		say_turn(l, (struct style){ 0, STYLE_MUTED }, "Failed after");
}

/* Handles the end of any other job: reports it, refreshes the status and
 * decides whether the chat is over. */
static void end_work(struct live *l, int rc)
{
	const struct style warn = { 0, STYLE_WARN };

	if (l->now.kind == JOB_ARGUMENTS) {
		complete_set_arguments(&l->completer, str_of(l->now.text),
				       buf_str(&l->arguments));
		complete_update(&l->completer, &l->editor);
	} else {
		/* any other job may have created or deleted files */
		complete_forget(&l->completer);
	}
	/* Do not report a failed or cancelled listing, unless the user stopped
	 * it and queued messages are held because of that. */
	if (rc < 0 && l->now.kind == JOB_ARGUMENTS && !chat_ends(l->err.code) &&
	    !(l->stopping && l->held))
		rc = 0;
	return_steering(l);
	if (rc < 0)
		shorten_error(l);
	transcript_end_turn(&l->transcript, clock_ms());
	live_print(l);
	live_notify_turn(l);
	if (rc < 0 && l->refused)
		report_refusal(l);
	else if (rc < 0 && l->err.code == ERR_CANCELLED &&
		 job_is_prompt(l->now.kind))
		say_turn(l, warn, "Interrupted after");
	else if (rc < 0 && l->err.code == ERR_CANCELLED)
		live_say(l, warn, "Interrupted");
	else if (rc < 0)
		report_failure(l);
	else if (job_is_prompt(l->now.kind))
		end_answer(l);
	if (l->now.kind == JOB_SLASH)
		update_run(l);
	live_status_refresh(l);
	l->state = LIVE_IDLE;
	if (l->left)
		l->over = true;
	if (rc < 0 && l->now.kind == JOB_CAP)
		exit_at_cap(l);
	if (rc < 0 && chat_ends(l->err.code)) {
		l->over = true;
		l->status = app_signal() ? 128 + app_signal() : 1;
	} else if (!app_signal() || app_signal() == SIGINT) {
		/* Ctrl-C ended this job only; SIGTERM and SIGHUP end the
		 * chat. */
		app_signal_clear(l->run->app);
	}
	l->stopping = false;
}

void live_done(struct live *l)
{
	int rc = l->worker.result;

	switch (l->state) {
	case LIVE_OPENING:
		end_opening(l, rc);
		break;
	case LIVE_WORKING:
		end_work(l, rc);
		break;
	default:
		l->status = l->status ? l->status : l->failed;
		l->state = LIVE_IDLE;
		break;
	}
	live_show_ended(l);
	live_next(l);
}
