/* gap.h - a text that is edited at one place: a gap buffer. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_GAP_H
#define EDITOR_GAP_H

#include "base/buf.h"

/* Zero-initialise; the text is what lies around the gap. */
struct gap {
	char *bytes; /* owned */
	size_t cap;
	size_t start; /* of the gap, and how many bytes lie before it */
	size_t end;
};

size_t gap_len(const struct gap *g);
/* Byte at, which is less than gap_len(). */
unsigned char gap_byte(const struct gap *g, size_t at);
/* Replaces len bytes at a place by text, which is not within the buffer. The
 * cost is that of both and of the way from the last place. */
void gap_replace(struct gap *g, size_t at, size_t len, struct str text);
/* Bytes from..to in one piece, valid until the next call; moves the gap out of
 * the way. */
struct str gap_view(struct gap *g, size_t from, size_t to);
/* Where after the last c of from..to the text goes on, or from. */
size_t gap_after_last(struct gap *g, size_t from, size_t to, char c);
/* Where the first c of from..to is, or to. */
size_t gap_find(struct gap *g, size_t from, size_t to, char c);
void gap_release(struct gap *g);

#endif
