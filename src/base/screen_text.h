/* screen_text.h - what a terminal shows at last of all that was printed. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SCREEN_TEXT_H
#define BASE_SCREEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sanitize.h"

/*
 * A filter for a command's output: 2,000 states of a progress bar become the
 * last one. It obeys carriage return, backspace, tab and the ECMA-48 sequences
 * that move the cursor or erase (CUU, CUD, CUF, CUB, CNL, CPL, CHA, CUP, VPA,
 * ED, EL, ECH, DCH, SCOSC, SCORC, DECSC, DECRC, IND, NEL, RI); the rest goes,
 * as in base/sanitize.h. Widths are those of single characters, as terminals
 * move their cursor. A row is as wide as its text: nothing wraps.
 *
 * The newest SCREEN_TEXT_ROWS rows can change; older ones are final. So can at
 * most the last 8 KiB of a row. The first sequence that names a row of the
 * screen (CUP, VPA) begins a page below what is there, so that nothing printed
 * before is lost; later ones, and ED of all, act on that page.
 *
 * Zero-initialise, set eager, and end with screen_text_end().
 */
enum { SCREEN_TEXT_ROWS = 64 };

struct screen_row;
struct screen_text {
	/* Set by the caller, for readers that only append: rows are given as
	 * soon as nothing has been seen that changes such rows, also the last
	 * one while it grows. What changes all the same is given again, on a
	 * line of its own. Else rows are given once they are final. */
	bool eager;
	struct sanitizer clean;
	struct screen_row *rows; /* a ring; owned */
	size_t first;            /* of the ring */
	size_t n;                /* rows in it */
	size_t row, col;         /* the cursor */
	size_t gone;             /* rows before the first one */
	size_t saved[2];         /* row, counted from the very first; column */
	size_t page;             /* the same: the first row of the page, + 1 */
	size_t reach;            /* how many rows up something has changed */
	size_t open;             /* the row, counted so and + 1, whose line is
				    given but not its end */
	bool holds;              /* the last row is being rewritten */
	struct buf *out;         /* while fed */
};

/* Appends what is final to out: plain text, whole lines but for a very long
 * one (and, where eager, the last). */
void screen_text_feed(struct screen_text *s, struct str chunk, struct buf *out);
/* Appends what was not given yet, as it is now. */
void screen_text_rest(struct screen_text *s, struct buf *out);
/* Gives all of it as it is now; what changes later is given again. */
void screen_text_give(struct screen_text *s, struct buf *out);
/* The end: gives all, and frees. eager stays. */
void screen_text_end(struct screen_text *s, struct buf *out);

#endif
