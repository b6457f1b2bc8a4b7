/* width.h - how many cells of a terminal a text takes. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_WIDTH_H
#define TERM_WIDTH_H

#include "base/buf.h"

/*
 * The first grapheme cluster of s (UAX #29): returns its bytes, 0 only of the
 * empty text. *cells becomes its width: that of its first character that has
 * one, 2 of a flag and of what VARIATION SELECTOR-16 makes an emoji; spacing
 * marks add their own. A byte that is no UTF-8 is a cluster of one cell, a
 * control one of none.
 */
size_t width_next(struct str s, size_t *cells);
/* Cells of a whole text. */
size_t width_cells(struct str s);
/* Bytes of the longest beginning, in whole clusters, of at most so many
 * cells. */
size_t width_prefix(struct str s, size_t cells);
/* Removes the last cluster, as the backspace key does. */
void width_drop_last(struct buf *text);

#endif
