/* turn.h - what a turn has taken so far: time, calls, tokens and cost. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_PROGRESS_TURN_H
#define UI_PROGRESS_TURN_H

/*
 * The chat and `dcode -n` feed it the agent's events. They show its numbers
 * while the turn runs (turn_add_progress()) and one line at its end
 * (turn_add_end()). Tokens and cost come from the meter, which also counts
 * subagents and compaction. Times are in ms of the caller's clock. Not
 * thread-safe.
 */
#include "agent/agent.h"
#include "model/money.h"

struct turn {
	int64_t began;
	int64_t waited; /* time in which the user was being asked */
	size_t calls;   /* tool calls */
	size_t running; /* tool calls that are running */
	char doing[64]; /* current step: "running execute" */
	size_t arrived; /* bytes of the answer that is being received */
	/* what the meter had counted when the turn began */
	int64_t tokens, cost;
};

/* Begins a turn. m may be NULL: nothing has been counted yet. */
void turn_begin(struct turn *t, struct meter *m, int64_t now);
/* Returns true if a new step begins, which is then in t->doing. */
bool turn_event(struct turn *t, const struct agent_event *ev);
/* Appends "1 min 14 s, 3.2K tokens". m may be NULL: the time alone. The tokens
 * of an answer that is being received are estimated from its length. */
void turn_add_progress(const struct turn *t, struct meter *m, int64_t now,
		       struct buf *out);
/* Appends "Done in 2 min 14 s, 12 calls, 18.0K tokens, $0.09". what: "Done in"
 * or the like. Zero calls, and a cost that is unknown, nothing or not wanted,
 * are left out. The time is without t->waited. The tokens of an answer that was
 * cut are estimated from its length. */
void turn_add_end(const struct turn *t, struct meter *m, int64_t now,
		  const char *what, bool cost, struct buf *out);

#endif
