/* live_queue.c - messages that wait for their turn, and the job that runs. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/live/live_impl.h"
#include "cmd/slash/slash.h"

static const char *prefix_of(const struct waiting *m)
{
	return message_prefix((enum message_kind)m->kind);
}

static void append(struct live *l, enum message_kind kind, const char *text)
{
	l->queue = xrealloc(l->queue, l->n_queue + 1, sizeof(*l->queue));
	l->queue[l->n_queue++] = (struct waiting){
		(enum job_kind)kind,
		xstrdup(text + strlen(message_prefix(kind)))
	};
}

void live_submit(struct live *l, char *text)
{
	l->held = false;
	if (slash_is(str_of(text), "/quit") &&
	    (l->state != LIVE_IDLE || l->unopened)) {
		l->over = true;
		live_stop_job(l);
	} else if (live_run_at_once(l, text)) {
		/* done */
	} else if (str_trim(str_of(text)).len) {
		append(l, message_classify(str_of(text)), text);
	}
	free(text);
	live_next(l);
}

void live_submit_prompt(struct live *l, const char *text)
{
	append(l, MESSAGE_GIVEN, text);
	live_next(l);
}

static void show_message(struct live *l, const struct waiting *m)
{
	struct buf text = BUF_INIT(64 << 20);

	/* It stays in the terminal's scrollback. */
	buf_adds(&text, prefix_of(m));
	mask_text(l->run->app->mask, str_of(m->text), &text);
	transcript_user(&l->transcript, buf_str(&text));
	buf_release(&text);
}

/* The job that is now. */
static void begin_job(struct live *l, const char *wait)
{
	char text[sizeof(l->wait)];

	snprintf(text, sizeof(text), "%s", wait); /* it may be l->wait */
	l->state = LIVE_WORKING;
	l->stopping = l->refused = l->armed = false;
	l->calls = 0;
	l->err = (struct error){ 0 };
	live_set_wait(l, text);
	l->began = l->since;
	worker_run(&l->worker, live_job_run, l);
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
	worker_run(&l->worker, live_job_open, l);
}

void live_list_files(void *arg)
{
	struct live *l = arg;

	l->lists_files = l->state != LIVE_IDLE || l->n_queue || l->unopened;
	if (l->lists_files || l->over)
		return;
	free(l->now.text);
	l->now = (struct waiting){ .kind = JOB_FILES };
	begin_job(l, "listing files");
}

void live_list_arguments(void *arg, struct str command)
{
	struct live *l = arg;
	char *name;

	if (!slash_has_arguments(command) || l->over)
		return;
	name = xstrndup(command.ptr, command.len);
	if (l->state != LIVE_IDLE || l->n_queue || l->unopened) {
		free(l->lists_arguments);
		l->lists_arguments = name;
		return;
	}
	free(l->now.text);
	l->now = (struct waiting){ .kind = JOB_ARGUMENTS, .text = name };
	begin_job(l, "listing");
}

void live_ask_cap(struct live *l)
{
	free(l->now.text);
	l->now = (struct waiting){ .kind = JOB_CAP };
	begin_job(l, "asking about the cap");
}

/* What completion asked for while something ran. */
static void list_later(struct live *l)
{
	char *command = l->lists_arguments;

	if (l->lists_files)
		live_list_files(l);
	if (l->state != LIVE_IDLE || !command)
		return;
	l->lists_arguments = NULL;
	live_list_arguments(l, str_of(command));
	free(command);
}

static bool asks_model(enum job_kind kind)
{
	return kind == JOB_PROMPT || kind == JOB_GIVEN;
}

void live_take_next(struct live *l)
{
	free(l->now.text);
	l->now = l->queue[0];
	memmove(l->queue, l->queue + 1, --l->n_queue * sizeof(*l->queue));
	show_message(l, &l->now);
	live_print(l); /* before what it prints */
}

void live_next(struct live *l)
{
	if (l->state == LIVE_IDLE && !l->n_queue && !l->unopened)
		list_later(l);
	live_send_ahead(l);
	if (l->state != LIVE_IDLE || !l->n_queue || l->held || l->over)
		return;
	if (l->unopened) {
		live_open(l);
		return;
	}
	live_take_next(l);
	begin_job(l, asks_model(l->now.kind) ? "waiting for the model"
					     : "running");
}

bool live_take_back(struct live *l)
{
	struct waiting *last;
	struct buf draft = BUF_INIT(64 << 20);

	if (!l->n_queue)
		return false;
	last = &l->queue[--l->n_queue];
	buf_adds(&draft, prefix_of(last));
	buf_adds(&draft, last->text);
	if (!editor_is_empty(&l->editor)) {
		buf_addc(&draft, '\n');
		editor_text(&l->editor, &draft);
	}
	editor_set(&l->editor, buf_str(&draft));
	free(last->text);
	buf_release(&draft);
	return true;
}

void live_stop_job(struct live *l)
{
	if (l->state == LIVE_IDLE || l->stopping)
		return;
	l->stopping = true;
	l->held = l->n_queue > 0;
	cancel_trigger(&l->run->app->cancel);
	if (l->asked)
		live_withdraw_question(l);
	live_drop_inquiry(l);
	live_drop_choice(l);
	live_drop_pick(l);
	live_set_wait(l, "stopping");
}
