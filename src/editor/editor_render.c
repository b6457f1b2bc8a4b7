/* editor_render.c - the rows of a draft that are seen, and the caret. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "editor/editor_impl.h"
#include "term/width.h"

static const struct style plain = { 0, STYLE_PLAIN };

static void add_blanks(struct rows *rows, size_t n)
{
	static const char blanks[] = "                ";
	const size_t most = sizeof(blanks) - 1;

	for (size_t part; n; n -= part) {
		part = n < most ? n : most;
		rows_add(rows, plain, (struct str){ blanks, part });
	}
}

static void add_plain(struct editor *e, size_t from, size_t to,
		      struct rows *rows)
{
	if (from < to)
		rows_add(rows, plain, gap_view(&e->text, from, to));
}

static void add_row(struct editor *e, struct editor_row row, struct rows *rows)
{
	size_t column = 0;
	size_t from = row.start;

	for (size_t at = row.start; at < row.end;) {
		struct cluster c = editor_cluster(e, at, column);
		struct buf label = BUF_INIT(4096);

		column += c.cells;
		at += c.len;
		if (c.kind == CLUSTER_PLAIN)
			continue;
		add_plain(e, from, at - c.len, rows);
		from = at;
		if (c.kind == CLUSTER_TAB) {
			add_blanks(rows, c.cells);
			continue;
		}
		editor_label(e, at - c.len, c, &label);
		rows_add(rows,
			 (struct style){ 0, c.kind == CLUSTER_PASTE
						    ? STYLE_ACCENT
						    : STYLE_MUTED },
			 buf_str(&label));
		buf_release(&label);
	}
	add_plain(e, from, row.end, rows);
}

static size_t row_before(struct editor *e, size_t start)
{
	return start ? editor_row_at(e, start - 1).start : 0;
}

/* Rows from one place to the row that begins at another, at most max. */
static size_t count_rows(struct editor *e, size_t from, size_t to, size_t max)
{
	size_t n = 0;

	while (from < to && n < max) {
		struct editor_row row = editor_row_from(e, from);

		n++;
		if (row.last)
			break;
		from = row.next;
	}
	return n;
}

/* Moves the view so that the caret's row is in it, and as much text as there
 * is room for. */
static void scroll(struct editor *e, size_t caret_row, size_t max)
{
	struct editor_row row;
	size_t n = 1;

	e->top = editor_row_at(e,
			       e->top < editor_len(e) ? e->top : editor_len(e))
			 .start;
	if (caret_row < e->top)
		e->top = caret_row;
	if (count_rows(e, e->top, caret_row, max) >= max) {
		e->top = caret_row;
		for (size_t i = 1; i < max; i++)
			e->top = row_before(e, e->top);
	}
	row = editor_row_from(e, e->top);
	for (; n < max && !row.last; n++)
		row = editor_row_from(e, row.next);
	for (; n < max && e->top; n++)
		e->top = row_before(e, e->top);
}

/* The prompt is left out where it would leave too little room. */
static size_t fit_prompt(struct editor *e, size_t columns)
{
	size_t prompt = width_cells(e->prompt);

	if (columns < prompt + 8)
		prompt = 0;
	e->width = columns > prompt + 2 ? columns - prompt - 1 : 2;
	return prompt;
}

void editor_render(struct editor *e, size_t columns, size_t max_rows,
		   struct rows *rows, size_t *caret_row, size_t *caret_column)
{
	size_t prompt = fit_prompt(e, columns);
	struct editor_row caret = editor_row_at(e, e->caret);
	struct editor_row row;

	if (!max_rows)
		max_rows = 1;
	scroll(e, caret.start, max_rows);
	*caret_column = prompt + editor_column(e, caret, e->caret);
	*caret_row = count_rows(e, e->top, caret.start, max_rows);
	row = editor_row_from(e, e->top);
	for (size_t n = 0; n < max_rows; n++) {
		if (prompt && !row.start)
			rows_add(rows, e->prompt_style, e->prompt);
		else
			add_blanks(rows, prompt);
		add_row(e, row, rows);
		rows_end(rows);
		if (row.last)
			break;
		row = editor_row_from(e, row.next);
	}
}
