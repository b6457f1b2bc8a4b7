/* screen_text.h - reduces output to what a terminal would show at the end. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SCREEN_TEXT_H
#define BASE_SCREEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sanitize.h"

/*
 * A filter for a command's output: 2,000 states of a progress bar become the
 * last one. Obeys carriage return, backspace, tab and the ECMA-48 sequences
 * that move the cursor or erase (CUU, CUD, CUF, CUB, CNL, CPL, CHA, CUP, VPA,
 * ED, EL, ECH, DCH, SCOSC, SCORC, DECSC, DECRC, IND, NEL, RI). Removes the
 * others, as base/sanitize.h does. Widths are those of single characters, as in
 * terminals. Rows are as wide as their text: nothing wraps.
 *
 * The newest SCREEN_TEXT_ROWS rows can change; older ones are final. At most
 * the last 8 KiB of a row can change. The first sequence that addresses a row
 * of the screen (CUP, VPA) starts a page below the existing rows, so that
 * earlier output is not lost. Later ones, and ED of the whole screen, act on
 * that page.
 *
 * Zero-initialise, set eager, and end with screen_text_end().
 */
enum { SCREEN_TEXT_ROWS = 64 };

struct screen_row;
struct screen_text {
	/* Set by the caller, for readers that only append: rows are written as
	 * soon as no sequence seen so far would change such a row, and the last
	 * row while it grows. A row that changes anyway is written again, on a
	 * line of its own. If false, rows are written when they are final. */
	bool eager;
	struct sanitizer clean;
	struct screen_row *rows; /* a ring; owned */
	size_t first;            /* index of the first row in the ring */
	size_t n;                /* number of rows in the ring */
	size_t row, col;         /* the cursor */
	size_t gone; /* number of rows dropped before the first one */
	/* saved cursor: row, counted from the very first; column */
	size_t saved[2];
	/* first row of the page, counted from the very first, + 1 */
	size_t page;
	size_t reach; /* how many rows above the last one were changed so far */
	/* the row, counted from the very first, + 1, that was written without
	 * its line end */
	size_t open;
	bool holds;      /* the last row is being rewritten */
	struct buf *out; /* set during a call */
};

/* Appends final text to out: whole lines, except for a very long line and, if
 * eager, the last one. */
void screen_text_feed(struct screen_text *s, struct str chunk, struct buf *out);
/* Appends the text not written yet, in its current state. It may change. */
void screen_text_rest(struct screen_text *s, struct buf *out);
/* Writes everything in its current state. Rows that change later are written
 * again. */
void screen_text_give(struct screen_text *s, struct buf *out);
/* Writes everything and frees it. eager is kept. */
void screen_text_end(struct screen_text *s, struct buf *out);

#endif
