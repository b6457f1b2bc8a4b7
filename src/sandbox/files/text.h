/* text.h - a file's bytes as text: encoding, pages, edits. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_TEXT_H
#define SANDBOX_FILES_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum encoding_name {
	ENCODING_UTF8,
	ENCODING_UTF16LE, /* only with a byte order mark */
	ENCODING_UTF16BE,
	ENCODING_LATIN1, /* with the characters of windows-1252 */
};

struct encoding {
	enum encoding_name name;
	size_t mark; /* bytes of the byte order mark in front, 0 for none */
};

/*
 * What the bytes of a file, or of a part of one that begins with a line, are.
 * A byte order mark decides; else UTF-8 where all of it is that (a character
 * that the end cuts is allowed where cut is set); else Latin-1 where it looks
 * like text in a one-byte encoding: no control characters but those of text, no
 * byte 0xff, none that windows-1252 leaves open, and no UTF-8 in it. -1:
 * ERR_REMOTE "not_a_text_file".
 */
int encoding_detect(struct str raw, bool cut, struct encoding *e,
		    struct error *err);
/* All of raw, without its mark, as UTF-8 appended to out. Every byte counts:
 * the opposite gives the same ones. -1: an odd byte or half a pair in UTF-16.
 */
int encoding_decode(const struct encoding *e, struct str raw, struct buf *out,
		    struct error *err);
/* Text appended in the encoding, without a mark. -1: ERR_USAGE names the
 * character that it does not have. */
int encoding_encode(const struct encoding *e, struct str text, struct buf *out,
		    struct error *err);
/* The bytes that encoding_encode() would append. */
size_t encoding_size(const struct encoding *e, struct str text);
/* "UTF-16 (little-endian) with a byte order mark"; NULL for plain UTF-8. */
const char *encoding_label(const struct encoding *e);

enum { FILES_PAGE_BYTES = 512000 };

struct files_page {
	struct buf text;      /* LF line ends, no trailing one; UTF-8; its ptr
				 is NULL when nothing was read */
	bool binary;          /* text holds the raw bytes instead */
	bool no_lines;        /* the limit was zero or negative */
	const char *encoding; /* static, what the file is; NULL: UTF-8 */
	bool clipped;         /* the page cap cut it: the marker is in text */
	int64_t total_lines;  /* -1 unknown */
	int64_t start_line;   /* 1-based, inclusive; 0 when no line was read */
	int64_t end_line;
	int64_t next_offset; /* -1 at the end of the file */
};

struct page_source {
	struct str raw;     /* a whole file, or a window of it */
	int64_t first_line; /* 0-based line that raw starts with */
	bool at_end;        /* raw reaches the end of the file */
	int64_t total;      /* lines of the file if known apart from that */
};

/*
 * Lines offset .. offset + limit - 1, line ends CR, LF and CR LF made LF, cut
 * at FILES_PAGE_BYTES with the marker, as UTF-8 (encoding.h). Fills all of page
 * but binary. -1 with "not_a_text_file" when what is shown, or the first 8192
 * bytes of the file where raw has them, are not UTF-8. "Line offset 5 exceeds
 * file length (5 lines)" likewise.
 */
int page_cut(const struct page_source *src, int64_t offset, int64_t limit,
	     struct files_page *page, struct error *err);

/* Appends text with the line ends that most lines of old have, and with a line
 * break at its end only if old has one; a byte order mark in front goes. What
 * differed from text is appended to kept: "CR LF line ends, no line break at
 * the end". */
void line_ends_keep(struct str old, struct str text, struct buf *out,
		    struct buf *kept);

/*
 * Looks for text in file, both UTF-8, taking characters for equal that look
 * alike: quotes, dashes, spaces of any kind and number, tabs, composed
 * characters, ligatures; white space at a line's ends does not count. Appends
 * "line 12 nearly matches: ..." with the lines of the first such place and what
 * is different there. False: there is none.
 */
bool near_miss(struct str file, struct str text, struct buf *out);

struct edit_change {
	int64_t count; /* occurrences found */
	/* The new file: its first head bytes, middle, its last tail bytes. */
	size_t head;
	size_t tail;
	struct buf middle; /* the caller sets max, and releases */
	struct buf near;   /* what near_miss() says where nothing was found; the
			      caller sets max, and releases */
};

/*
 * spec/agent.md §2.5: old as sent, else with CR LF, with LF, in a file without
 * LF with CR; the first form that occurs wins. Empty old: between characters.
 * The line ends of new become those of the lines that it goes into, unless old
 * was found with a CR in it. -1: ERR_REMOTE "not_a_text_file",
 * "string_not_found" (maybe with a hint), "multiple_occurrences" (unless all);
 * ERR_LIMIT when the result is too large.
 */
int edit_match(struct str file, struct str old, struct str new, bool all,
	       struct edit_change *change, struct error *err);

#endif
