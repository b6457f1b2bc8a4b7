/* plain.h - agent events as text: the answer to stdout, the rest to stderr. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_PLAIN_H
#define UI_PLAIN_H

#include "agent/agent.h"
#include "base/sanitize.h"
#include "ui/output.h"

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

#endif
