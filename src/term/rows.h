/* rows.h - rows of styled text for a terminal: cleaned, measured, wrapped. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_ROWS_H
#define TERM_ROWS_H

/*
 * All that the program draws is made of rows. rows_add() is the only way of
 * foreign bytes to a terminal: it cleans them. width_*() measures text in cells
 * of the terminal, wrap_row() cuts rows to the width of the screen. What a
 * style looks like is in theme.h, how rows reach the terminal in screen.h.
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
};

/* What a text is; theme.h says what each looks like. */
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
	uint8_t attrs; /* ATTR_... */
	uint8_t role;  /* enum style_role */
};

/* Bytes of one look within a row. */
struct span {
	size_t len; /* bytes */
	struct style style;
	size_t link; /* 0: none; else 1 + where rows.links holds its address,
			which a NUL ends */
};

/* Where a row begins in bytes and in spans. */
struct row {
	size_t byte;
	size_t span;
};

/*
 * Rows of text. Zero-initialise; owned by the caller. While open, the last row
 * takes what is added next; n counts it. Holds ROWS_MAX_BYTES of text, of
 * which the rest is dropped (bytes.over is set then).
 */
struct rows {
	struct buf bytes;
	struct span *spans;
	size_t n_spans, cap_spans;
	struct row *rows;
	size_t n, cap_rows;
	struct buf links; /* addresses, a NUL after each */
	struct buf clean; /* working memory of rows_add() */
	size_t tab_byte;  /* of the last tab stop; bytes are added behind it */
	bool open;
};

enum { ROWS_MAX_BYTES = 256 << 20, ROWS_TAB = 8, ROWS_MAX_ADDRESS = 2048 };

/*
 * Appends a text to the open row, and opens one when none is. This is the only
 * way of foreign bytes to the terminal: they are cleaned (base/sanitize.h). LF
 * ends the row, a tab becomes spaces up to the next multiple of ROWS_TAB.
 */
void rows_add(struct rows *r, struct style style, struct str text);
void rows_adds(struct rows *r, struct style style, const char *text);
/*
 * The same with an OSC 8 link to address. The text stays and the link is left
 * out when rows_address_is_safe() is not true of it.
 */
void rows_add_link(struct rows *r, struct style style, struct str text,
		   struct str address);
/* Printable ASCII without blanks, at most ROWS_MAX_ADDRESS bytes, of the
 * scheme http, https, mailto or file. */
bool rows_address_is_safe(struct str address);
/* Ends the open row; adds an empty one when none is open. */
void rows_end(struct rows *r);
/* Ends the open row, if there is one. */
void rows_close(struct rows *r);
/* Appends rows first to first + n - 1 of another struct as rows of their own;
 * an open row is ended before. */
void rows_append(struct rows *r, const struct rows *from, size_t first,
		 size_t n);
/* Appends cleaned bytes, as rows_view() gives them, to the open row; link
 * (span.link) is one of from. */
void rows_add_span(struct rows *r, const struct rows *from,
		   const struct span *span, struct str bytes);
/* Drops the first n rows. */
void rows_consume(struct rows *r, size_t n);
/* Empties, keeps the memory. */
void rows_clear(struct rows *r);
void rows_release(struct rows *r);

/* Row i: valid until the rows change. */
struct row_view {
	struct str bytes;
	const struct span *spans;
	size_t n_spans;
};
struct row_view rows_view(const struct rows *r, size_t i);
/* The address of a link, or the empty text. */
struct str rows_link(const struct rows *r, const struct span *span);
/* Width of row i in cells. */
size_t rows_cells(const struct rows *r, size_t i);
/* Same text, styles and links. */
bool rows_equal(const struct rows *a, size_t i, const struct rows *b, size_t j);
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

struct wrap {
	size_t columns; /* of the screen; 0 counts as 1 */
	struct {
		struct str text; /* may be empty */
		struct style style;
	} first, rest; /* before the first row, and before those after it */
	bool words;    /* cut between words where a word fits into a row */
};

/*
 * Appends row i of in as one or more rows of at most w->columns cells. Nothing
 * of the text is lost but the blanks at which a row was cut between words. A
 * word that is longer than a row, and without words every text, is cut between
 * clusters. A prefix that would leave fewer than two cells is left out; a
 * cluster of two cells on a screen of one column becomes a row of its own.
 */
void wrap_row(const struct rows *in, size_t i, const struct wrap *w,
	      struct rows *out);
/* All rows of in. */
void wrap_rows(const struct rows *in, const struct wrap *w, struct rows *out);

/* Adds the beginning of a text to the open row, line ends and tabs as blanks,
 * at most so many cells; returns how many. */
size_t cut_text_add(struct rows *rows, struct style style, struct str text,
		    size_t cells);

#endif
