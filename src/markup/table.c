/* table.c - cells of text side by side, as wide as the screen allows. */
/* SPDX-License-Identifier: MIT */
#include "markup/table.h"

#include "base/str.h"
#include "term/rows.h"

enum {
	BETWEEN = 3, /* cells between two columns: " | " */
	NARROW = 6,  /* no column is made smaller than this */
};

struct layout {
	const struct table *t;
	const struct theme *theme;
	const struct wrap *place;
	size_t width[TABLE_COLUMNS]; /* cells of each column */
	bool begun;                  /* place.first is used */
	struct rows *out;
};

static const struct style muted = { .role = STYLE_MUTED };
static const struct style plain = { .role = STYLE_PLAIN };

static void add_prefix(struct layout *l)
{
	if (l->begun)
		rows_add(l->out, l->place->rest.style, l->place->rest.text);
	else
		rows_add(l->out, l->place->first.style, l->place->first.text);
	l->begun = true;
}

static size_t place_cells(const struct wrap *place)
{
	size_t taken = width_cells(place->rest.text);

	return taken < place->columns ? place->columns - taken : 1;
}

static void measure(struct layout *l)
{
	const struct table *t = l->t;

	for (size_t i = 0; i < t->cells.n; i++) {
		size_t cells = rows_cells(&t->cells, i);

		if (cells > l->width[i % t->columns])
			l->width[i % t->columns] = cells;
	}
}

static size_t width_under(const struct layout *l, size_t most)
{
	size_t sum = BETWEEN * (l->t->columns - 1);

	for (size_t c = 0; c < l->t->columns; c++)
		sum += l->width[c] < most ? l->width[c] : most;
	return sum;
}

/* Makes the widest columns smaller; false when the table is no table then. */
static bool fit(struct layout *l)
{
	size_t room = place_cells(l->place);
	size_t most = room;

	if (width_under(l, SIZE_MAX / TABLE_COLUMNS / 2) <= room)
		return true;
	while (most > NARROW && width_under(l, most) > room)
		most--;
	if (width_under(l, most) > room)
		return false;
	for (size_t c = 0; c < l->t->columns; c++)
		if (l->width[c] > most)
			l->width[c] = most;
	return true;
}

static void add_blanks(struct rows *out, size_t n)
{
	static const char blanks[] = "                                ";

	while (n) {
		size_t len = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;

		rows_add(out, plain, (struct str){ blanks, len });
		n -= len;
	}
}

/* Adds the text of a row to the open row of out. */
static void add_row(struct rows *out, const struct rows *from, size_t i)
{
	struct row_view v = rows_view(from, i);

	for (size_t k = 0; k < v.n_spans; k++) {
		rows_add_span(out, from, &v.spans[k],
			      (struct str){ v.bytes.ptr, v.spans[k].len });
		v.bytes = str_skip(v.bytes, v.spans[k].len);
	}
}

/* Adds a row of a wrapped cell, with blanks up to the column's width. */
static void add_cell(struct layout *l, const struct rows *text, size_t row,
		     size_t column)
{
	size_t cells = row < text->n ? rows_cells(text, row) : 0;
	size_t space = l->width[column] > cells ? l->width[column] - cells : 0;
	enum table_align align = l->t->align[column];
	size_t left = align == TABLE_RIGHT    ? space
		      : align == TABLE_CENTRE ? space / 2
					      : 0;

	if (row >= text->n && column + 1 == l->t->columns)
		return;
	add_blanks(l->out, left);
	if (row < text->n)
		add_row(l->out, text, row);
	if (column + 1 < l->t->columns)
		add_blanks(l->out, space - left);
}

/* One row of a line: that of each of its wrapped cells. */
static void add_cells(struct layout *l, const struct rows *cells, size_t row)
{
	add_prefix(l);
	for (size_t c = 0; c < l->t->columns; c++) {
		if (c) {
			rows_add(l->out, muted, STR(" "));
			rows_adds(l->out, muted,
				  theme_glyph(l->theme, GLYPH_BOX_V));
			rows_add(l->out, muted, STR(" "));
		}
		add_cell(l, &cells[c], row, c);
	}
	rows_end(l->out);
}

/* One line of the table: as many rows as its highest cell. */
static void add_line(struct layout *l, size_t first)
{
	struct rows cells[TABLE_COLUMNS] = { 0 };
	size_t high = 1;

	for (size_t c = 0; c < l->t->columns; c++) {
		struct wrap w = { .columns = l->width[c], .words = true };

		if (first + c < l->t->cells.n)
			wrap_row(&l->t->cells, first + c, &w, &cells[c]);
		if (cells[c].n > high)
			high = cells[c].n;
	}
	for (size_t row = 0; row < high; row++)
		add_cells(l, cells, row);
	for (size_t c = 0; c < l->t->columns; c++)
		rows_release(&cells[c]);
}

/* The line between the heads and the rest. */
static void add_rule(struct layout *l)
{
	const char *bar = theme_glyph(l->theme, GLYPH_BOX_H);

	add_prefix(l);
	for (size_t c = 0; c < l->t->columns; c++) {
		size_t n = l->width[c] + (c ? 1 : 0) +
			   (c + 1 < l->t->columns ? 1 : 0);

		if (c)
			rows_adds(l->out, muted,
				  theme_glyph(l->theme, GLYPH_BOX_CROSS));
		while (n--)
			rows_adds(l->out, muted, bar);
	}
	rows_end(l->out);
}

/* "head: cell", for what does not fit side by side. */
static void add_entry(struct layout *l, size_t i, size_t column)
{
	const struct table *t = l->t;
	struct wrap w = *l->place;
	struct rows line = { 0 };

	if (l->begun)
		w.first = w.rest;
	l->begun = true;
	w.words = true;
	if (i >= t->columns) {
		add_row(&line, &t->cells, column);
		rows_add(&line, muted, STR(": "));
	}
	add_row(&line, &t->cells, i);
	if (line.n)
		wrap_row(&line, 0, &w, l->out);
	rows_release(&line);
}

static void add_list(struct layout *l)
{
	const struct table *t = l->t;
	size_t first = t->cells.n > t->columns ? t->columns : 0;

	for (size_t i = first; i < t->cells.n; i += t->columns) {
		if (i > first) {
			add_prefix(l);
			rows_end(l->out);
		}
		for (size_t c = 0; c < t->columns && i + c < t->cells.n; c++)
			add_entry(l, i + c, c);
	}
}

void table_render(const struct table *t, const struct theme *theme,
		  const struct wrap *place, struct rows *out)
{
	struct wrap bare = { .columns = place->columns };
	struct layout l = { t, theme, place, { 0 }, false, out };

	rows_close(out);
	if (!t->columns || !t->cells.n)
		return;
	if (width_cells(place->rest.text) + NARROW > place->columns ||
	    width_cells(place->first.text) + NARROW > place->columns)
		l.place = &bare;
	measure(&l);
	if (!fit(&l)) {
		add_list(&l);
		return;
	}
	for (size_t i = 0; i < t->cells.n; i += t->columns) {
		add_line(&l, i);
		if (!i)
			add_rule(&l);
	}
}

void table_release(struct table *t)
{
	rows_release(&t->cells);
	*t = (struct table){ 0 };
}
