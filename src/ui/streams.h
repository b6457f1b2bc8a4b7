/* streams.h - agent events on stdout and stderr: as text, or as JSON lines. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_STREAMS_H
#define UI_STREAMS_H

/*
 * What runs without a screen print. output_*() writes to a stream that nobody
 * may be reading; plain_*() has the answer on stdout and the rest on stderr;
 * events_*() is --json with -n.
 */
#include <stdio.h>

#include "agent/agent.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"

/* Writes all of data. Once stop (NULL: never) has ended, a reader gets a second
 * to make room; then -1 with ECANCELED. -1 with errno for other failures. */
int output_write(int fd, struct str data, const struct stop *stop);

/* Until output_release() everything printed on stderr obeys stop too, and is
 * dropped once nobody took it in time. Where both streams are the same
 * terminal, pipe or file, what is printed there begins on a line of its own:
 * whoever writes to standard output says in mid_line whether it has ended its
 * line. One per process. */
struct output_guard {
	const struct stop *stop; /* or NULL */
	bool given_up;
	bool shared;           /* both streams are the same file */
	_Atomic bool mid_line; /* standard output's last line has no end */
	FILE *plain;           /* stderr as it was */
};
void output_guard(struct output_guard *g, const struct stop *stop);
void output_release(struct output_guard *g);

/* Agent events as text: the answer to stdout, the rest to stderr. */
struct plain {                   /* zeroed, then the first seven set */
	const struct stop *stop; /* no writing on after it; may be NULL */
	bool quiet;              /* nothing on stderr */
	bool last_only;          /* of the answers the last; with no_stream */
	bool no_stream;          /* the answer once, at the end: plain_end() */
	struct output_guard *guard; /* of stderr: told of the line; or NULL */
	bool ascii;                 /* signs of ours in ASCII */
	bool chat; /* answers may be repeated from their start */
	/* Others print lines on the same terminal: none is begun that is not
	 * ended. Any thread. */
	_Atomic bool whole_lines;
	/* its own */
	struct sanitizer text_clean;
	struct sanitizer output_clean;
	struct buf out;    /* not yet written to stdout */
	struct buf log;    /* not yet written to stderr */
	struct buf shown;  /* text of this answer so far, as it came */
	size_t kept;       /* no_stream: bytes of out from whole answers */
	size_t match;      /* after a restart: how much of shown came again */
	bool replaying;    /* the repeated answer still equals shown */
	bool mid_line;     /* stdout does not stand at a line's start */
	bool log_mid_line; /* the same for stderr */
	int failed;        /* errno of a write to stdout, or 0 */
};

void plain_event(void *arg, const struct agent_event *ev);
/* Ends a line that a tool left unfinished on stderr. */
void plain_break(struct plain *p);
/* Writes what is held back, ends the last line. -1 when stdout failed. */
int plain_end(struct plain *p);
void plain_release(struct plain *p);

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
