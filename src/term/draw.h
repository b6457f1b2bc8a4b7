/* draw.h - rows as bytes for a terminal, and where it has put them. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_DRAW_H
#define TERM_DRAW_H

#include "term/theme.h"

/*
 * Appends row i from the first column of a row of the screen, over whatever is
 * there, cut to so many cells (SIZE_MAX: whole). The cursor is left behind it.
 */
void draw_row(const struct theme *t, const struct rows *rows, size_t i,
	      size_t cells, struct buf *out);
/* Appends row i as it is written where nothing moves the cursor: to a pager. */
void draw_text(const struct theme *t, const struct rows *rows, size_t i,
	       struct buf *out);
/* Appends the movement over so many rows, down when positive, to the first
 * column. */
void draw_move(long rows, struct buf *out);
/* Rows of the screen that a text takes when a terminal wraps it. */
size_t draw_wrapped(struct str text, size_t columns);
/* The one of them, from 0, that a cursor is in that stood before cell number
 * cell. */
size_t draw_wrapped_at(struct str text, size_t cell, size_t columns);

#endif
