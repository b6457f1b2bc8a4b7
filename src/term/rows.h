/* rows.h - lines of styled text for a terminal, cleaned when they are added. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_ROWS_H
#define TERM_ROWS_H

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

#endif
