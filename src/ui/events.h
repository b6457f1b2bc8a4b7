/* events.h - agent events as JSON, one per line: --json with -n. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_EVENTS_H
#define UI_EVENTS_H

#include "agent/agent.h"

enum { EVENTS_SCHEMA = 1 };

/* cmd/manual/events.md has every type and field. One writer per process. */
struct events {                  /* zeroed, then stop set */
	const struct stop *stop; /* no writing on after it; may be NULL */
	struct buf out;          /* not yet written */
	struct buf members;      /* of the last line: events_add() */
	bool started;            /* the start event is out */
	int failed;              /* errno of a write to stdout, or 0 */
};

/* The first line; what came before waits for it. thread, model, provider and id
 * may be NULL: null then. */
void events_start(struct events *e, const char *thread, const char *model,
		  const char *provider, const char *id);
void events_event(void *arg, const struct agent_event *ev);
void events_error(struct events *e, const char *code, struct str message,
		  struct str hint);
/* A further member of the last line; json "" adds none. */
void events_add(struct events *e, const char *key, struct str json);
/* The same: ","key":value..." as it stands. */
void events_members(struct events *e, struct str json);
/* The last line. status: "success", "no_answer", "refused", "repeated_calls",
 * "error", "max_turns", "max_usd", "timeout" or "cancelled". -1 when stdout
 * failed. */
int events_result(struct events *e, const char *status, struct str text,
		  int64_t turns, const struct usage *usage, int exit_status);
void events_release(struct events *e);

#endif
