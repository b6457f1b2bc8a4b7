/* editor_layout.c - clusters and display rows of a draft of any size. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "base/visible.h"
#include "editor/editor_impl.h"
#include "term/width.h"

/*
 * Where a row begins depends on all of its line before it. So that a line may
 * be of any length, a row also ends at the first cluster that begins at or
 * after each multiple of SEGMENT bytes of the text: no more than that is ever
 * read to find a row.
 */
enum { SEGMENT = 16384, CLUSTER_MAX = 256, TAB = 8, UNDRAWN_WIDTH = 80 };

size_t editor_len(const struct editor *e)
{
	return gap_len(&e->text);
}

static size_t row_width(const struct editor *e)
{
	return e->width ? e->width : UNDRAWN_WIDTH;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct str view(struct editor *e, size_t at, size_t max)
{
	return gap_view(&e->text, at, smaller(editor_len(e), at + max));
}

static bool has_hidden(struct str s)
{
	while (s.len) {
		const unsigned char *p = (const unsigned char *)s.ptr;
		size_t n = smaller(str_char_offset(s, 1), s.len);
		uint32_t c = n == 2   ? p[0] & 0x1FU
			     : n == 3 ? p[0] & 0x0FU
				      : p[0] & 0x07U;

		for (size_t i = 1; i < n; i++)
			c = c << 6 | (p[i] & 0x3F);
		if (n > 1 && sanitize_is_invisible(c))
			return true;
		s = str_skip(s, n);
	}
	return false;
}

void editor_label(struct editor *e, size_t at, struct cluster c,
		  struct buf *out)
{
	size_t cells = row_width(e);

	if (c.kind == CLUSTER_PASTE)
		pastes_label(&e->pastes,
			     pastes_read_mark(view(e, at, PASTES_MARK)), out);
	else
		visible_line(view(e, at, c.len), out);
	out->len = width_prefix(buf_str(out), cells);
}

/* Marks upon marks: more than this is no cluster of any script. */
static struct str cut_cluster(struct str s)
{
	size_t n = CLUSTER_MAX;

	if (s.len <= n)
		return s;
	while (n && ((unsigned char)s.ptr[n] & 0xC0) == 0x80)
		n--;
	return (struct str){ s.ptr, n };
}

static struct cluster cluster_of(struct editor *e, size_t at, struct str s,
				 size_t column)
{
	unsigned char b = (unsigned char)s.ptr[0];
	struct cluster c = { 1, 1, CLUSTER_PLAIN };
	struct buf label = BUF_INIT(4096);

	if (b == '\t') {
		c.kind = CLUSTER_TAB;
		c.cells = TAB - column % TAB;
		return c;
	}
	if (b >= 0x20 && b < 0x7F &&
	    (s.len == 1 || (unsigned char)s.ptr[1] < 0x80))
		return c;
	if (b == PASTES_LEAD) {
		c.len = PASTES_MARK;
		c.kind = CLUSTER_PASTE;
	} else {
		c.len = width_next(cut_cluster(s), &c.cells);
		if (!has_hidden((struct str){ s.ptr, c.len }))
			return c;
		c.kind = CLUSTER_HIDDEN;
	}
	editor_label(e, at, c, &label);
	c.cells = width_cells(buf_str(&label));
	buf_release(&label);
	return c;
}

struct cluster editor_cluster(struct editor *e, size_t at, size_t column)
{
	return cluster_of(e, at, view(e, at, CLUSTER_MAX + 4), column);
}

size_t editor_right_of(struct editor *e, size_t at)
{
	return at < editor_len(e) ? at + editor_cluster(e, at, 0).len : at;
}

/* The nearest place at or before, within CLUSTER_MAX, at which a cluster surely
 * begins: that of a character of ASCII or of a paste. */
static size_t sure_before(struct editor *e, size_t at)
{
	size_t least = at > CLUSTER_MAX ? at - CLUSTER_MAX : 0;

	while (at > least &&
	       (at == editor_len(e) || gap_byte(&e->text, at) >= 0x80))
		at--;
	while (at && at < editor_len(e) &&
	       (gap_byte(&e->text, at) & 0xC0) == 0x80)
		at--;
	return at;
}

size_t editor_left_of(struct editor *e, size_t at)
{
	size_t from;
	size_t next;

	if (!at)
		return 0;
	if (gap_byte(&e->text, at - 1) < 0x80)
		return at - 1;
	from = sure_before(e, at - 1);
	while ((next = editor_right_of(e, from)) < at)
		from = next;
	return from;
}

/* The first place at or after a multiple of SEGMENT where a cluster begins. */
static size_t boundary(struct editor *e, size_t at)
{
	size_t from;

	if (!at || at >= editor_len(e))
		return smaller(at, editor_len(e));
	from = sure_before(e, at);
	while (from < at)
		from = editor_right_of(e, from);
	return from;
}

static size_t segment_start(struct editor *e, size_t at)
{
	size_t start = boundary(e, at - at % SEGMENT);

	if (start > at)
		start = boundary(e, at - at % SEGMENT - SEGMENT);
	return start;
}

static size_t segment_end(struct editor *e, size_t start)
{
	return boundary(e, (start / SEGMENT + 1) * SEGMENT);
}

static struct editor_row row_until(struct editor *e, size_t start, size_t limit)
{
	struct str s = view(e, start, limit - start + CLUSTER_MAX + 4);
	struct editor_row row = { start, start, start, false };
	size_t column = 0;

	while (row.end < limit && gap_byte(&e->text, row.end) != '\n') {
		struct cluster c = cluster_of(
			e, row.end, str_skip(s, row.end - start), column);

		if (column + c.cells > row_width(e) && row.end > start)
			break;
		column += c.cells;
		row.end += c.len;
	}
	row.last = row.end == editor_len(e);
	row.next = row.end + (!row.last && row.end < editor_len(e) &&
			      gap_byte(&e->text, row.end) == '\n');
	return row;
}

struct editor_row editor_row_from(struct editor *e, size_t start)
{
	return row_until(e, start, segment_end(e, start));
}

struct editor_row editor_row_at(struct editor *e, size_t at)
{
	size_t start = segment_start(e, at);
	struct editor_row row;

	start = gap_after_last(&e->text, start, at, '\n');
	row = editor_row_from(e, start);
	while (!row.last && row.next <= at)
		row = editor_row_from(e, row.next);
	return row;
}

size_t editor_column(struct editor *e, struct editor_row row, size_t at)
{
	size_t column = 0;

	for (size_t i = row.start; i < at;) {
		struct cluster c = editor_cluster(e, i, column);

		column += c.cells;
		i += c.len;
	}
	return column;
}

size_t editor_place(struct editor *e, struct editor_row row, size_t column)
{
	size_t at = row.start;
	size_t cells = 0;

	while (at < row.end) {
		struct cluster c = editor_cluster(e, at, cells);

		cells += c.cells;
		/* The end of a row that was cut is the next one's begin. */
		if (cells > column ||
		    (at + c.len == row.end && row.next == row.end && !row.last))
			break;
		at += c.len;
	}
	return at;
}
