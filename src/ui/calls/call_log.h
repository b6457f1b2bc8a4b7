/* call_log.h - the finished tool calls of this process, with their output. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_CALLS_CALL_LOG_H
#define UI_CALLS_CALL_LOG_H

/*
 * For the list of calls that Ctrl+O opens. A chat may run for days, so only a
 * line about each call is in memory. What the model wrote and what the tool
 * answered is in a spool. Begin reading at call_log_add().
 */
#include "agent/agent.h"
#include "base/spool.h"

enum { CALL_STATE = 16 };

/* All that is known of a call; the texts are masked. Borrowed, or owned by the
 * caller of call_log_read(). */
struct call_record {
	struct part call; /* id, name and args */
	struct buf output;
	struct tool_change change;
	size_t cut; /* bytes of output that were not kept */
	/* set by call_record_describe(): */
	char *title;            /* "execute: make test" on one clean line */
	size_t lines;           /* of output */
	char state[CALL_STATE]; /* "ok", "exit 2", "runs": summary_state() */
	int64_t ms;             /* how long it ran, or runs; -1: unknown */
};

/* Also leaves out of the output what is only for the model.
 * end: the EVENT_TOOL_RESULT; NULL: the call still runs. Also sets ms if end
 * has it. workdir: as in summary_of_call(). */
void call_record_describe(struct call_record *r, const struct agent_event *end,
			  const char *workdir);
void call_record_release(struct call_record *r);

/* What is in memory of a call. */
struct call_entry {
	char *id; /* owned */
	char *name;
	char *title;
	size_t lines;
	int64_t ms;
	size_t at; /* position in the spool */
	/* bytes of the texts in the spool, in this order; args is SIZE_MAX if
	 * there are none, before if the change is unknown */
	size_t args, output, before, after;
	size_t cut;
	bool bad_args;
	char state[CALL_STATE];
};

enum {
	CALL_LOG_MOST = 1000,       /* newest calls that are kept */
	CALL_LOG_BYTES = 256 << 20, /* of the spool */
	CALL_LOG_OUTPUT = 1 << 20,  /* bytes kept of a call's output */
};

struct call_log {                /* initialise with { 0 } */
	struct call_entry *list; /* owned; oldest first */
	size_t n;
	struct spool texts;
};

/* Adds a finished call. If the spool cannot be written or is full, the call is
 * kept without its texts. */
void call_log_add(struct call_log *log, const struct call_record *r);
/* Reads a call. e: an entry of the log, or a copy of one. */
void call_log_read(const struct call_log *log, const struct call_entry *e,
		   struct call_record *out);
/* Forgets all calls. */
void call_log_clear(struct call_log *log);

#endif
