/* eventq.h - passes agent events from the agent's thread to the screen's. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_EVENTQ_H
#define UI_EVENTQ_H

#include "agent/agent.h"

/* A queued item: the copy of an event, or a notice of the caller. The call of
 * an EVENT_TOOL_OUTPUT has no arguments. */
struct queued {
	struct agent_event event; /* kind 0: the item is a notice */
	int notice;
	void *arg; /* argument of the notice; borrowed */
	/* private: storage for what event points to */
	struct buf text, end, changed;
	struct part call;
	char *workdir;
	struct usage usage;
	struct tool_change change;
	struct subagent_step step; /* of a call's result only */
	struct queued *inner;      /* what step points to; owned, or NULL */
	struct queued *next;
};

/* A queue for any number of writers and one reader. */
struct eventq;

struct eventq *eventq_new(struct error *err); /* NULL with err */
void eventq_free(struct eventq *q);
/* Returns a descriptor that is readable while the queue is not empty. */
int eventq_fd(const struct eventq *q);
/* Copies the event. Text is appended to the previous event if that has the same
 * kind and call. While the queue holds 1 MiB, waits until the reader takes an
 * item or calls eventq_close(). */
void eventq_push(struct eventq *q, const struct agent_event *ev);
/* Appends a notice. Never waits. */
void eventq_notify(struct eventq *q, int notice, void *arg);
/* Returns the oldest item, or NULL. The caller frees it with queued_free(). */
struct queued *eventq_take(struct eventq *q);
void queued_free(struct queued *item);
/* Call when the reader takes no more events: from now on they are dropped and
 * no writer waits. Notices still arrive. */
void eventq_close(struct eventq *q);

#endif
