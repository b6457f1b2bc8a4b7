/* draw.c - rows as bytes for a terminal, and where it has put them. */
/* SPDX-License-Identifier: MIT */
#include "term/draw.h"

#include <stdlib.h>

#include "base/str.h"
#include "term/width.h"

static bool is_plain(struct style s)
{
	return !s.attrs && s.role == STYLE_PLAIN;
}

static void draw_span(const struct theme *t, const struct rows *rows,
		      const struct span *span, struct str text, struct buf *out)
{
	struct str address = rows_link(rows, span);
	bool links = t->links && address.len;

	if (!is_plain(span->style))
		theme_style(t, span->style, out);
	if (links) {
		buf_adds(out, "\x1b]8;;");
		buf_addstr(out, address);
		buf_adds(out, "\x1b\\");
	}
	buf_addstr(out, text);
	if (links)
		buf_adds(out, "\x1b]8;;\x1b\\");
	if (!is_plain(span->style))
		buf_adds(out, "\x1b[0m");
}

static void draw_spans(const struct theme *t, const struct rows *rows, size_t i,
		       size_t cells, struct buf *out)
{
	struct row_view v = rows_view(rows, i);
	size_t len = width_prefix(v.bytes, cells);

	for (size_t k = 0; k < v.n_spans && len; k++) {
		struct str text = { v.bytes.ptr, v.spans[k].len };

		if (text.len > len)
			text.len = len;
		draw_span(t, rows, &v.spans[k], text, out);
		v.bytes = str_skip(v.bytes, text.len);
		len -= text.len;
	}
}

void draw_text(const struct theme *t, const struct rows *rows, size_t i,
	       struct buf *out)
{
	draw_spans(t, rows, i, SIZE_MAX, out);
}

void draw_row(const struct theme *t, const struct rows *rows, size_t i,
	      size_t cells, struct buf *out)
{
	/* Erased first: behind a row that fills the screen the cursor stands
	 * on its last cell, and erasing there would take that. */
	buf_adds(out, "\x1b[K");
	draw_spans(t, rows, i, cells, out);
}

void draw_move(long rows, struct buf *out)
{
	buf_addc(out, '\r');
	if (rows)
		buf_addf(out, "\x1b[%ld%c", labs(rows), rows > 0 ? 'B' : 'A');
}

size_t draw_wrapped_at(struct str text, size_t cell, size_t columns)
{
	size_t column = 0;
	size_t row = 0;
	size_t cells;
	size_t n;

	while (cell && (n = width_next(text, &cells))) {
		if (column + cells > columns) {
			row++;
			column = 0;
		}
		column += cells;
		cell -= cells < cell ? cells : cell;
		text = str_skip(text, n);
	}
	/* Behind the last cell of a full row: before the next one's first, if
	 * there is more text. */
	if (text.len && column >= columns)
		row++;
	return row;
}

size_t draw_wrapped(struct str text, size_t columns)
{
	return draw_wrapped_at(text, SIZE_MAX, columns) + 1;
}
