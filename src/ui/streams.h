/* streams.h - agent events on stdout and stderr: as text, or as JSON lines. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_STREAMS_H
#define UI_STREAMS_H

/*
 * Output of runs without a screen. output_*() writes to a stream that may have
 * no reader; plain_*() prints the answer on stdout and the rest on stderr;
 * events_*() prints --json with -n.
 */
#include <pthread.h>
#include <stdio.h>

#include "agent/agent.h"
#include "base/mask/mask.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"

/* Writes all of data. After stop has ended, the reader gets one more second;
 * then returns -1 with ECANCELED. Returns -1 with errno for other failures.
 * stop may be NULL: wait without limit. */
int output_write(int fd, struct str data, const struct stop *stop);

/*
 * Everything that is printed on stderr until output_release() passes through
 * this struct, which masks secrets. So the caller need not mask a warning or an
 * error. One per process.
 *
 * It knows the column of both streams, so that the answer, the output of tools
 * and each line of dcode's own begin on a new line, also if both streams are
 * the same terminal, pipe or file. Any thread may print on stderr.
 */
struct output_guard {
	struct mask *const *mask; /* the caller's variable that will point to
				     the mask; borrowed */
	bool shared; /* both streams are the same terminal, pipe or file */
	FILE *plain; /* the original stderr */
	pthread_mutex_t lock; /* guards the following fields */
	struct mask_stream masked;
	const struct stop *stop; /* see output_obey(); or NULL */
	bool given_up;
	/* The last line is unfinished: of the answer, of a tool's output, or of
	 * dcode's own text, such as a question. */
	bool answer_open, tool_open, note_open;
	bool status_shown; /* the cursor is in the status line */
};
void output_guard(struct output_guard *g, struct mask *const *mask);
/* From now on, writing to stderr ends when stop ends, as in output_write()
 * (NULL: it never ends). A text that the reader did not accept in time and all
 * later texts are dropped. */
void output_obey(struct output_guard *g, const struct stop *stop);
void output_release(struct output_guard *g);
/* Draws a line of at most the terminal's width at the cursor, which the next
 * output removes; empty: removes it. Does nothing while another line is
 * unfinished. Only if stderr is a terminal with cursor control. */
void output_status(struct output_guard *g, struct str line);
/* Prints a line of dcode's own on stderr. At a terminal its rows end between
 * words. A word that is longer than a row, such as an address, stays whole. */
void output_line(struct str line);

/* Prints agent events as text: the answer on stdout, the rest on stderr. */
struct plain {                   /* zero it, then set the first seven fields */
	const struct stop *stop; /* ends all writing; may be NULL */
	bool quiet;              /* print nothing on stderr */
	bool last_only; /* print only the last answer; requires no_stream */
	bool no_stream; /* print the answer only at the end, in plain_end() */
	struct output_guard *guard; /* writes what is printed */
	bool ascii;                 /* use ASCII instead of dcode's glyphs */
	/* Other code prints lines on the same terminal, so write only complete
	 * lines. Any thread may set it. */
	_Atomic bool whole_lines;
	/* private */
	struct sanitizer text_clean;
	struct sanitizer output_clean;
	struct buf out;   /* not yet written to stdout */
	struct buf log;   /* not yet written to stderr */
	struct buf shown; /* text of this answer so far, as received */
	size_t kept;      /* no_stream: bytes of out from complete answers */
	size_t match;   /* after a restart: bytes of shown that were repeated */
	bool replaying; /* the repeated answer still equals shown */
	int failed;     /* errno of a write to stdout, or 0 */
};

void plain_event(void *arg, const struct agent_event *ev);
/* Writes the remaining text and ends the last line. Returns -1 if stdout
 * failed. */
int plain_end(struct plain *p);
void plain_release(struct plain *p);

enum { EVENTS_SCHEMA = 1 };

/* cmd/manual/events.md describes every type and field. One writer per process.
 */
struct events { /* zero it, then set stop, last_only and began_ms */
	const struct stop *stop; /* ends all writing; may be NULL */
	struct buf out;          /* not yet written */
	bool last_only;          /* write only the result */
	int64_t began_ms;        /* clock_ms() when the run began */
	struct buf start;        /* members of the start line, which the result
				    repeats */
	struct buf members;      /* extra members for events_result(); see
				    events_add() */
	bool started;            /* the start event has been written */
	bool ended;              /* the next event is the result */
	int failed;              /* errno of a write to stdout, or 0 */
};

/* Writes the start line. Events before it are stored and written after it.
 * thread, model, provider and id may be NULL and become null. */
void events_start(struct events *e, const char *thread, const char *model,
		  const char *provider, const char *id);
void events_event(void *arg, const struct agent_event *ev);
void events_error(struct events *e, const char *code, struct str message,
		  struct str hint);
/* Adds a member to the last line, which events_result() writes; an empty json
 * adds nothing. */
void events_add(struct events *e, const char *key, struct str json);
/* Adds members that are already JSON to the last line: ",\"key\":value...". */
void events_members(struct events *e, struct str json);
/* Writes the last line. status: "success", "no_answer", "refused",
 * "repeated_calls", "error", "max_turns", "max_usd", "timeout" or "cancelled".
 * Returns -1 if stdout failed. */
int events_result(struct events *e, const char *status, struct str text,
		  int64_t turns, const struct usage *usage, int exit_status);
void events_release(struct events *e);

#endif
