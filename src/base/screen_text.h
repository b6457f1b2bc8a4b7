/* screen_text.h - reduces output to what a terminal would show at the end. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SCREEN_TEXT_H
#define BASE_SCREEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sanitize.h"

/*
 * A filter that reduces a command's output to what a terminal would show in the
 * end: of 2,000 states of a progress bar only the last one. Obeys carriage
 * return, backspace, tab and the ECMA-48 sequences that move the cursor or
 * erase (CUU, CUD, CUF, CUB, CNL, CPL, CHA, CUP, VPA, ED, EL, ECH, DCH, SCOSC,
 * SCORC, DECSC, DECRC, IND, NEL, RI). Removes all others, like base/sanitize.h.
 * Widths are those of single characters, as in terminals. Rows are as wide as
 * their text: nothing wraps.
 *
 * The newest SCREEN_TEXT_ROWS rows can change; older ones are final. Of a row,
 * at most the last 8 KiB can change. The first sequence that addresses a row by
 * its number (CUP, VPA) starts a page below the existing rows, so that earlier
 * output is not lost. Later ones, and ED of the whole screen, refer to that
 * page.
 *
 * Zero-initialise, set eager, and end with screen_text_end().
 */
enum { SCREEN_TEXT_ROWS = 64 };

struct screen_row;
struct screen_text {
	/* Set by the caller if its reader can only append. Then a row is
	 * written as soon as no sequence of a kind seen so far would change it,
	 * and the last row while it grows. If a row changes after all, it is
	 * written again, on a new line. False: rows are written when they are
	 * final. */
	bool eager;
	struct sanitizer clean;
	struct screen_row *rows; /* a ring; owned */
	size_t first;            /* index in the ring of the oldest row */
	size_t n;                /* number of rows in the ring */
	size_t row, col; /* the cursor; row 0 is the oldest in the ring */
	size_t gone;     /* number of rows that were removed from the ring */
	/* saved cursor: row, counted from the start of the output; column */
	size_t saved[2];
	/* first row of the page, counted from the start of the output, + 1; 0:
	 * no page */
	size_t page;
	/* the most rows above the last one that a change has reached so far */
	size_t reach;
	/* row that was written without its line end, counted from the start of
	 * the output, + 1 */
	size_t open;
	bool holds;      /* the last row is being rewritten */
	struct buf *out; /* set during a call */
};

/* Appends the text that has become final to out. Whole lines, except of a very
 * long line and, if eager, the last one. */
void screen_text_feed(struct screen_text *s, struct str chunk, struct buf *out);
/* Appends the text that follows the final text, as it is now. It may change. */
void screen_text_rest(struct screen_text *s, struct buf *out);
/* Writes all rows that were not written, as they are now. Rows that change
 * later are written again. */
void screen_text_give(struct screen_text *s, struct buf *out);
/* Writes all rows that were not written and frees the filter. eager keeps its
 * value. */
void screen_text_end(struct screen_text *s, struct buf *out);

#endif
