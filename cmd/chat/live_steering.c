/* live_steering.c - messages that the user sends into the running turn. */
/* SPDX-License-Identifier: MIT */
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
#include <stdlib.h>

#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/message.h"
#include "cmd/session/run.h"

static void show_message(struct live *l, const struct waiting *m)
{
	struct buf text = BUF_INIT(64 << 20);

	/* Masked, because it stays in the terminal's scrollback. */
	buf_adds(&text, message_prefix((enum message_kind)m->kind));
	app_clean(l->run->app, CLEAN_LATER, str_of(m->text), &text);
	transcript_user(&l->transcript, buf_str(&text));
	buf_release(&text);
}

struct waiting live_send_queued(struct live *l, size_t i)
{
	struct waiting m = live_queue_remove(l, i);

	show_message(l, &m);
	live_print(l); /* print the message before its output */
	return m;
}

/* Returns the index of the message to hand over; n_queue if there is none. */
static size_t find_message(const struct live *l)
{
	size_t i = 0;

	while (i < l->n_queue && !live_queue_steers(l, i))
		i++;
	return i;
}

void live_hand_over(struct live *l)
{
	struct live_steering *s = &l->steering;
	size_t i = find_message(l);
	bool found = i < l->n_queue;

	if (found) {
		s->now = live_send_queued(l, i);
		live_set_wait(l, "waiting for the model");
	}
	atomic_store(&s->waits, found);
	worker_answer(&l->worker, found);
}

void live_return_steering(struct live *l)
{
	struct live_steering *s = &l->steering;

	if (!s->now.text)
		return;
	live_queue_insert(l, 0, s->now);
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
				    &why) == 0)
			return 1;
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
