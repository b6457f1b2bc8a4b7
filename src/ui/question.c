/* question.c - shows a tool call to the user before it may run. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at question_render(). It has two steps. wrap_item() writes the
 * whole text of an item as rows with a struct pen, which counts columns and
 * spells out what could deceive the reader. Then fair_share() decides how many
 * rows each item may have, and add_change() (a difference) or add_ends() (other
 * texts) selects them.
 */
#include "ui/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	BLANKS_SHOWN = 16, /* columns shown of a run of blanks within a line */
	BLANK_LINES_SHOWN = 3, /* consecutive blank lines shown */
	MARKS_SHOWN = 3,       /* combining marks shown on one letter */
	LEAST_COLUMNS = 10,
	LEAST_ROWS = 3, /* rows of an item: its beginning, the number of hidden
			   rows, its end */
	TAB = 8,
	DIGITS_MOST = 4, /* of the line numbers of a change */
	STEP = 256,      /* rows allocated at once */
};

struct question_rows { /* the rows of one item */
	struct buf text;
	size_t *begin; /* offset in text where each row begins */
	size_t n;
};

struct pen {
	struct question_rows *rows;
	size_t column;
	size_t limit; /* columns in a row */
	bool words;   /* rows end between words where possible */
	bool inked;   /* the row has more than its prefix and blanks */
	size_t word;  /* offset in rows->text of the last word of the row,
			 which may move to the next row; 0: none */
	size_t word_column;
	const char *word_end; /* in the item's text; a quoted string with blanks
				 is one word */
	bool line_begins;     /* only blanks so far in this line of the text */
	bool on_letter; /* the last character was one that combining marks may
			   follow */
	unsigned marks; /* number of combining marks after that character */
	struct line_numbers {
		int digits; /* 0: no numbers are shown */
		size_t added, removed;
		size_t shift; /* added minus removed lines, modulo SIZE_MAX + 1
			       */
	} numbers;
};

/* Begins a new row with the prefix. */
static void begin_row(struct pen *p, const char *prefix)
{
	struct question_rows *r = p->rows;

	if (r->n)
		buf_addc(&r->text, '\n');
	if (r->n % STEP == 0)
		r->begin = xrealloc(r->begin, r->n + STEP, sizeof(*r->begin));
	r->begin[r->n++] = r->text.len;
	buf_adds(&r->text, prefix);
	p->column = strlen(prefix);
	p->word = 0;
	p->inked = false;
}

/* Returns the number of the line of a difference that text begins with, in the
 * old file or in the new one; 0: the line is not one of a file. */
static size_t next_number(struct line_numbers *n, struct str text)
{
	static const char head[] = "@@ line ";

	if (str_starts(text, head)) {
		n->added = strtoul(text.ptr + strlen(head), NULL, 10);
		n->removed = n->added - n->shift;
		return 0;
	}
	switch (n->added && text.len ? text.ptr[0] : 0) {
	case '+':
		n->shift++;
		return n->added++;
	case '-':
		n->shift--;
		return n->removed++;
	case ' ':
		n->removed++;
		return n->added++;
	default:
		return 0;
	}
}

/* Returns how many digits the largest line number of a difference has; 0: too
 * many. A longer prefix could be taken for QUESTION_WRAPPED. */
static int count_digits(struct str text)
{
	struct line_numbers n = { 0 };
	size_t most = 0;
	int digits = 0;

	while (text.len) {
		size_t number = next_number(&n, text);

		most = number > most ? number : most;
		text = str_skip(text, str_find(text, '\n'));
		text = str_skip(text, text.len > 0);
	}
	for (; most; most /= 10)
		digits++;
	return digits <= DIGITS_MOST ? digits : 0;
}

/* Begins the row of the next line of the text. */
static void begin_line(struct pen *p, struct str text)
{
	char prefix[32];
	size_t number = next_number(&p->numbers, text);

	if (number && p->numbers.digits)
		snprintf(prefix, sizeof(prefix), "%*zu | ", p->numbers.digits,
			 number);
	else
		snprintf(prefix, sizeof(prefix), QUESTION_NEXT_LINE);
	begin_row(p, prefix);
}

/* Begins a new row with the last word of this one, if it may move. */
static void wrap_row_at_word(struct pen *p)
{
	struct buf *text = &p->rows->text;
	struct buf word = BUF_INIT(text->max);
	size_t width = 0;

	if (p->word && p->word < text->len) {
		buf_add(&word, text->ptr + p->word, text->len - p->word);
		width = p->column - p->word_column;
		text->len = p->word;
	}
	begin_row(p, QUESTION_WRAPPED);
	buf_addstr(text, buf_str(&word));
	p->column += width;
	p->inked = width;
	buf_release(&word);
}

static void write_bytes(struct pen *p, struct str bytes, size_t width)
{
	if (p->column + width > p->limit)
		wrap_row_at_word(p);
	if (p->column + width > p->limit)
		begin_row(p, QUESTION_WRAPPED);
	buf_addstr(&p->rows->text, bytes);
	p->column += width;
	p->inked = p->inked || bytes.ptr[0] != ' ';
}

static void write_ascii(struct pen *p, const char *text)
{
	for (; *text; text++)
		write_bytes(p, (struct str){ text, 1 }, 1);
	p->on_letter = false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns the length of the word at the front of text. quotes: blanks in a
 * quoted string do not end it. */
static size_t word_length(struct str text, bool quotes)
{
	char quote = '\0';
	size_t n = 0;

	for (; n < text.len && text.ptr[n] != '\n'; n++) {
		char c = text.ptr[n];

		if (!quote && is_blank(c))
			break;
		if (quote && c == quote)
			quote = '\0';
		else if (quotes && !quote && (c == '"' || c == '\''))
			quote = c;
	}
	return quote ? SIZE_MAX : n; /* a quote that does not end in the line */
}

/* Notes where the word at the front of text begins in the row. A word that is
 * longer than a row is cut where the row ends; a quoted string that is longer
 * is cut between its words. */
static void begin_word(struct pen *p, struct str text)
{
	size_t room = p->limit - (sizeof(QUESTION_WRAPPED) - 1);
	size_t n;

	if (!p->words || (p->word_end && text.ptr < p->word_end))
		return;
	n = word_length(text, true);
	if (n > room)
		n = word_length(text, false);
	p->word_end = n ? text.ptr + n : NULL;
	p->word = p->inked && n <= room ? p->rows->text.len : 0;
	p->word_column = p->column;
}

/* Writes the number of blanks instead of the blanks: "[3000 spaces]". */
static void write_counts(struct pen *p, size_t spaces, size_t tabs)
{
	struct buf text = BUF_INIT(100);

	buf_addc(&text, '[');
	if (spaces)
		buf_addf(&text, "%zu space%s", spaces, spaces > 1 ? "s" : "");
	if (spaces && tabs)
		buf_adds(&text, " and ");
	if (tabs)
		buf_addf(&text, "%zu tab%s", tabs, tabs > 1 ? "s" : "");
	buf_addc(&text, ']');
	write_ascii(p, text.ptr);
	buf_release(&text);
}

/* Writes a run of blanks. A long run is shortened, because it would push the
 * text after it off the screen. */
static size_t write_blanks(struct pen *p, struct str text)
{
	size_t shown = p->line_begins ? p->limit / 2 : BLANKS_SHOWN;
	size_t column = p->column;
	size_t spaces = 0;
	size_t n = 0;

	for (; n < text.len && is_blank(text.ptr[n]); n++) {
		spaces += text.ptr[n] == ' ';
		column += text.ptr[n] == ' ' ? 1 : TAB - column % TAB;
	}
	if (column - p->column > shown) {
		write_counts(p, spaces, n - spaces);
		return n;
	}
	for (size_t i = column - p->column; i; i--)
		write_bytes(p, STR(" "), 1);
	p->on_letter = false;
	return n;
}

/* Returns the length of the blank lines at the front and stores their number in
 * *n. The last line of the text does not count. */
static size_t blank_lines(struct str text, size_t *n)
{
	size_t end = 0;

	*n = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\n') {
			++*n;
			end = i + 1;
		} else if (!is_blank(text.ptr[i])) {
			break;
		}
	}
	return end;
}

/* Writes a line break. Many blank lines after it are replaced by their number.
 */
static size_t write_line_end(struct pen *p, struct str text)
{
	char number[48];
	size_t n;
	size_t len = blank_lines(str_skip(text, 1), &n);

	p->line_begins = true;
	p->on_letter = false;
	if (n <= BLANK_LINES_SHOWN) {
		begin_line(p, str_skip(text, 1));
		return 1;
	}
	snprintf(number, sizeof(number), "[%zu blank lines]", n);
	begin_row(p, QUESTION_NEXT_LINE);
	write_ascii(p, number);
	for (size_t at = 1; at < 1 + len; at++)
		if (text.ptr[at - 1] == '\n')
			(void)next_number(&p->numbers, str_skip(text, at));
	begin_line(p, str_skip(text, 1 + len));
	return 1 + len;
}

static void write_byte_escape(struct pen *p, unsigned char byte)
{
	char text[16];

	snprintf(text, sizeof(text), "\\x%02x", byte);
	write_ascii(p, text);
	p->line_begins = false;
}

static void write_char_escape(struct pen *p, unsigned code)
{
	char text[16];

	snprintf(text, sizeof(text), "\\u{%x}", code);
	write_ascii(p, text);
	p->line_begins = false;
}

/* True for characters without a visible glyph: controls, format characters, all
 * spaces except the ASCII one, unassigned and private characters, fillers. */
static bool is_invisible(utf8proc_int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CO:
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_ZS:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return true;
	default:
		/* BRAILLE PATTERN BLANK, MUSICAL SYMBOL NULL NOTEHEAD */
		return utf8proc_get_property(c)->ignorable || c == 0x2800 ||
		       c == 0x1D159;
	}
}

static bool is_mark(utf8proc_int32_t c)
{
	utf8proc_category_t category = utf8proc_category(c);

	return category == UTF8PROC_CATEGORY_MN ||
	       category == UTF8PROC_CATEGORY_ME ||
	       (category == UTF8PROC_CATEGORY_MC && !utf8proc_charwidth(c));
}

static bool is_letter(utf8proc_int32_t c)
{
	utf8proc_category_t category = utf8proc_category(c);

	return category >= UTF8PROC_CATEGORY_LU &&
	       category <= UTF8PROC_CATEGORY_LO;
}

/* True if one more combining mark may be shown as it is. A few accents on a
 * letter are normal text. Many of them, strokes through a character (combining
 * class 1) and enclosing marks can hide text. */
static bool mark_fits(const struct pen *p, utf8proc_int32_t c)
{
	return p->on_letter && p->marks < MARKS_SHOWN &&
	       utf8proc_category(c) != UTF8PROC_CATEGORY_ME &&
	       utf8proc_get_property(c)->combining_class != 1;
}

/* Writes one character and returns its length in bytes. */
static size_t write_char(struct pen *p, struct str text)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t len =
		utf8proc_iterate((const utf8proc_uint8_t *)text.ptr,
				 (utf8proc_ssize_t)text.len, &c);
	struct str bytes = { text.ptr, len > 0 ? (size_t)len : 1 };

	if (len <= 0) {
		write_byte_escape(p, (unsigned char)text.ptr[0]);
	} else if (c < 0x20 || c == 0x7F) {
		write_byte_escape(p, (unsigned char)c);
	} else if (is_invisible(c) || (is_mark(c) && !mark_fits(p, c)) ||
		   (!is_mark(c) && utf8proc_charwidth(c) <= 0)) {
		write_char_escape(p, (unsigned)c);
	} else if (is_mark(c)) {
		p->marks++;
		buf_addstr(&p->rows->text, bytes);
	} else {
		write_bytes(p, bytes, (size_t)utf8proc_charwidth(c));
		p->on_letter = is_letter(c);
		p->marks = 0;
		p->line_begins = false;
	}
	return bytes.len;
}

/* Splits an item's text into rows of the given width. */
static void wrap_item(struct question_rows *r, const struct question_item *item,
		      size_t columns, size_t max)
{
	struct pen p = { .rows = r,
			 .words = !item->is_change,
			 .line_begins = true };
	struct str text = item->text;

	if (columns < LEAST_COLUMNS)
		columns = LEAST_COLUMNS;
	p.limit = columns - 1; /* a terminal may wrap a full row by itself */
	*r = (struct question_rows){ .text = BUF_INIT(max) };
	if (item->is_change) {
		p.numbers.digits = count_digits(text);
		(void)next_number(&p.numbers, text);
	}
	begin_row(&p, "  ");
	write_ascii(&p, item->label);
	write_ascii(&p, ": ");
	begin_word(&p, text);
	while (text.len && !r->text.over) {
		size_t n;

		if (is_blank(text.ptr[0]))
			n = write_blanks(&p, text);
		else if (text.ptr[0] == '\n')
			n = write_line_end(&p, text);
		else
			n = write_char(&p, text);
		if (is_blank(text.ptr[0]))
			begin_word(&p, str_skip(text, n));
		text = str_skip(text, n);
	}
}

static void add_rows(const struct question_rows *r, size_t from, size_t to,
		     struct buf *out)
{
	size_t end = to < r->n ? r->begin[to] : r->text.len;

	if (from >= to)
		return;
	buf_add(out, r->text.ptr + r->begin[from], end - r->begin[from]);
	if (to == r->n)
		buf_addc(out, '\n');
	if (r->text.over)
		out->over = true;
}

/* True if row i of a difference shows an added or a removed line, or a piece of
 * one. before: the answer for the row before it. */
static bool is_changed_row(const struct question_rows *r, size_t i, bool before)
{
	size_t end = i + 1 < r->n ? r->begin[i + 1] : r->text.len;
	struct str row = { r->text.ptr + r->begin[i], end - r->begin[i] };
	size_t sign = question_prefix(row);

	if (str_starts(row, QUESTION_WRAPPED))
		return before;
	return i && sign && row.len > sign &&
	       (row.ptr[sign] == '+' || row.ptr[sign] == '-');
}

/* Stores each row's distance to the next changed row in far. */
static void measure_rows(const struct question_rows *r, size_t *far)
{
	bool changed = false;

	for (size_t i = 0; i < r->n; i++) {
		changed = is_changed_row(r, i, changed);
		far[i] = changed ? 0 : i ? far[i - 1] + 1 : r->n;
	}
	for (size_t i = r->n - 1; i-- > 0;)
		if (far[i] > far[i + 1] + 1)
			far[i] = far[i + 1] + 1;
}

/* Returns the number of rows that are drawn when only these are kept: each gap
 * is one row. */
static size_t count_drawn(const bool *keep, size_t n)
{
	size_t drawn = 0;

	for (size_t i = 0; i < n; i++)
		drawn += keep[i] || !i || keep[i - 1];
	return drawn;
}

/* Keeps as many rows at this distance to a change as fit into share: changed
 * ones from the first on, so that few rows are not spent on gaps, others from
 * both ends. Returns false if not all fit. */
static bool keep_rows(const size_t *far, size_t n, size_t distance,
		      size_t share, bool *keep)
{
	for (size_t a = 0, b = n; a < b;) {
		while (a < b && (keep[a] || far[a] != distance))
			a++;
		if (a < b) {
			keep[a] = true;
			if (count_drawn(keep, n) > share) {
				keep[a] = false;
				return false;
			}
		}
		while (distance && a < b &&
		       (keep[b - 1] || far[b - 1] != distance))
			b--;
		if (distance && a < b) {
			keep[b - 1] = true;
			if (count_drawn(keep, n) > share) {
				keep[b - 1] = false;
				return false;
			}
		}
	}
	return true;
}

/* Adds a difference in `share` rows: the changed rows first, then those near
 * them. Returns the number of rows left out. */
static size_t add_change(const struct question_rows *r, size_t share,
			 struct buf *out)
{
	size_t *far = xcalloc(r->n, sizeof(*far));
	bool *keep = xcalloc(r->n, sizeof(*keep));
	size_t hidden = 0;
	size_t to;

	measure_rows(r, far);
	keep[0] = true;
	for (size_t d = 0; d <= share; d++)
		if (!keep_rows(far, r->n, d, share, keep))
			break;
	for (size_t i = 0; i < r->n; i = to) {
		for (to = i + 1; to < r->n && keep[to] == keep[i];)
			to++;
		if (keep[i] || to == i + 1) {
			add_rows(r, i, to, out);
			continue;
		}
		buf_addf(out, "  ... %zu rows ...\n", to - i);
		hidden += to - i;
	}
	free(far);
	free(keep);
	return hidden;
}

/* Adds the beginning and the end of an item in `share` rows. Returns the number
 * of rows left out. */
static size_t add_ends(const struct question_rows *r, size_t share,
		       struct buf *out)
{
	size_t head;
	size_t hidden;

	if (r->n <= share) {
		add_rows(r, 0, r->n, out);
		return 0;
	}
	head = share / 2;
	hidden = r->n - (share - 1);
	add_rows(r, 0, head, out);
	buf_addf(out, "  ... %zu rows ...\n", hidden);
	add_rows(r, head + hidden, r->n, out);
	return hidden;
}

/* Returns the number of rows that an item can fill. */
static size_t rows_wanted(const struct question_rows *r,
			  const struct question_item *item)
{
	return item->most && item->most < r->n ? item->most : r->n;
}

/* Returns the maximum number of rows for an item if all together have `rows`.
 * Short items are shown in full; long ones share the rest. */
static size_t fair_share(const struct question_rows *r,
			 const struct question_item *items, size_t n,
			 size_t rows)
{
	size_t share = LEAST_ROWS;

	for (;;) {
		size_t sum = 0;
		size_t longer = 0;

		for (size_t i = 0; i < n; i++) {
			size_t wanted = rows_wanted(&r[i], &items[i]);

			sum += wanted <= share ? wanted : share + 1;
			longer += wanted > share;
		}
		if (!longer || sum > rows)
			return share;
		share++;
	}
}

size_t question_render(const struct question_item *items, size_t n,
		       struct question_screen screen, struct buf *out)
{
	struct question_rows *r = xcalloc(n, sizeof(*r));
	size_t hidden = 0;
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < n; i++)
		wrap_item(&r[i], &items[i], screen.columns, out->max);
	if (screen.rows)
		most = fair_share(r, items, n, screen.rows);
	for (size_t i = 0; i < n; i++) {
		size_t share = most;

		if (screen.rows && items[i].most && items[i].most < share)
			share = items[i].most;
		hidden += items[i].is_change && !items[i].most && r[i].n > share
				  ? add_change(&r[i], share, out)
				  : add_ends(&r[i], share, out);
		buf_release(&r[i].text);
		free(r[i].begin);
	}
	free(r);
	return hidden;
}

size_t question_rows(const char *line, size_t columns)
{
	size_t len = strlen(line);

	if (columns < LEAST_COLUMNS)
		columns = LEAST_COLUMNS;
	return len ? (len + columns - 1) / columns : 1;
}
