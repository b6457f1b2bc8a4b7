/* live_send_ahead.c - a message that is sent while the sandbox is being made.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/early.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/live/live_ahead.h"
#include "cmd/live/live_impl.h"
#include "cmd/skills/run_skills.h"

void live_listen(void *arg, struct early *e)
{
	struct live *l = arg;

	pthread_mutex_lock(&l->ahead.lock);
	l->ahead.early = e;
	pthread_mutex_unlock(&l->ahead.lock);
	if (e)
		eventq_notify(l->events, NOTICE_LISTENS, NULL);
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
	a->sent = a->early && early_send(a->early, l->queue[0].text);
	pthread_mutex_unlock(&a->lock);
	if (!a->sent)
		return;
	live_take_next(l);
	snprintf(a->step, sizeof(a->step), "%s", l->wait);
	live_set_wait(l, "waiting for the model");
}

void live_go_on(struct live *l)
{
	if (!l->ahead.sent)
		return;
	l->ahead.sent = false;
	live_begin_job(l, l->wait);
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
