/* rows.h - rows of styled text for a terminal: cleaned, measured, wrapped. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_ROWS_H
#define TERM_ROWS_H

/*
 * Everything that dcode draws consists of rows. Foreign bytes reach a terminal
 * only through rows_add(), which cleans them. width_*() measures text in cells,
 * wrap_row() wraps rows to the screen's width. theme.h defines the look of each
 * style, screen.h sends rows to the terminal.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	ATTR_BOLD = 1,
	ATTR_DIM = 2,
	ATTR_ITALIC = 4,
	ATTR_UNDERLINE = 8,
	ATTR_STRIKE = 16,
	ATTR_REVERSE = 32,
	/* The background of a difference; themes without backgrounds have other
	   means. */
	ATTR_ADDED = 64,
	ATTR_REMOVED = 128,
	ATTR_CHANGED = 256, /* with one of these two: a word that differs */
};

/* The role of a text; theme.h defines its look. */
enum style_role {
	STYLE_PLAIN,
	STYLE_ACCENT,
	STYLE_MUTED,
	STYLE_OK,
	STYLE_WARN,
	STYLE_ERROR,
	STYLE_CODE,
	STYLE_LINK,
	STYLE_HEADING,
	STYLE_USER,
	STYLE_TOOL,
	STYLE_ADDED,
	STYLE_REMOVED,
	STYLE_KEYWORD,
	STYLE_STRING,
	STYLE_COMMENT,
	STYLE_NUMBER,
	N_STYLES,
};

struct style {
	uint16_t attrs; /* ATTR_... */
	uint8_t role;   /* enum style_role */
};

/* Consecutive bytes of a row with the same look. */
struct span {
	size_t len; /* bytes */
	struct style style;
	size_t link; /* 0: none; else 1 + the offset in rows.links of the
			NUL-terminated address */
};

/* The offsets of a row in bytes and spans. */
struct row {
	size_t byte;
	size_t span;
};

/*
 * Rows of text. Zero-initialise; owned by the caller. The last row is open if
 * it accepts more text; n counts it, too. Text beyond ROWS_MAX_BYTES is dropped
 * and bytes.over is set.
 */
struct rows {
	struct buf bytes;
	struct span *spans;
	size_t n_spans, cap_spans;
	struct row *rows;
	size_t n, cap_rows;
	struct buf links; /* NUL-terminated addresses */
	struct buf clean; /* working memory of rows_add() */
	size_t tab_byte;  /* offset in bytes of the last tab stop; more text is
			     added after it */
	bool open;
};

enum { ROWS_MAX_BYTES = 256 << 20, ROWS_TAB = 8, ROWS_MAX_ADDRESS = 2048 };

/*
 * Appends text to the open row, or to a new one if none is open. Foreign bytes
 * must reach the terminal only through this function: they are cleaned
 * (base/sanitize.h). LF ends the row; a tab becomes spaces up to the next
 * multiple of ROWS_TAB.
 */
void rows_add(struct rows *r, struct style style, struct str text);
void rows_adds(struct rows *r, struct style style, const char *text);
/*
 * Like rows_add(), with an OSC 8 link to address. If rows_address_is_safe() is
 * false, the text is added without a link.
 */
void rows_add_link(struct rows *r, struct style style, struct str text,
		   struct str address);
/* True for printable ASCII without spaces, at most ROWS_MAX_ADDRESS bytes, with
 * the scheme http, https, mailto or file. */
bool rows_address_is_safe(struct str address);
/* Ends the open row; adds an empty row if none is open. */
void rows_end(struct rows *r);
/* Ends the open row, if there is one. */
void rows_close(struct rows *r);
/* Ends the open row and appends rows first to first + n - 1 of another struct.
 */
void rows_append(struct rows *r, const struct rows *from, size_t first,
		 size_t n);
/* Appends clean bytes, from rows_view(), to the open row. span->link refers to
 * the links of from. */
void rows_add_span(struct rows *r, const struct rows *from,
		   const struct span *span, struct str bytes);
/* Drops the first n rows. */
void rows_consume(struct rows *r, size_t n);
/* Removes all rows but does not free the memory. */
void rows_clear(struct rows *r);
void rows_release(struct rows *r);

/* A view of row i, valid until the rows change. */
struct row_view {
	struct str bytes;
	const struct span *spans;
	size_t n_spans;
};
struct row_view rows_view(const struct rows *r, size_t i);
/* Returns the address of a link; empty if the span has none. */
struct str rows_link(const struct rows *r, const struct span *span);
/* Returns the width of row i in cells. */
size_t rows_cells(const struct rows *r, size_t i);
/* True if both rows have the same text, styles and links. */
bool rows_equal(const struct rows *a, size_t i, const struct rows *b, size_t j);
/*
 * Returns the length in bytes of the first grapheme cluster of s (UAX #29), 0
 * only for empty text. *cells becomes its width: the width of its first
 * character that has one; 2 for a flag and for an emoji made by VARIATION
 * SELECTOR-16; spacing marks add their own width. An invalid byte is a cluster
 * of one cell, a control one of none.
 */
size_t width_next(struct str s, size_t *cells);
/* Returns the width of a text in cells. */
size_t width_cells(struct str s);
/* Returns the bytes of the longest prefix of whole clusters that fits into
 * `cells` cells. */
size_t width_prefix(struct str s, size_t cells);
/* Removes the last cluster, as the backspace key does. */
void width_drop_last(struct buf *text);

struct wrap {
	size_t columns; /* width of the screen; 0 counts as 1 */
	struct {
		struct str text; /* may be empty */
		struct style style;
	} first, rest; /* prefixes of the first row and of the following rows */
	bool words;    /* wrap between words if the word fits into a row */
	/* Leave it to the terminal to wrap what has no place to wrap: a line,
	   or with `words` a word that is longer than a row. A selection in the
	   terminal then has it in one piece. Only for rows that are printed. */
	bool soft;
};

/*
 * Appends row i of in, wrapped to rows of at most w->columns cells, without
 * `soft`. Only the spaces where a row was wrapped between words are dropped. A
 * word longer than a row is split between clusters; so is every text without
 * `words`. A prefix that would leave fewer than two cells is omitted. A cluster
 * of two cells on a screen of one column gets its own row.
 */
void wrap_row(const struct rows *in, size_t i, const struct wrap *w,
	      struct rows *out);
/* Returns the prefix for the rows after the first one of a line of a list: two
 * cells more than the line's own indent, nothing if it has none. Static. */
struct str rows_indent(struct str line);
/* Wraps all rows of in. */
void wrap_rows(const struct rows *in, const struct wrap *w, struct rows *out);

/* The mark of a cut text, one cell wide. theme_row() writes ">" without UTF-8.
 */
#define ROWS_CUT "\xE2\x80\xA6"
/* Appends a text to the open row in at most `cells` cells, and returns how many
 * it takes. A text that is cut ends in ROWS_CUT. Line ends and tabs become
 * spaces. */
size_t cut_text_add(struct rows *rows, struct style style, struct str text,
		    size_t cells);

#endif
