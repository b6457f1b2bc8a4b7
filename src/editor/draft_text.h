/* draft_text.h - the text of a draft: a gap buffer, with markers for pastes. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_DRAFT_TEXT_H
#define EDITOR_DRAFT_TEXT_H

/*
 * The editor (editor.h) often changes the same place of its text many times in
 * a row, so the text is a gap buffer. A long paste is stored separately; in the
 * text it is a marker of four bytes, which the caret crosses in one step.
 * pastes_expand() inserts the paste when the draft is sent.
 */
#include <stdbool.h>

#include "base/buf.h"

/* Zero-initialise. The text is the bytes before and after the gap. */
struct gap {
	char *bytes; /* owned */
	size_t cap;
	size_t start; /* offset of the gap, which is also the number of bytes
			 before it */
	size_t end;
};

size_t gap_len(const struct gap *g);
/* Returns a byte; at must be less than gap_len(). */
unsigned char gap_byte(const struct gap *g, size_t at);
/* Replaces len bytes at a position by text, which must not point into the
 * buffer. The cost is proportional to both lengths and the distance from the
 * last change. */
void gap_replace(struct gap *g, size_t at, size_t len, struct str text);
/* Returns the bytes from..to in one piece, valid until the next call. Moves the
 * gap if necessary. */
struct str gap_view(struct gap *g, size_t from, size_t to);
/* Returns the position after the last c in from..to, or from if there is none.
 */
size_t gap_after_last(struct gap *g, size_t from, size_t to, char c);
/* Returns the position of the first c in from..to, or to if there is none. */
size_t gap_find(struct gap *g, size_t from, size_t to, char c);
void gap_release(struct gap *g);

/* In the text of a draft, a paste is a marker that clean text cannot contain:
 * PASTES_LEAD and three bytes 10xxxxxx with the paste's number. */
enum { PASTES_LEAD = 0x1A, PASTES_MARK = 4, PASTES_MAX = 1 << 18 };
/* A paste with more bytes or more line ends becomes a marker. */
enum { PASTES_INLINE = 800, PASTES_LINES = 2 };

struct paste {
	char *bytes; /* owned */
	size_t len;
	size_t lines;
	bool utf8;
	bool clean; /* UTF-8 without control characters except LF and tab */
};

/* Zero-initialise. */
struct pastes {
	struct paste *items;
	size_t n;
	size_t cap;
};

bool pastes_is_clean(struct str bytes);
/* Returns how many bytes at the front are known to be clean, up to a
 * character's end. 0 if one of them is a control character. */
size_t pastes_clean_prefix(struct str bytes);
/* Adds a paste, of at most PASTES_MAX, and takes ownership of the bytes. clean:
 * whether they are clean. Writes its marker. */
void pastes_add(struct pastes *p, struct buf *bytes, bool clean,
		char mark[PASTES_MARK]);
/* Writes the marker of the paste with the same bytes; false: there is none. */
bool pastes_find(const struct pastes *p, struct str bytes,
		 char mark[PASTES_MARK]);
/* Moves the pastes of one draft, clean and not huge, behind those of earlier
 * ones, of which only the newest stay. recent NULL: releases all. */
enum { PASTES_RECENT = 16, PASTES_RECENT_BYTES = 1 << 20 };
void pastes_retire(struct pastes *p, struct pastes *recent);
/* Appends a clean text, in which each paste of recent is a marker of p; also
 * without the blanks around it, which a stored prompt does not have. */
void pastes_mark(struct pastes *p, const struct pastes *recent, struct str text,
		 struct buf *out);
size_t pastes_read_mark(struct str mark);
/* Appends the label "[Pasted #1: 231 lines, 12 kB]". */
void pastes_label(const struct pastes *p, size_t number, struct buf *out);
/* Appends the text with every marker replaced by its paste. Bytes of a paste
 * that are not UTF-8 become U+FFFD. */
void pastes_expand(const struct pastes *p, struct str text, struct buf *out);

#endif
