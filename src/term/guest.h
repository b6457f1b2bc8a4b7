/* guest.h - output of a program that draws on the user's terminal itself. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_GUEST_H
#define TERM_GUEST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/sanitize.h"

/*
 * A filter between a program in a sandbox and the user's terminal. Attack: the
 * program prints what makes the terminal do more than show text (write the
 * clipboard, set the title, print), or answer (device attributes, cursor
 * position, a colour, the title): the answer is typed into the program, or into
 * whatever reads the terminal next. So only a list of sequences passes: those
 * that move the cursor, erase, scroll, set colours and character sets, and the
 * modes of GUEST_MODES_OFF. All others, every string (OSC, DCS, ...), invalid
 * UTF-8 and invisible characters are removed, as in base/sanitize.h.
 */
struct guest { /* initialise with guest_init(); must not move */
	/* The alternate screen is on: turn it off at the end. */
	bool is_alternate;
	/* internal */
	struct sanitizer clean;
	struct sanitize_sink sink;
	struct buf *out; /* set during a call */
};

/* Sets the usual state of everything that passes the filter, except the
 * alternate screen: see GUEST_ALTERNATE_OFF. Does not move the cursor. */
#define GUEST_MODES_OFF                                                        \
	"\x1b\\\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l"        \
	"\x1b[?2004l\x1b[?2026l\x1b[?1l\x1b[?5l\x1b>\x1b"                      \
	"7\x1b[r\x1b"                                                          \
	"8\x1b[4l\x0f\x1b(B\x1b)B\x1b[0m\x1b[?7h\x1b[?25h"
#define GUEST_CURSOR_SHAPE "\x1b[0 q" /* some consoles print it */
#define GUEST_ALTERNATE_ON "\x1b[?1049h"
#define GUEST_ALTERNATE_OFF "\x1b[?1049l"

void guest_init(struct guest *g);
/* Appends what may be written to the terminal. */
void guest_feed(struct guest *g, struct str chunk, struct buf *out);

#endif
