/* eventq.h - agent events on their way from its thread to a screen's. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_EVENTQ_H
#define UI_EVENTQ_H

#include "agent/agent.h"

/* What comes out: a copy of an event, or a notice of the caller's. The call of
 * an EVENT_TOOL_OUTPUT comes without its arguments. */
struct queued {
	struct agent_event event; /* kind 0: it is a notice */
	int notice;
	void *arg; /* of the notice; borrowed */
	/* its own: what event points to */
	struct buf text, end;
	struct part call;
	struct usage usage;
	struct tool_change change;
	struct queued *next;
};

/* Made for any number of writers and one reader. */
struct eventq;

struct eventq *eventq_new(struct error *err); /* NULL with err */
void eventq_free(struct eventq *q);
/* Readable while there is something to take. */
int eventq_fd(const struct eventq *q);
/* Copies the event. Text that follows text of the same kind and call is joined
 * to it. Waits while the queue holds its 1 MiB, until the reader takes some or
 * calls eventq_close(). */
void eventq_push(struct eventq *q, const struct agent_event *ev);
/* A notice takes its turn behind the events, and never waits. */
void eventq_notify(struct eventq *q, int notice, void *arg);
/* The oldest, or NULL; released by the caller with queued_free(). */
struct queued *eventq_take(struct eventq *q);
void queued_free(struct queued *item);
/* The reader takes events no longer: they are dropped from now on, and nobody
 * waits. Notices still arrive. */
void eventq_close(struct eventq *q);

#endif
