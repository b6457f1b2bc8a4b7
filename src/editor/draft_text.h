/* draft_text.h - the bytes of a draft: a gap buffer, and pastes as markers. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_DRAFT_TEXT_H
#define EDITOR_DRAFT_TEXT_H

/*
 * The editor (editor.h) changes one place of its text many times in a row, so
 * the text is a gap buffer. A long paste is kept beside it and stands in the
 * text as a marker of four bytes, which a key moves over in one step;
 * pastes_expand() puts the paste back when the draft is sent.
 */
#include <stdbool.h>

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

/* In the text of a draft a paste is one character that no clean text has:
 * PASTES_LEAD and three bytes 10xxxxxx with its number. */
enum { PASTES_LEAD = 0x1A, PASTES_MARK = 4, PASTES_MAX = 1 << 18 };
/* A longer paste, or one of more line ends, becomes a marker. */
enum { PASTES_INLINE = 800, PASTES_LINES = 2 };

struct paste {
	char *bytes; /* owned */
	size_t len;
	size_t lines;
	bool utf8;
	bool clean; /* UTF-8 without controls but LF and tab */
};

/* Zero-initialise. */
struct pastes {
	struct paste *items;
	size_t n;
	size_t cap;
};

bool pastes_is_clean(struct str bytes);
/* How many bytes at the front are clean for sure; they end where a character
 * does. 0 when a control is among them. */
size_t pastes_clean_prefix(struct str bytes);
/* Takes the bytes over, which are clean or not; returns their number, which is
 * below PASTES_MAX. */
size_t pastes_add(struct pastes *p, struct buf *bytes, bool clean);
/* The number of a paste of the same bytes, or p->n. */
size_t pastes_find(const struct pastes *p, struct str bytes);
void pastes_write_mark(size_t number, char mark[PASTES_MARK]);
size_t pastes_read_mark(struct str mark);
/* "[Pasted #1: 231 lines, 12 kB]". */
void pastes_label(const struct pastes *p, size_t number, struct buf *out);
/* Appends the text with every marker replaced by its paste; of a paste, what
 * is no UTF-8 becomes U+FFFD. */
void pastes_expand(const struct pastes *p, struct str text, struct buf *out);
void pastes_clear(struct pastes *p);

#endif
