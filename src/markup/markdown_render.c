/* markdown_render.c - renders blocks of Markdown as rows. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: counting letters to detect lost text; levels, the quotes
 * and lists around a block; tables; and the callbacks of md4c that make rows.
 * Begin reading at markdown_render().
 */
#include "markup/markdown_render.h"

#include <stdio.h>
#include <string.h>

#include <md4c.h>
#include <utf8proc.h>

#include "base/str.h"
#include "markup/highlight.h"
#include "term/rows.h"
#include "term/theme.h"

enum { LEVELS_MOST = 24 };

/* A quote, a list, or a list item. */
struct level {
	char mark[48]; /* prefix of the first row; empty after use */
	char rest[48]; /* prefix of the other rows */
	bool tight;    /* list: no empty rows between its items */
	bool begun;    /* list: has an item */
	size_t number; /* list: number of the next item, or LEVELS_UNORDERED */
};

#define LEVELS_UNORDERED SIZE_MAX

/* The open levels. Zero-initialise. The caller must not open more than
 * LEVELS_MOST. */
struct levels {
	struct level items[LEVELS_MOST];
	size_t n;
	struct buf first; /* prefixes of all levels, joined */
	struct buf rest;
	bool gap; /* an empty row belongs before the next block */
};

enum table_align { TABLE_LEFT = 0, TABLE_CENTRE, TABLE_RIGHT };

enum { TABLE_COLUMNS = 64, TABLE_CELLS = 20000 /* at most */ };

/* A parsed table. Zero-initialise. */
struct table {
	size_t columns; /* at most TABLE_COLUMNS: set by the caller */
	enum table_align align[TABLE_COLUMNS];
	/* One row for each cell, line by line, beginning with the header line.
	 * The caller appends to it. */
	struct rows cells;
};

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

size_t letters_count(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += is_letter(text.ptr[i]);
	return n;
}

size_t letters_count_source(struct str text)
{
	size_t n = letters_count(text);
	struct str line;

	while (str_split(&text, '\n', &line)) {
		size_t digits = 0;

		for (size_t i = 0; i < line.len; i++) {
			char c = line.ptr[i];

			if (c >= '0' && c <= '9')
				digits++;
			else if (c == '.' || c == ')')
				n -= digits, digits = 0;
			else if (digits || (c != ' ' && c != '>' && c != '-' &&
					    c != '*' && c != '+' && c != '\t'))
				break;
		}
	}
	return n;
}

static const struct style muted = { .role = STYLE_MUTED };

static struct level *push_level(struct levels *l)
{
	l->items[l->n] = (struct level){ 0 };
	return &l->items[l->n++];
}

static void levels_quote(struct levels *l, const struct theme *theme)
{
	const char *bar = theme_glyph(theme, GLYPH_QUOTE);
	struct level *quote = push_level(l);

	snprintf(quote->mark, sizeof(quote->mark), "%s ", bar);
	snprintf(quote->rest, sizeof(quote->rest), "%s ", bar);
}

static void levels_list(struct levels *l, bool tight, size_t number)
{
	struct level *list;

	if (l->n && l->items[l->n - 1].tight)
		l->gap = false;
	list = push_level(l);
	list->tight = tight;
	list->number = number;
}

/* Opens a list item with its bullet, number or task mark. */
static void levels_item(struct levels *l, const MD_BLOCK_LI_DETAIL *item,
			const struct theme *theme)
{
	struct level *list = &l->items[l->n - 1];
	struct level *level = push_level(l);
	const char *sign = theme_glyph(theme, GLYPH_BULLET);

	level->tight = list->tight;
	if (list->begun && list->tight)
		l->gap = false;
	list->begun = true;
	if (item->is_task)
		sign = theme_glyph(theme, item->task_mark == ' '
						  ? GLYPH_TASK_OPEN
						  : GLYPH_TASK_DONE);
	if (list->number == LEVELS_UNORDERED)
		snprintf(level->mark, sizeof(level->mark), "%s ", sign);
	else
		snprintf(level->mark, sizeof(level->mark), "%zu. %s%s",
			 list->number++, item->is_task ? sign : "",
			 item->is_task ? " " : "");
	snprintf(level->rest, sizeof(level->rest), "%*s",
		 (int)width_cells(str_of(level->mark)), "");
}

static bool is_spaces(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != ' ')
			return false;
	return true;
}

/* Joins the prefixes of all levels. The mark of a new item is used only once.
 */
static void join_prefixes(struct levels *l)
{
	l->first.max = l->rest.max = sizeof(l->items);
	buf_clear(&l->first);
	buf_clear(&l->rest);
	for (size_t i = 0; i < l->n; i++) {
		struct level *level = &l->items[i];

		buf_adds(&l->first, level->mark[0] ? level->mark : level->rest);
		buf_adds(&l->rest, level->rest);
		level->mark[0] = '\0';
	}
}

/* Begins a block: ends the open row and adds an empty one if needed. Returns
 * the prefixes and the width, valid until the next call. The marks of new items
 * are used up. */
static struct wrap levels_begin(struct levels *l, size_t columns,
				struct rows *out)
{
	struct wrap w = { .columns = columns, .words = true };
	struct str bar;

	rows_close(out);
	if (l->n && l->items[l->n - 1].tight && !l->items[l->n - 1].mark[0])
		l->gap = false;
	join_prefixes(l);
	w.first.text = buf_str(&l->first);
	w.rest.text = buf_str(&l->rest);
	w.first.style = w.rest.style = muted;
	if (l->gap) {
		bar = str_trim(w.rest.text);
		bar.len += bar.len ? (size_t)(bar.ptr - w.rest.text.ptr) : 0;
		bar.ptr = w.rest.text.ptr;
		if (width_cells(bar) <= columns)
			rows_add(out, muted, bar);
		rows_end(out);
	}
	l->gap = true;
	return w;
}

/* Closes the innermost level. An empty item's mark is added to out. */
static void levels_close(struct levels *l, size_t columns, struct rows *out)
{
	const struct level *level = &l->items[l->n - 1];
	struct wrap w;

	if (level->mark[0] && is_spaces(str_of(level->rest))) {
		w = levels_begin(l, columns, out);
		if (width_cells(w.first.text) <= columns)
			rows_add(out, muted, w.first.text);
		rows_close(out);
	}
	l->n--;
}

enum {
	BETWEEN = 3, /* cells between two columns: " | " */
	NARROW = 6,  /* cells; no column is narrowed below this, */
	WORD = 20,   /* nor below its longest word of at most so many cells */
};

struct layout {
	const struct table *t;
	const struct theme *theme;
	const struct wrap *place;
	size_t width[TABLE_COLUMNS]; /* cells of each column */
	size_t least[TABLE_COLUMNS]; /* cells of its longest word */
	bool begun; /* the first row was added, with the prefix place->first */
	struct rows *out;
};

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

/* Returns the cells of the longest word, of those that must not be split. */
static size_t longest_word(struct str text)
{
	size_t most = 0;
	struct str word;

	while (str_split(&text, ' ', &word)) {
		size_t cells = width_cells(word);

		if (cells > most && cells <= WORD)
			most = cells;
	}
	return most;
}

static void measure_columns(struct layout *l)
{
	const struct table *t = l->t;

	for (size_t i = 0; i < t->cells.n; i++) {
		size_t *width = &l->width[i % t->columns];
		size_t *least = &l->least[i % t->columns];
		size_t cells = rows_cells(&t->cells, i);
		size_t word = longest_word(rows_view(&t->cells, i).bytes);

		*width = cells > *width ? cells : *width;
		*least = word > *least ? word : *least;
	}
}

/* Returns the width of a column if the widest columns have `most` cells. */
static size_t column_under(const struct layout *l, size_t column, size_t most)
{
	if (most < l->least[column])
		most = l->least[column];
	return l->width[column] < most ? l->width[column] : most;
}

static size_t width_under(const struct layout *l, size_t most)
{
	size_t sum = BETWEEN * (l->t->columns - 1);

	for (size_t c = 0; c < l->t->columns; c++)
		sum += column_under(l, c, most);
	return sum;
}

/* Narrows the widest columns. Returns false if the table still does not fit. */
static bool fit_columns(struct layout *l)
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
		l->width[c] = column_under(l, c, most);
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

/* Appends the text of a row to the open row of out. */
static void add_row(struct rows *out, const struct rows *from, size_t i)
{
	struct row_view v = rows_view(from, i);

	for (size_t k = 0; k < v.n_spans; k++) {
		rows_add_span(out, from, &v.spans[k],
			      (struct str){ v.bytes.ptr, v.spans[k].len });
		v.bytes = str_skip(v.bytes, v.spans[k].len);
	}
}

/* Adds one row of a wrapped cell, padded to the column's width. */
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

/* Adds one row of a table line, made of one row of each wrapped cell. */
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

/* Adds one line of the table, which has as many rows as its tallest cell. */
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

/* Adds the rule between the header and the other lines. */
static void add_table_rule(struct layout *l)
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

/* Adds "head: cell", for a table that does not fit. */
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

/* Renders the table as a list of "head: cell". */
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

/*
 * Appends the table within place (its prefixes and columns). If the cells do
 * not fit side by side, the widest columns are narrowed and their texts
 * wrapped. If that is not enough, each line becomes a list of "head: cell".
 */
static void table_render(const struct table *t, const struct theme *theme,
			 const struct wrap *place, struct rows *out)
{
	struct wrap bare = { .columns = place->columns };
	struct layout l = { t, theme, place, { 0 }, { 0 }, false, out };

	rows_close(out);
	if (!t->columns || !t->cells.n)
		return;
	if (width_cells(place->rest.text) + NARROW > place->columns ||
	    width_cells(place->first.text) + NARROW > place->columns)
		l.place = &bare;
	measure_columns(&l);
	if (!fit_columns(&l)) {
		add_list(&l);
		return;
	}
	for (size_t i = 0; i < t->cells.n; i += t->columns) {
		add_line(&l, i);
		if (!i)
			add_table_rule(&l);
	}
}

static void table_release(struct table *t)
{
	rows_release(&t->cells);
	*t = (struct table){ 0 };
}

/* Appends a character as UTF-8; an invalid one becomes U+FFFD. */
static void add_code_point(struct buf *out, long c)
{
	utf8proc_uint8_t bytes[4];
	utf8proc_ssize_t n = 0;

	if (c > 0 && utf8proc_codepoint_valid((utf8proc_int32_t)c))
		n = utf8proc_encode_char((utf8proc_int32_t)c, bytes);
	if (n > 0)
		buf_add(out, bytes, (size_t)n);
	else
		buf_adds(out, "\xEF\xBF\xBD");
}

/* Adds the character of "&#38;" or "&#x26;". It has at most seven digits, so a
 * long is sufficient. */
static void add_numeric(struct buf *out, struct str entity)
{
	bool hex = entity.len > 2 && (entity.ptr[2] | 0x20) == 'x';
	long c = 0;

	for (size_t i = hex ? 3 : 2; i + 1 < entity.len && c < 0x110000; i++) {
		unsigned char digit = (unsigned char)entity.ptr[i];
		long value = digit <= '9' ? digit - '0' : (digit | 0x20) - 87;

		c = c * (hex ? 16 : 10) + value;
	}
	add_code_point(out, c < 0x110000 ? c : 0);
}

/* Resolves the common names; any other entity is shown as written. */
static void add_entity(struct buf *out, struct str entity)
{
	static const struct {
		const char *name;
		const char *text;
	} known[] = {
		{ "&amp;", "&" },
		{ "&lt;", "<" },
		{ "&gt;", ">" },
		{ "&quot;", "\"" },
		{ "&apos;", "'" },
		{ "&nbsp;", "\xC2\xA0" },
		{ "&copy;", "\xC2\xA9" },
		{ "&middot;", "\xC2\xB7" },
		{ "&times;", "\xC3\x97" },
		{ "&ndash;", "\xE2\x80\x93" },
		{ "&mdash;", "\xE2\x80\x94" },
		{ "&bull;", "\xE2\x80\xA2" },
		{ "&hellip;", "\xE2\x80\xA6" },
		{ "&larr;", "\xE2\x86\x90" },
		{ "&rarr;", "\xE2\x86\x92" },
	};

	if (str_starts(entity, "&#")) {
		add_numeric(out, entity);
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!str_is(entity, known[i].name))
			continue;
		buf_adds(out, known[i].text);
		return;
	}
	buf_addstr(out, entity);
}

/* Appends code of a table's cell. */
static void add_cell_code(struct buf *out, struct str code)
{
	for (size_t i = 0; i < code.len; i++)
		if (!str_starts(str_skip(code, i), "\\|"))
			buf_addc(out, code.ptr[i]);
}

void md4c_add_text(struct buf *out, MD_TEXTTYPE type, struct str text,
		   bool in_table)
{
	if (type == MD_TEXT_NULLCHAR)
		buf_adds(out, "\xEF\xBF\xBD");
	else if (type == MD_TEXT_ENTITY)
		add_entity(out, text);
	else if (type == MD_TEXT_SOFTBR)
		buf_addc(out, '\n');
	else if (type == MD_TEXT_CODE && in_table)
		add_cell_code(out, text);
	else
		buf_addstr(out, text);
}

void md4c_add_attribute(struct buf *out, const MD_ATTRIBUTE *a)
{
	for (int i = 0; a->size && a->substr_offsets[i] < a->size; i++) {
		MD_OFFSET from = a->substr_offsets[i];
		MD_OFFSET to = a->substr_offsets[i + 1];

		md4c_add_text(out, a->substr_types[i],
			      (struct str){ a->text + from, to - from }, false);
	}
}

enum {
	TEXT_MAX = 1 << 20, /* bytes of one code block, address or link text */
	ROWS_MOST = 50000,  /* rows of one text; no real text has as many */
	RULE = 40,          /* width of a rule in cells */
};

/* Inserted into "]:", so that md4c sees no reference definition and does not
 * drop its line. Rows never contain it, because control characters are removed.
 */
#define NO_REFERENCE "\x01"

struct render {
	const struct markdown_look *look;
	struct rows *out;
	struct levels levels;
	struct rows line; /* text of the current block, not yet wrapped */
	struct rows *into;
	struct table table;
	struct buf code;
	struct highlight highlight;
	struct buf link_text;
	struct buf address;
	int links; /* nesting depth of links and images */
	int bold, italic, strike, mono;
	unsigned heading; /* 1 to 6, or 0 */
	bool in_code;
	bool fenced;    /* the code has lines above and below */
	size_t item;    /* number of the first ordered item; 0: as written */
	size_t letters; /* letters of the source shown so far */
};

/* Wraps the rows of line into the current place. */
static void flush_line(struct render *r)
{
	struct wrap w;

	if (!r->line.n)
		return;
	w = levels_begin(&r->levels, r->look->columns, r->out);
	w.soft = r->look->soft;
	for (size_t i = 0; i < r->line.n; i++) {
		wrap_row(&r->line, i, &w, r->out);
		w.first = w.rest;
	}
	rows_clear(&r->line);
}

static struct style text_style(const struct render *r)
{
	struct style s = { .role = STYLE_PLAIN };

	if (r->heading)
		s = (struct style){ ATTR_BOLD, STYLE_HEADING };
	if (r->heading == 1)
		s.attrs |= ATTR_UNDERLINE;
	else if (r->heading > 2)
		s.attrs |= ATTR_ITALIC;
	if (r->links)
		s.role = STYLE_LINK;
	if (r->mono)
		s.role = STYLE_CODE;
	s.attrs |= (r->bold ? ATTR_BOLD : 0) | (r->italic ? ATTR_ITALIC : 0) |
		   (r->strike ? ATTR_STRIKE : 0);
	return s;
}

static void add_text(struct render *r, struct str text)
{
	if (r->links)
		rows_add_link(r->into, text_style(r), text,
			      buf_str(&r->address));
	else
		rows_add(r->into, text_style(r), text);
	if (r->links)
		buf_addstr(&r->link_text, text);
}

static void begin_link(struct render *r, const MD_ATTRIBUTE *address)
{
	if (r->links++)
		return;
	r->link_text.max = r->address.max = TEXT_MAX;
	buf_clear(&r->link_text);
	buf_clear(&r->address);
	md4c_add_attribute(&r->address, address);
}

/* True if the shown text of a link is its address. */
static bool shows_address(struct str text, struct str address)
{
	return str_eq(text, address) ||
	       (str_starts(address, "mailto:") &&
		str_eq(text, str_skip(address, sizeof("mailto:") - 1)));
}

/* Returns the host of a web address, or all of the address if the host cannot
 * be told apart without doubt. Attack: "https://bank.example@evil.example"
 * looks like an address of the bank. */
static struct str visible_part(struct str address)
{
	struct str rest = address;
	struct str host;
	size_t at;

	if (!str_starts(address, "https://") && !str_starts(address, "http://"))
		return address;
	rest = str_skip(rest, str_find(rest, '/') + 2);
	for (at = 0; at < rest.len && !strchr("/?#", rest.ptr[at]);)
		at++;
	host = (struct str){ rest.ptr, at };
	for (size_t i = 0; i < host.len; i++)
		if (strchr("@\\%", host.ptr[i]))
			return address;
	return host.len ? host : address;
}

/* Ends a link and adds its address and title; of the address only the host if
 * the terminal opens the link. Adds nothing if there is no title and the text
 * is the address. */
static void end_link(struct render *r, const MD_ATTRIBUTE *address,
		     const MD_ATTRIBUTE *title)
{
	struct buf shown = BUF_INIT(TEXT_MAX);

	md4c_add_attribute(&shown, address);
	r->links--;
	if (!shows_address(buf_str(&r->link_text), buf_str(&shown)) ||
	    title->size) {
		if (r->look->theme->opens_links &&
		    rows_address_is_safe(buf_str(&r->address))) {
			buf_clear(&shown);
			buf_addstr(&shown, visible_part(buf_str(&r->address)));
		}
		if (title->size) {
			buf_adds(&shown, " \"");
			md4c_add_attribute(&shown, title);
			buf_addc(&shown, '"');
		}
		rows_adds(r->into, muted, " (");
		rows_add_link(r->into, muted, buf_str(&shown),
			      buf_str(&r->address));
		rows_add(r->into, muted, STR(")"));
		r->letters +=
			letters_count(
				(struct str){ address->text, address->size }) +
			letters_count((struct str){ title->text, title->size });
	}
	buf_release(&shown);
}

static void begin_list(struct render *r, bool tight, size_t number)
{
	if (!r->levels.n && r->item && number != LEVELS_UNORDERED)
		number = r->item;
	levels_list(&r->levels, tight, number);
}

static void begin_item(struct render *r, const MD_BLOCK_LI_DETAIL *item)
{
	r->letters += item->is_task && item->task_mark != ' ';
	levels_item(&r->levels, item, r->look->theme);
}

/* Adds a line above or below fenced code. */
static void add_fence(struct render *r, struct str language,
		      const struct wrap *place)
{
	size_t taken = width_cells(place->rest.text);
	size_t most = r->look->columns > taken ? r->look->columns - taken : 1;
	struct buf line = BUF_INIT(TEXT_MAX);

	theme_add_rule(r->look->theme, language, most < RULE ? most : RULE,
		       &line);
	rows_add(&r->line, muted, buf_str(&line));
	rows_end(&r->line);
	wrap_row(&r->line, 0, place, r->out);
	rows_clear(&r->line);
	buf_release(&line);
}

/* Begins a code block. A fenced one has a line with its language above. */
static void begin_code(struct render *r, const MD_BLOCK_CODE_DETAIL *code)
{
	struct buf info = BUF_INIT(TEXT_MAX);
	struct wrap w;

	r->in_code = true;
	r->fenced = code->fence_char && !r->look->unnamed;
	md4c_add_attribute(&info, &code->info);
	highlight_begin(&r->highlight, buf_str(&info));
	if (r->fenced) {
		w = levels_begin(&r->levels, r->look->columns, r->out);
		add_fence(r, str_trim(buf_str(&info)), &w);
		r->levels.gap = false;
	}
	r->letters +=
		letters_count((struct str){ code->info.text, code->info.size });
	r->code.max = TEXT_MAX;
	buf_clear(&r->code);
	buf_release(&info);
}

/* Renders the collected code with highlighting. */
static void end_code(struct render *r)
{
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);
	struct str rest = buf_str(&r->code);
	struct str line;

	r->in_code = false;
	w.words = false;
	w.soft = r->look->soft;
	while (str_split(&rest, '\n', &line)) {
		highlight_line(&r->highlight, line, &r->line);
		rows_end(&r->line);
		wrap_row(&r->line, 0, &w, r->out);
		rows_clear(&r->line);
		w.first = w.rest;
	}
	w.soft = false;
	if (r->fenced)
		add_fence(r, (struct str){ 0 }, &w);
}

static void add_rule(struct render *r)
{
	const char *bar = theme_glyph(r->look->theme, GLYPH_BOX_H);
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);
	size_t taken = width_cells(w.rest.text);

	for (size_t i = taken; i < r->look->columns && i < taken + RULE; i++)
		rows_adds(&r->line, muted, bar);
	if (r->line.n)
		wrap_row(&r->line, 0, &w, r->out);
	rows_clear(&r->line);
}

static void begin_table(struct render *r, const MD_BLOCK_TABLE_DETAIL *table)
{
	r->table.columns = table->col_count;
	r->into = &r->table.cells;
}

static void end_table(struct render *r)
{
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);

	table_render(&r->table, r->look->theme, &w, r->out);
	table_release(&r->table);
	r->into = &r->line;
}

static void begin_cell(struct render *r, const MD_BLOCK_TD_DETAIL *cell,
		       bool head)
{
	size_t column = r->table.cells.n % r->table.columns;

	r->table.align[column] = cell->align == MD_ALIGN_RIGHT    ? TABLE_RIGHT
				 : cell->align == MD_ALIGN_CENTER ? TABLE_CENTRE
								  : TABLE_LEFT;
	r->bold += head;
}

/* Returns nonzero to stop the parser because a limit is exceeded; its rows are
 * discarded. */
static int check_limits(const struct render *r)
{
	return r->levels.n >= LEVELS_MOST || r->out->n > ROWS_MOST ||
	       r->table.columns > TABLE_COLUMNS ||
	       r->table.cells.n > TABLE_CELLS || r->code.over ||
	       r->link_text.over;
}

/* md4c callback for the beginning of a block. Nonzero stops the parser. */
static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_BLOCK_UL_DETAIL *ul = detail;
	const MD_BLOCK_OL_DETAIL *ol = detail;

	if (check_limits(r))
		return 1;
	flush_line(r);
	if (type == MD_BLOCK_QUOTE)
		levels_quote(&r->levels, r->look->theme);
	else if (type == MD_BLOCK_UL)
		begin_list(r, ul->is_tight, LEVELS_UNORDERED);
	else if (type == MD_BLOCK_OL)
		begin_list(r, ol->is_tight, ol->start);
	else if (type == MD_BLOCK_LI)
		begin_item(r, detail);
	else if (type == MD_BLOCK_CODE)
		begin_code(r, detail);
	else if (type == MD_BLOCK_HR)
		add_rule(r);
	else if (type == MD_BLOCK_TABLE)
		begin_table(r, detail);
	else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
		begin_cell(r, detail, type == MD_BLOCK_TH);
	else if (type == MD_BLOCK_H)
		r->heading = ((MD_BLOCK_H_DETAIL *)detail)->level;
	return check_limits(r);
}

/* md4c callback for the end of a block. Nonzero stops the parser. */
static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;

	(void)detail;
	flush_line(r);
	if (type == MD_BLOCK_CODE)
		end_code(r);
	else if (type == MD_BLOCK_TABLE)
		end_table(r);
	else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
		rows_end(r->into);
	if (type == MD_BLOCK_TH)
		r->bold--;
	if (type == MD_BLOCK_H)
		r->heading = 0;
	if (type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL ||
	    type == MD_BLOCK_OL || type == MD_BLOCK_LI)
		levels_close(&r->levels, r->look->columns, r->out);
	return check_limits(r);
}

static int *span_count(struct render *r, MD_SPANTYPE type)
{
	if (type == MD_SPAN_STRONG)
		return &r->bold;
	if (type == MD_SPAN_EM)
		return &r->italic;
	return type == MD_SPAN_DEL ? &r->strike : &r->mono;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *img = detail;

	if (type == MD_SPAN_IMG)
		rows_add(r->into, muted, STR("image: "));
	if (type == MD_SPAN_A || type == MD_SPAN_IMG)
		begin_link(r, type == MD_SPAN_A ? &a->href : &img->src);
	else
		++*span_count(r, type);
	return check_limits(r);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *img = detail;

	if (type == MD_SPAN_A)
		end_link(r, &a->href, &a->title);
	else if (type == MD_SPAN_IMG)
		end_link(r, &img->src, &img->title);
	else
		--*span_count(r, type);
	return check_limits(r);
}

/* md4c callback for text: collects code, or appends to the current row. */
static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size,
		   void *arg)
{
	struct render *r = arg;
	struct buf one_line = BUF_INIT(TEXT_MAX);

	if (type != MD_TEXT_BR && type != MD_TEXT_SOFTBR)
		r->letters += letters_count((struct str){ text, size });
	if (r->in_code) {
		md4c_add_text(&r->code, type, (struct str){ text, size },
			      false);
	} else if (type == MD_TEXT_BR && r->into == &r->line) {
		rows_end(r->into);
	} else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) {
		add_text(r, STR(" "));
	} else {
		md4c_add_text(&one_line, type, (struct str){ text, size },
			      r->table.columns > 0);
		for (size_t i = 0; i < one_line.len; i++)
			if (one_line.ptr[i] == '\n')
				one_line.ptr[i] = ' ';
		add_text(r, buf_str(&one_line));
	}
	buf_release(&one_line);
	return check_limits(r);
}

/* Copies the source with NO_REFERENCE inserted in each "]:", so that it has no
 * reference definitions. */
static void mask_references(struct str text, struct buf *out)
{
	size_t at;

	out->max = SIZE_MAX / 4;
	while ((at = str_search(text, STR("]:"))) < text.len) {
		buf_add(out, text.ptr, at + 1);
		buf_adds(out, NO_REFERENCE);
		text = str_skip(text, at + 1);
	}
	buf_addstr(out, text);
}

static const MD_PARSER parser = {
	.flags = MD4C_FLAGS,
	.enter_block = enter_block,
	.leave_block = leave_block,
	.enter_span = enter_span,
	.leave_span = leave_span,
	.text = on_text,
};

/* Renders text with md4c. Returns false if there is no parser, it failed or
 * letters were lost. */
static bool parse_markdown(struct render *r, struct str text)
{
	struct buf source = { 0 };
	bool whole;

	mask_references(text, &source);
	whole = r->look->parse && source.len <= UINT32_MAX / 2 &&
		md4c_run(r->look->parse, buf_str(&source), &parser, r) == 0 &&
		r->letters >= letters_count_source(text);
	buf_release(&source);
	return whole;
}

/* Appends text as plain rows, without parsing Markdown. */
static void render_plain(const struct markdown_look *look, struct str text,
			 struct rows *out)
{
	struct wrap w = { .columns = look->columns,
			  .words = true,
			  .soft = look->soft };
	struct rows lines = { 0 };

	while (text.len && text.ptr[text.len - 1] == '\n')
		text.len--;
	rows_add(&lines, plain, text);
	wrap_rows(&lines, &w, out);
	rows_release(&lines);
}

void markdown_render(const struct markdown_look *look, struct str text,
		     size_t item, struct rows *out)
{
	struct rows own = { 0 };
	struct render r = { .look = look, .out = &own, .item = item };

	r.into = &r.line;
	if (parse_markdown(&r, text))
		rows_append(out, &own, 0, own.n);
	else
		render_plain(look, text, out);
	rows_release(&own);
	rows_release(&r.line);
	table_release(&r.table);
	buf_release(&r.levels.first);
	buf_release(&r.levels.rest);
	buf_release(&r.code);
	buf_release(&r.link_text);
	buf_release(&r.address);
}
