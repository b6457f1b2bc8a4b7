/* live_send_ahead.c - a message that is sent while the sandbox is being made.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/live/live_ahead.h"
#include "cmd/live/live_impl.h"
#include "cmd/skills/run_skills.h"

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
	if (l->ahead.sent)
		worker_tell_opened(&l->worker);
	return 0;
}

int live_run_ahead(struct live *l, const struct stop *stop, struct error *err)
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

/* It names no file of the sandbox, no picture, no skill. */
static bool is_plain(const struct waiting *m)
{
	struct str text = str_trim(str_of(m->text));
	struct str name;
	struct str rest;

	if (m->kind == JOB_GIVEN)
		return true;
	return m->kind == JOB_PROMPT && !strchr(m->text, '@') &&
	       !strstr(m->text, "[image ") && !strchr("/~\\'\"", *text.ptr) &&
	       !str_starts(text, "file:") &&
	       !run_skills_is_call(text, &name, &rest);
}

void live_send_ahead(struct live *l)
{
	struct live_ahead *a = &l->ahead;

	if (l->state != LIVE_OPENING || l->stopping || l->held || l->over ||
	    a->sent || !l->n_queue || !is_plain(&l->queue[0]))
		return;
	pthread_mutex_lock(&a->lock);
	if (a->listens) {
		live_take_next(l);
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
	l->ahead.sent = false;
	l->unopened = false;
	live_status_opened(l);
	l->state = LIVE_WORKING;
	l->refused = l->armed = false;
	l->calls = 0;
}

void live_return_ahead(struct live *l)
{
	if (!l->ahead.sent)
		return;
	l->ahead.sent = false;
	transcript_end_turn(&l->transcript, clock_ms());
	l->queue = xrealloc(l->queue, l->n_queue + 1, sizeof(*l->queue));
	memmove(l->queue + 1, l->queue, l->n_queue++ * sizeof(*l->queue));
	l->queue[0] = l->now;
	l->now = (struct waiting){ 0 };
	l->held = true;
}
