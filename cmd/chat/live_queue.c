/* live_queue.c - the messages that wait, and which of them steers the turn. */
/* SPDX-License-Identifier: MIT */
/*
 * The queue belongs to the screen's thread. It is in the order of sending. A
 * message steers if the user sent it with Enter while a turn was running: see
 * live_jobs.c.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/live_state.h"

bool live_queue_can_steer(const struct live *l)
{
	return !l->stopping && !l->over && job_is_prompt(l->now.kind) &&
	       (l->state == LIVE_WORKING ||
		(l->state == LIVE_OPENING && l->ahead.sent));
}

bool live_queue_steers(const struct live *l, size_t i)
{
	if (!l->queue[i].steers || !live_queue_can_steer(l))
		return false;
	/* A command before it, such as "/model", must run first. */
	while (i--)
		if (!job_is_prompt(l->queue[i].kind))
			return false;
	return true;
}

void live_queue_insert(struct live *l, size_t at, struct waiting m)
{
	l->queue = xrealloc(l->queue, l->n_queue + 1, sizeof(*l->queue));
	memmove(l->queue + at + 1, l->queue + at,
		(l->n_queue++ - at) * sizeof(*l->queue));
	l->queue[at] = m;
}

struct waiting live_queue_remove(struct live *l, size_t i)
{
	struct waiting m = l->queue[i];

	memmove(l->queue + i, l->queue + i + 1,
		(--l->n_queue - i) * sizeof(*l->queue));
	return m;
}
