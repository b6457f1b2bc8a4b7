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
	ENCODING_UTF16LE,
	ENCODING_UTF16BE,
	ENCODING_LATIN1, /* bytes 0x80 to 0x9f are characters of windows-1252 */
};

struct encoding {
	enum encoding_name name;
	size_t mark; /* bytes of the byte order mark, or 0 */
};

/*
 * Detects the encoding of a file, or of a part that begins at a line. A byte
 * order mark decides. Otherwise UTF-16 if it is a whole file in which every
 * second byte is 0, with few exceptions. Otherwise UTF-8 if all bytes are valid
 * (with cut, an incomplete last character is allowed). Otherwise Latin-1 if it
 * looks like text with one byte per character: outside valid multi-byte
 * characters of UTF-8 no control characters except those of text, no 0xff, no
 * byte undefined in windows-1252, and more bytes from 0x80 on than there are
 * such characters. -1: ERR_REMOTE "not_a_text_file".
 */
int encoding_detect(struct str raw, bool cut, struct encoding *e,
		    struct error *err);
/* Appends raw as UTF-8, without its byte order mark. Lossless:
 * encoding_encode() gives the same bytes. -1: an odd byte, an unpaired
 * surrogate or a NUL character in UTF-16. */
int encoding_decode(const struct encoding *e, struct str raw, struct buf *out,
		    struct error *err);
/* Appends the text in the encoding, without a byte order mark. -1: ERR_USAGE
 * names a character that the encoding does not have. */
int encoding_encode(const struct encoding *e, struct str text, struct buf *out,
		    struct error *err);
/* Returns the number of bytes that encoding_encode() would append. */
size_t encoding_size(const struct encoding *e, struct str text);
/* Returns "UTF-16 (little-endian)"; NULL for UTF-8. */
const char *encoding_label(const struct encoding *e);

enum { FILES_PAGE_BYTES = 512000 };

struct files_page {
	/* UTF-8 with LF between lines and none at the end. ptr is NULL if no
	 * line was read. */
	struct buf text;
	bool binary;          /* text holds the raw bytes instead */
	bool no_lines;        /* the limit was zero or negative */
	const char *encoding; /* static; the file's encoding, NULL: UTF-8 */
	/* text was cut at FILES_PAGE_BYTES and ends with a marker that says
	 * so */
	bool clipped;
	int64_t total_lines; /* -1: unknown */
	int64_t start_line;  /* 1-based, inclusive; 0 when no line was read */
	int64_t end_line;
	/* where the next page begins; -1 at the end of the file */
	int64_t next_offset;
};

struct page_source {
	/* a whole file, or a part of it that begins at a line */
	struct str raw;
	int64_t first_line; /* number of raw's first line in the file, from 0 */
	bool at_end;        /* raw ends where the file ends */
	int64_t total;      /* number of lines of the file, if known */
};

/*
 * Extracts limit lines, beginning with line offset (from 0), as UTF-8. Line
 * ends become LF. The page is cut at FILES_PAGE_BYTES and then ends with a
 * marker. Fills all of page except binary. -1 with "not_a_text_file" if the
 * lines, or the first 8192 bytes of the file if raw includes them, are not
 * text. -1 with "Line offset 5 exceeds file length (5 lines)" if offset is too
 * large.
 */
int page_cut(const struct page_source *src, int64_t offset, int64_t limit,
	     struct files_page *page, struct error *err);

/* Appends text in the form of old: with the kind of line ends that most lines
 * of old have, with a line break at its end only if old has one, and without a
 * byte order mark. Appends to kept what had to be changed in text: "CR LF line
 * ends, no line break at the end". */
void line_ends_keep(struct str old, struct str text, struct buf *out,
		    struct buf *kept);

/*
 * Searches file for text, both UTF-8, treating similar characters as equal:
 * quotes, dashes, white space of any kind and amount, composed characters,
 * ligatures. White space at the beginning and end of lines is ignored. Appends
 * "line 12 nearly matches: ..." with the lines of the first such place and the
 * difference. False: no such place, or file or text is too large to search.
 */
bool near_miss(struct str file, struct str text, struct buf *out);

struct edit_change {
	int64_t count; /* number of occurrences found */
	/* The new file is its first head bytes, middle, and its last tail
	 * bytes. */
	size_t head;
	size_t tail;
	struct buf middle; /* the caller sets max and releases it */
	/* text of near_miss() if nothing was found; the caller sets max and
	 * releases it */
	struct buf near;
};

/*
 * spec/agent.md §2.5: searches for old as sent, then with CR LF, with LF, and
 * with CR in a file without LF; the first form that occurs is used. Empty old:
 * inserts between characters. The line ends of new become those of the lines
 * where it is inserted, unless the form of old that was found contains a CR. A
 * line end with which both begin stays as the file has it.
 * -1: ERR_REMOTE "not_a_text_file", "string_not_found" (possibly with a hint),
 * "multiple_occurrences" (unless all); ERR_LIMIT if the result is too large.
 */
int edit_match(struct str file, struct str old, struct str new, bool all,
	       struct edit_change *change, struct error *err);

#endif
