/* screen_text.c - reduces output to what a terminal would show at the end. */
/* SPDX-License-Identifier: MIT */
/*
 * A screen without a size: struct screen_row is a line of text until a sequence
 * moves the cursor into it; then it has a cell for each column. Rows leave at
 * the top (make_room()) and are final then. Begin reading at
 * screen_text_feed(), then at on_text() and on_control(), to which the parser
 * of base/sanitize.h passes what it has recognised.
 */
#include "base/screen_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/str.h"

/*
 * A row is plain (just bytes) as long as text is only appended to it. The first
 * change of another kind converts it to cells. Each cell refers to bytes in the
 * row's text, so changing a cell costs the same at any column.
 */
enum {
	/* bytes at the end of a row that can still change */
	PLAIN_MAX = 8 << 10,
	CELLS_MAX = 4096, /* maximum cells per row */
	/* maximum bytes of a character with its combining marks */
	CLUSTER_MAX = 64,
	/* unused bytes of a row's text are only dropped if there is more than
	 * this */
	ARENA_MIN = 4 << 10,
	TAB = 8,
};

struct cell {
	uint32_t at; /* offset of the character in the row's text */
	uint16_t len;
	uint8_t width; /* columns; 0: second column of a wide character */
};

struct screen_row {
	struct buf text;
	struct cell *cells; /* owned; NULL if the row is plain */
	size_t n;           /* number of cells, or columns of a plain row */
	size_t room;        /* allocated cells */
	/* bytes of text that the cells use, as counted by the last
	 * compact_text() */
	size_t used;
	size_t given; /* bytes of the row that were already written to out */
	bool ended;   /* the row's line end was written to out */
	bool stale;   /* the row has changed since it was written to out */
	/* the row was too long: its start was written to out and can no longer
	 * change */
	bool cut;
};

static struct screen_row *row_at(struct screen_text *s, size_t i)
{
	return &s->rows[(s->first + i) % SCREEN_TEXT_ROWS];
}

static size_t width_of(uint32_t c)
{
	int width = utf8proc_charwidth((utf8proc_int32_t)c);

	return width < 0 ? 0 : (size_t)width;
}

/* Appends the row as text. If it has cells, without trailing blanks: these are
 * left from longer versions of the row. */
static void append_row(const struct screen_row *r, struct buf *out)
{
	size_t n = r->n;

	if (!r->cells) {
		buf_addstr(out, buf_str(&r->text));
		return;
	}
	while (n && r->cells[n - 1].width == 1 &&
	       (!r->cells[n - 1].len || r->text.ptr[r->cells[n - 1].at] == ' '))
		n--;
	for (size_t i = 0; i < n; i++) {
		const struct cell *c = &r->cells[i];

		if (c->len)
			buf_add(out, r->text.ptr + c->at, c->len);
		else if (c->width)
			buf_addc(out, ' ');
	}
}

/* Writes the part of row i to out that was not written yet. whole: also its
 * line end. */
static void write_row(struct screen_text *s, size_t i, bool whole,
		      struct buf *out)
{
	struct screen_row *r = row_at(s, i);
	size_t number = s->gone + i + 1;
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	struct str now = buf_str(&r->text);

	if (r->ended && !r->stale)
		return;
	if (s->open && (s->open != number || r->stale)) {
		buf_addc(out, '\n');
		if (s->open > s->gone && s->open - s->gone <= s->n)
			row_at(s, s->open - s->gone - 1)->ended = true;
		s->open = 0;
	}
	if (r->stale)
		r->given = 0;
	r->stale = false;
	r->ended = false;
	if (r->cells) {
		append_row(r, &text);
		now = buf_str(&text);
	}
	if (now.len > r->given)
		buf_addstr(out, str_skip(now, r->given));
	if (now.len || r->cut)
		s->open = number;
	r->given = now.len;
	if (whole) {
		buf_addc(out, '\n');
		s->open = 0;
		r->ended = true;
	}
	buf_release(&text);
}

static void clear_row(struct screen_row *r)
{
	free(r->cells);
	r->cells = NULL;
	buf_clear(&r->text);
	r->n = r->room = r->used = 0;
}

static void pop_row(struct screen_text *s)
{
	struct screen_row *r = row_at(s, 0);

	write_row(s, 0, true, s->out);
	clear_row(r);
	*r = (struct screen_row){ .text = r->text };
	s->first = (s->first + 1) % SCREEN_TEXT_ROWS;
	s->n--;
	s->row -= s->row > 0;
	s->gone++;
}

static void push_row(struct screen_text *s)
{
	if (s->n == SCREEN_TEXT_ROWS)
		pop_row(s);
	row_at(s, s->n++)->text.max = SIZE_MAX / 2;
}

static void move_to_next_row(struct screen_text *s)
{
	if (s->row + 1 == s->n) {
		push_row(s);
		s->holds = false;
	}
	if (s->row + 1 < s->n)
		s->row++;
}

static void new_line(struct screen_text *s)
{
	move_to_next_row(s);
	s->col = 0;
}

/* Call before a change of the row, except for appending to it. */
static void mark_changed(struct screen_text *s, struct screen_row *r)
{
	size_t up = s->n - 1 - s->row;

	if (up > s->reach)
		s->reach = up;
	if (!up)
		s->holds = true;
	if (!r->cut && (r->given || r->ended))
		r->stale = true;
}

static void reserve_cells(struct screen_row *r, size_t n)
{
	if (n <= r->room)
		return;
	while (r->room < n)
		r->room = r->room ? 2 * r->room : 128;
	r->cells = xrealloc(r->cells, r->room, sizeof(*r->cells));
}

static void pad_row(struct screen_row *r, size_t n)
{
	reserve_cells(r, n);
	while (r->n < n)
		r->cells[r->n++] = (struct cell){ .width = 1 };
}

/* If only one column of a wide character will be overwritten, replaces the
 * character by blanks. */
static void split_wide(struct screen_row *r, size_t at)
{
	size_t from = at;
	size_t to = at;

	if (at >= r->n || r->cells[at].width)
		return;
	while (from && !r->cells[from].width)
		from--;
	while (to < r->n && !r->cells[to].width)
		to++;
	for (; from < to; from++)
		r->cells[from] = (struct cell){ .width = 1 };
}

/* Removes unused bytes from the row's text if they are more than half of it. */
static void compact_text(struct screen_row *r)
{
	struct buf text = BUF_INIT(SIZE_MAX / 2);

	if (r->text.len < 2 * r->used + ARENA_MIN)
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct cell *c = &r->cells[i];

		if (!c->len)
			continue;
		buf_add(&text, r->text.ptr + c->at, c->len);
		c->at = (uint32_t)(text.len - c->len);
	}
	buf_release(&r->text);
	r->text = text;
	r->used = text.len;
}

/* Adds a combining mark to the character in the column before col. */
static void add_mark(struct screen_row *r, size_t col, struct str bytes)
{
	struct cell *c;

	if (!col) {
		pad_row(r, 1);
		col = 1;
	}
	pad_row(r, col);
	c = &r->cells[col - 1];
	while (!c->width && c > r->cells)
		c--;
	if (c->len + bytes.len > CLUSTER_MAX)
		return;
	if (!c->len || c->at + c->len != r->text.len) {
		struct str old = { r->text.ptr ? r->text.ptr + c->at : "",
				   c->len };
		char copy[CLUSTER_MAX];

		memcpy(copy, old.ptr, old.len);
		c->at = (uint32_t)r->text.len;
		buf_add(&r->text, copy, old.len);
	}
	buf_addstr(&r->text, bytes);
	c->len = (uint16_t)(c->len + bytes.len);
	compact_text(r);
}

static void write_cell(struct screen_row *r, size_t col, struct str bytes,
		       size_t width)
{
	pad_row(r, col);
	split_wide(r, col);
	split_wide(r, col + width);
	reserve_cells(r, col + width);
	r->cells[col] = (struct cell){ (uint32_t)r->text.len,
				       (uint16_t)bytes.len, (uint8_t)width };
	for (size_t i = 1; i < width; i++)
		r->cells[col + i] = (struct cell){ 0 };
	if (r->n < col + width)
		r->n = col + width;
	buf_addstr(&r->text, bytes);
	compact_text(r);
}

/* Returns how many columns a character takes if it begins at col. A tab extends
 * to the next tab stop. */
static size_t columns_of(uint32_t c, size_t col)
{
	return c == '\t' ? TAB - col % TAB : width_of(c);
}

/* Converts the cursor's row to cells and returns it. If the row's start can no
 * longer change, starts a new row for the change. */
static struct screen_row *cells_here(struct screen_text *s)
{
	struct screen_row *r = row_at(s, s->row);
	struct buf plain;
	struct str rest;
	size_t col = 0;

	if (r->cells)
		return r;
	if (r->cut && s->row + 1 == s->n) {
		size_t keep = s->col;

		new_line(s);
		s->col = keep < CELLS_MAX ? keep : 0;
		r = row_at(s, s->row);
	}
	plain = r->text;
	rest = buf_str(&plain);
	r->text = BUF_INIT(SIZE_MAX / 2);
	reserve_cells(r, 1);
	r->n = 0;
	while (rest.len) {
		utf8proc_int32_t c;
		size_t n = (size_t)utf8proc_iterate(
			(const utf8proc_uint8_t *)rest.ptr,
			(utf8proc_ssize_t)(rest.len < 4 ? rest.len : 4), &c);
		struct str one = { rest.ptr, n };
		size_t width = columns_of((uint32_t)c, col);

		if (width)
			write_cell(r, col, one, width);
		else
			add_mark(r, col, one);
		col += width;
		rest = str_skip(rest, n);
	}
	r->used = r->text.len;
	buf_release(&plain);
	return r;
}

/* Writes a row that is too long to out. Everything up to here becomes final. */
static void cut_row(struct screen_text *s)
{
	struct screen_row *r;

	while (s->n > 1 && s->row)
		pop_row(s);
	r = row_at(s, 0);
	write_row(s, 0, false, s->out);
	clear_row(r);
	r->given = 0;
	r->cut = true;
}

/* The cursor's row is full: returns the row in which its text continues. */
static struct screen_row *make_room(struct screen_text *s)
{
	if (s->row + 1 < s->n) {
		s->row = s->n - 1;
		new_line(s);
	} else {
		cut_row(s);
		s->col = row_at(s, s->row)->n = 0;
	}
	return row_at(s, s->row);
}

/* Appends text to the cursor's row, which is plain. Returns how many bytes were
 * appended. */
static size_t append_plain(struct screen_text *s, struct str bytes, uint32_t c)
{
	struct screen_row *r = row_at(s, s->row);
	size_t room = PLAIN_MAX - r->text.len;
	size_t width;

	/* Where a full row ends must not depend on how the input was split. */
	if (room < (c ? bytes.len : 1)) {
		r = make_room(s);
		room = PLAIN_MAX;
	}
	if (!c && bytes.len > room)
		bytes.len = room;
	width = c ? columns_of(c, s->col) : bytes.len;
	buf_addstr(&r->text, bytes);
	r->n += width;
	s->col += width;
	return bytes.len;
}

/* Writes a character at the cursor, in a row with cells. */
static void write_char(struct screen_text *s, struct str one, uint32_t c)
{
	size_t width = columns_of(c, s->col);
	struct screen_row *r;

	if (s->col + width > CELLS_MAX)
		new_line(s);
	r = cells_here(s);
	if (width)
		write_cell(r, s->col, one, width);
	else
		add_mark(r, s->col, one);
	s->col += width;
}

/* Callback for text: bytes is printable ASCII if c is 0, else the character
 * c. */
static void on_text(void *arg, struct str bytes, uint32_t c)
{
	struct screen_text *s = arg;

	while (bytes.len) {
		struct screen_row *r = row_at(s, s->row);
		size_t n = c ? bytes.len : 1;

		if (s->col < r->n || s->row + 1 < s->n || r->ended)
			mark_changed(s, r);
		if (!r->cells && s->col == r->n)
			n = append_plain(s, bytes, c);
		else
			write_char(s, (struct str){ bytes.ptr, n },
				   c ? c : (unsigned char)*bytes.ptr);
		bytes = str_skip(bytes, n);
	}
}

/* Blanks columns from..to (exclusive) of the cursor's row. */
static void erase_columns(struct screen_text *s, size_t from, size_t to)
{
	struct screen_row *r = row_at(s, s->row);

	if (from >= r->n)
		return;
	mark_changed(s, r);
	if (!from && to >= r->n && !r->cut) {
		clear_row(r);
		return;
	}
	r = cells_here(s);
	if (from >= r->n)
		return;
	split_wide(r, from);
	split_wide(r, to);
	if (to >= r->n)
		r->n = from;
	for (size_t i = from; i < to && i < r->n; i++)
		r->cells[i] = (struct cell){ .width = 1 };
}

/* Deletes n columns at the cursor (DCH). */
static void delete_columns(struct screen_text *s, size_t n)
{
	struct screen_row *r = row_at(s, s->row);

	if (s->col >= r->n)
		return;
	mark_changed(s, r);
	r = cells_here(s);
	if (s->col >= r->n)
		return;
	if (n > r->n - s->col)
		n = r->n - s->col;
	split_wide(r, s->col);
	split_wide(r, s->col + n);
	memmove(&r->cells[s->col], &r->cells[s->col + n],
		(r->n - s->col - n) * sizeof(*r->cells));
	r->n -= n;
}

/* Returns the ring index of the first row of the page (see screen_text.h).
 * Starts a page if there is none. */
static size_t page_row(struct screen_text *s)
{
	if (!s->page) {
		while (s->row + 1 < s->n)
			s->row++;
		if (row_at(s, s->row)->n || row_at(s, s->row)->cut)
			new_line(s);
		s->page = s->gone + s->row + 1;
	}
	return s->page > s->gone ? s->page - 1 - s->gone : 0;
}

static void move_to_row(struct screen_text *s, size_t row)
{
	size_t to = page_row(s) + row;

	if (to >= SCREEN_TEXT_ROWS)
		to = SCREEN_TEXT_ROWS - 1;
	while (s->n <= to)
		push_row(s);
	s->row = to;
}

static void erase_rows(struct screen_text *s, size_t from, size_t to)
{
	size_t row = s->row;

	for (s->row = from; s->row < to; s->row++)
		erase_columns(s, 0, SIZE_MAX);
	s->row = row;
}

/* Drops the rows below the cursor. */
static void drop_below(struct screen_text *s)
{
	for (; s->n > s->row + 1; s->n--) {
		struct screen_row *r = row_at(s, s->n - 1);

		if (s->open == s->gone + s->n)
			/* the row that has written an open line is gone: no row
			 * may continue it */
			s->open = SIZE_MAX;
		clear_row(r);
		*r = (struct screen_row){ .text = r->text };
	}
}

static void erase_display(struct screen_text *s, int how)
{
	if (how <= 0) {
		erase_columns(s, s->col, SIZE_MAX);
		drop_below(s);
	} else if (how == 2 && s->page) {
		erase_rows(s, page_row(s), s->n);
	}
}

static void restore_cursor(struct screen_text *s)
{
	size_t row = s->saved[0] > s->gone ? s->saved[0] - s->gone : 0;

	s->row = row < s->n ? row : s->n - 1;
	s->col = s->saved[1];
}

/* Applies a control sequence. n: its parameters, -1 if missing. */
static void on_sequence(struct screen_text *s, unsigned char c, const int *n)
{
	size_t count = n[0] > 0 ? (size_t)n[0] : 1;
	size_t up = count < s->row ? count : s->row;
	size_t down = s->n - 1 - s->row;

	if (down > count)
		down = count;
	switch (c) {
	case 'F':
		s->col = 0; /* fall through */
	case 'A':
		s->row -= up;
		break;
	case 'E':
		s->col = 0; /* fall through */
	case 'B':
	case 'e':
		s->row += down;
		break;
	case 'C':
	case 'a':
		s->col += count < CELLS_MAX ? count : CELLS_MAX;
		if (s->col >= CELLS_MAX)
			s->col = CELLS_MAX - 1;
		break;
	case 'D':
		s->col -= count < s->col ? count : s->col;
		break;
	case 'G':
	case '`':
		s->col = count < CELLS_MAX ? count - 1 : CELLS_MAX - 1;
		break;
	case 'H':
	case 'f':
		move_to_row(s, count - 1);
		s->col = n[1] > 1 ? (size_t)n[1] - 1 : 0;
		if (s->col >= CELLS_MAX)
			s->col = CELLS_MAX - 1;
		break;
	case 'd':
		move_to_row(s, count - 1);
		break;
	case 'J':
		erase_display(s, n[0]);
		break;
	case 'K':
		erase_columns(s, n[0] > 0 ? 0 : s->col,
			      n[0] == 1 ? s->col + 1 : SIZE_MAX);
		break;
	case 'X':
		erase_columns(s, s->col, s->col + count);
		break;
	case 'P':
		delete_columns(s, count);
		break;
	case 's':
		s->saved[0] = s->gone + s->row;
		s->saved[1] = s->col;
		break;
	case 'u':
		restore_cursor(s);
		break;
	default:
		break;
	}
}

static void on_escape(struct screen_text *s, unsigned char c)
{
	static const int one[] = { 1, 1 };

	if (c == '7')
		on_sequence(s, 's', one);
	else if (c == '8')
		on_sequence(s, 'u', one);
	else if (c == 'M')
		on_sequence(s, 'A', one);
	else if (c == 'D')
		move_to_next_row(s);
	else if (c == 'E')
		new_line(s);
}

/* Moves the cursor to column 0. The program will probably write the row
 * again. */
static void move_to_start(struct screen_text *s)
{
	s->col = 0;
	s->holds = true;
}

/* Callback for a control character or a sequence. */
static void on_control(void *arg, enum sanitize_kind kind, unsigned char c,
		       const int *n)
{
	struct screen_text *s = arg;

	if (kind == SANITIZE_CSI)
		on_sequence(s, c, n);
	else if (kind == SANITIZE_ESCAPE)
		on_escape(s, c);
	else if (c == '\n')
		new_line(s);
	else if (c == '\r')
		move_to_start(s);
	else if (c == '\b' && s->col)
		s->col--;
	else if (c == '\t' && s->col < row_at(s, s->row)->n)
		s->col += TAB - s->col % TAB;
	else if (c == '\t')
		on_text(s, STR("\t"), '\t');
}

static void init_rows(struct screen_text *s)
{
	if (s->rows)
		return;
	s->rows = xcalloc(SCREEN_TEXT_ROWS, sizeof(*s->rows));
	push_row(s);
}

/* If s->eager: writes the rows that will not change, provided that only
 * sequences of the kinds seen so far follow. */
static void write_early(struct screen_text *s, struct buf *out)
{
	struct screen_row *last = row_at(s, s->n - 1);

	for (size_t i = 0; i + 1 + s->reach < s->n; i++)
		write_row(s, i, true, out);
	if (!s->reach && !s->holds && s->row + 1 == s->n && s->col == last->n &&
	    !last->cells)
		write_row(s, s->n - 1, false, out);
}

void screen_text_feed(struct screen_text *s, struct str chunk, struct buf *out)
{
	const struct sanitize_sink sink = { .text = on_text,
					    .control = on_control,
					    .arg = s };

	if (!chunk.len && !s->rows)
		/* no input so far, as on most commands' standard error */
		return;
	init_rows(s);
	s->out = out;
	s->clean.sink = &sink;
	sanitize_feed(&s->clean, chunk, NULL);
	s->clean.sink = NULL;
	if (s->eager)
		write_early(s, out);
	s->out = NULL;
}

void screen_text_rest(struct screen_text *s, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		struct screen_row *r = row_at(s, i);

		if (r->ended && !r->stale)
			continue;
		append_row(r, out);
		if (i + 1 < s->n)
			buf_addc(out, '\n');
	}
}

void screen_text_give(struct screen_text *s, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++)
		write_row(s, i, i + 1 < s->n, out);
}

void screen_text_end(struct screen_text *s, struct buf *out)
{
	const struct sanitize_sink sink = { .text = on_text,
					    .control = on_control,
					    .arg = s };
	bool eager = s->eager;

	if (s->rows) {
		s->out = out;
		s->clean.sink = &sink;
		sanitize_end(&s->clean, NULL);
		screen_text_give(s, out);
		for (size_t i = 0; i < SCREEN_TEXT_ROWS; i++) {
			free(s->rows[i].cells);
			buf_wipe(&s->rows[i].text);
		}
		free(s->rows);
	}
	*s = (struct screen_text){ .eager = eager };
}
