/* repeats.h - calls that fail again and again in the same way. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_REPEATS_H
#define AGENT_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/message.h"
#include "tool/tool.h"

enum {
	REPEATS_NOTE = 3, /* failures of one call: the model is told */
	REPEATS_END = 6,  /* the user is asked, or the run ends */
	REPEATS_KEPT = 16,
};

/* error.reason where a run ends for it. */
#define REPEATS_REASON "repeated_calls"

/* From { 0 }. One thread. */
struct repeats {
	struct repeated_call {
		uint64_t call; /* a hash of name and arguments */
		unsigned failures;
	} list[REPEATS_KEPT];
	size_t next;    /* the one that is forgotten next */
	unsigned worst; /* the most failures of a call */
	char name[64];  /* of its tool */
};

enum call_end {
	CALL_DONE,
	CALL_FAILED,
	CALL_MALFORMED, /* no such tool, or arguments that it cannot read */
};

/*
 * After each call: counts it where it failed, and adds a note to its result
 * from REPEATS_NOTE failures on. A call that did something begins the count
 * anew, since the same call may succeed after it; one that only read does not.
 * Malformed calls of one tool count as the same call. tool NULL: unknown.
 */
void repeats_count(struct repeats *r, const struct tool *tool,
		   const struct part *call, enum call_end end,
		   struct buf *result);
/* After the calls of an answer: whether one has failed REPEATS_END times; then
 * why, for the user. */
bool repeats_over(const struct repeats *r, struct error *why);

#endif
