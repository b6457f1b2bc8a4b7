/* live_queue.c - which of the messages that wait steers the turn. */
/* SPDX-License-Identifier: MIT */
/*
 * The queue belongs to the screen's thread. It is in the order of sending. A
 * message steers if the user sent it with Enter while a turn was running: see
 * live_jobs.c.
 */
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
