/* pastes.h - long pastes of a draft, each a marker in its text. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PASTES_H
#define EDITOR_PASTES_H

#include <stdbool.h>

#include "base/buf.h"

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
