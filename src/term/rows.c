/* rows.c - rows of styled text for a terminal: cleaned, measured, wrapped. */
/* SPDX-License-Identifier: MIT */
#include "term/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum { VARIATION_SELECTOR_16 = 0xFE0F };

static const utf8proc_property_t *get_property(utf8proc_int32_t c)
{
	return utf8proc_get_property(c);
}

static bool is_prepended(utf8proc_int32_t c)
{
	return get_property(c)->boundclass == UTF8PROC_BOUNDCLASS_PREPEND;
}

static bool is_spacing(utf8proc_int32_t c)
{
	return get_property(c)->category == UTF8PROC_CATEGORY_MC ||
	       get_property(c)->boundclass == UTF8PROC_BOUNDCLASS_SPACINGMARK;
}

/* Returns the cells of a single character. utf8proc returns 0 for spacing marks
 * and for the signs before Arabic and other numbers; tmux 3.3a and
 * xterm.js 6.0.0 use one cell. */
static size_t width_char(utf8proc_int32_t c)
{
	size_t cells = get_property(c)->charwidth;

	return !cells && (is_spacing(c) || is_prepended(c)) ? 1 : cells;
}

static bool is_regional(utf8proc_int32_t c)
{
	return c >= 0x1F1E6 && c <= 0x1F1FF;
}

/* Returns the length of the first character; *c is -1 if it is not UTF-8. */
static size_t next_char(struct str s, utf8proc_int32_t *c)
{
	utf8proc_ssize_t n;

	n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
			     s.len < 4 ? (utf8proc_ssize_t)s.len : 4, c);
	if (n > 0)
		return (size_t)n;
	*c = -1;
	return 1;
}

/* Adds to a cluster's width the width that its next character contributes. */
static void widen_cluster(size_t *cells, utf8proc_int32_t before,
			  utf8proc_int32_t c)
{
	if (c == VARIATION_SELECTOR_16 && *cells)
		*cells = 2;
	else if (is_regional(before) && is_regional(c))
		*cells = 2;
	else if (!*cells || is_spacing(c) || is_prepended(before))
		*cells += width_char(c);
}

size_t width_next(struct str s, size_t *cells)
{
	utf8proc_int32_t state = 0;
	utf8proc_int32_t before;
	utf8proc_int32_t c;
	size_t len;

	*cells = 0;
	if (!s.len)
		return 0;
	if (s.ptr[0] >= 0x20 && s.ptr[0] < 0x7F &&
	    (s.len == 1 || !((unsigned char)s.ptr[1] & 0x80))) {
		*cells = 1;
		return 1;
	}
	len = next_char(s, &before);
	*cells = before < 0 ? 1 : width_char(before);
	while (before >= 0 && len < s.len) {
		size_t n = next_char(str_skip(s, len), &c);

		if (c < 0 ||
		    utf8proc_grapheme_break_stateful(before, c, &state))
			break;
		widen_cluster(cells, before, c);
		before = c;
		len += n;
	}
	return len;
}

size_t width_cells(struct str s)
{
	size_t total = 0;
	size_t cells;
	size_t n;

	while ((n = width_next(s, &cells))) {
		total += cells;
		s = str_skip(s, n);
	}
	return total;
}

size_t width_prefix(struct str s, size_t cells)
{
	size_t bytes = 0;
	size_t wide;
	size_t n;

	while ((n = width_next(str_skip(s, bytes), &wide)) && wide <= cells) {
		cells -= wide;
		bytes += n;
	}
	return bytes;
}

void width_drop_last(struct buf *text)
{
	size_t at = 0;
	size_t last = 0;
	size_t cells;

	while (at < text->len) {
		last = at;
		at += width_next(str_skip(buf_str(text), at), &cells);
	}
	text->len = last;
}

/* Makes room for one element after the first count; doubles the array if it is
 * full. */
static void *grow_array(void *array, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	return xrealloc(array, *cap, size);
}

static void open_row(struct rows *r)
{
	if (r->open)
		return;
	r->rows = grow_array(r->rows, r->n, &r->cap_rows, sizeof(*r->rows));
	r->rows[r->n++] = (struct row){ r->bytes.len, r->n_spans };
	r->open = true;
}

void rows_close(struct rows *r)
{
	r->open = false;
}

void rows_end(struct rows *r)
{
	open_row(r);
	rows_close(r);
}

static bool same_look(const struct span *a, const struct span *b)
{
	return a->style.attrs == b->style.attrs &&
	       a->style.role == b->style.role && a->link == b->link;
}

/* Appends clean bytes to the open row. They join the previous span if that has
 * the same look. */
static void add_bytes(struct rows *r, struct span look, struct str text)
{
	size_t before = r->bytes.len;

	r->bytes.max = ROWS_MAX_BYTES;
	buf_addstr(&r->bytes, text);
	look.len = r->bytes.len - before;
	if (!look.len)
		return;
	if (r->n_spans > r->rows[r->n - 1].span &&
	    same_look(&r->spans[r->n_spans - 1], &look)) {
		r->spans[r->n_spans - 1].len += look.len;
		return;
	}
	r->spans = grow_array(r->spans, r->n_spans, &r->cap_spans,
			      sizeof(*r->spans));
	r->spans[r->n_spans++] = look;
}

/* A combining mark without a base would change the cell before the row, so it
 * gets a space as its base. */
static void add_base(struct rows *r, struct span look, struct str text)
{
	size_t cells;

	if (r->bytes.len > r->rows[r->n - 1].byte)
		return;
	if (width_next(text, &cells) && !cells)
		add_bytes(r, look, STR(" "));
}

/* Returns the width in cells of the open row after its last tab stop. Starting
 * there means that a row with many tabs is measured only once. */
static size_t cells_behind_stop(const struct rows *r)
{
	size_t from = r->rows[r->n - 1].byte;

	if (r->tab_byte > from)
		from = r->tab_byte;
	return width_cells(str_skip(buf_str(&r->bytes), from));
}

/* Appends text without LF. */
static void add_piece(struct rows *r, struct span look, struct str text)
{
	static const char blanks[ROWS_TAB + 1] = "        ";

	while (text.len) {
		size_t n = str_find(text, '\t');

		if (n)
			add_base(r, look, (struct str){ text.ptr, n });
		add_bytes(r, look, (struct str){ text.ptr, n });
		if (n < text.len) {
			size_t at = cells_behind_stop(r) % ROWS_TAB;

			add_bytes(r, look,
				  (struct str){ blanks, ROWS_TAB - at });
			r->tab_byte = r->bytes.len;
			n++;
		}
		text = str_skip(text, n);
	}
}

/* Cleans text and appends it; each LF ends a row. */
static void add_text(struct rows *r, struct span look, struct str text)
{
	struct str rest;

	r->clean.max = ROWS_MAX_BYTES;
	buf_clear(&r->clean);
	sanitize_text(text, &r->clean);
	rest = buf_str(&r->clean);
	while (rest.len) {
		size_t n = str_find(rest, '\n');

		open_row(r);
		add_piece(r, look, (struct str){ rest.ptr, n });
		if (n < rest.len) {
			rows_close(r);
			n++;
		}
		rest = str_skip(rest, n);
	}
}

void rows_add(struct rows *r, struct style style, struct str text)
{
	add_text(r, (struct span){ .style = style }, text);
}

void rows_adds(struct rows *r, struct style style, const char *text)
{
	rows_add(r, style, str_of(text));
}

bool rows_address_is_safe(struct str address)
{
	static const char *const schemes[] = { "http://", "https://",
					       "mailto:", "file://" };

	if (!address.len || address.len > ROWS_MAX_ADDRESS)
		return false;
	for (size_t i = 0; i < address.len; i++)
		if (address.ptr[i] <= ' ' || address.ptr[i] >= 0x7F)
			return false;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		struct str head = { address.ptr, strlen(schemes[i]) };

		if (head.len < address.len && str_is_nocase(head, schemes[i]))
			return true;
	}
	return false;
}

/* Stores a safe address in links and returns its value for span.link. */
static size_t add_address(struct rows *r, struct str address)
{
	size_t at = r->links.len;

	r->links.max = ROWS_MAX_BYTES;
	if (!buf_room(&r->links, address.len + 1))
		return 0;
	buf_addstr(&r->links, address);
	buf_addc(&r->links, '\0');
	return at + 1;
}

void rows_add_link(struct rows *r, struct style style, struct str text,
		   struct str address)
{
	struct span look = { .style = style };

	if (rows_address_is_safe(address))
		look.link = add_address(r, address);
	add_text(r, look, text);
}

struct str rows_link(const struct rows *r, const struct span *span)
{
	return span->link ? str_of(r->links.ptr + span->link - 1)
			  : (struct str){ 0 };
}

void rows_add_span(struct rows *r, const struct rows *from,
		   const struct span *span, struct str bytes)
{
	struct str address = rows_link(from, span);
	struct span look = { .style = span->style };

	open_row(r);
	/* Consecutive pieces of one link share the stored address. */
	if (span->link) {
		const struct span *last =
			r->n_spans ? &r->spans[r->n_spans - 1] : NULL;

		look.link = last && last->link &&
					    str_eq(rows_link(r, last), address)
				    ? last->link
				    : add_address(r, address);
	}
	add_bytes(r, look, bytes);
}

void rows_append(struct rows *r, const struct rows *from, size_t first,
		 size_t n)
{
	rows_close(r);
	for (size_t i = first; i < first + n; i++) {
		struct row_view v = rows_view(from, i);

		open_row(r);
		for (size_t k = 0; k < v.n_spans; k++) {
			rows_add_span(
				r, from, &v.spans[k],
				(struct str){ v.bytes.ptr, v.spans[k].len });
			v.bytes = str_skip(v.bytes, v.spans[k].len);
		}
		rows_close(r);
	}
}

void rows_consume(struct rows *r, size_t n)
{
	struct row at;

	if (n >= r->n) {
		rows_clear(r);
		return;
	}
	at = r->rows[n];
	r->tab_byte = 0;
	buf_consume(&r->bytes, at.byte);
	r->n_spans -= at.span;
	if (r->n_spans)
		memmove(r->spans, r->spans + at.span,
			r->n_spans * sizeof(*r->spans));
	r->n -= n;
	for (size_t i = 0; i < r->n; i++)
		r->rows[i] = (struct row){ r->rows[i + n].byte - at.byte,
					   r->rows[i + n].span - at.span };
}

void rows_clear(struct rows *r)
{
	buf_clear(&r->bytes);
	buf_clear(&r->links);
	r->tab_byte = 0;
	r->n_spans = 0;
	r->n = 0;
	r->open = false;
}

void rows_release(struct rows *r)
{
	buf_release(&r->bytes);
	buf_release(&r->links);
	buf_release(&r->clean);
	free(r->spans);
	free(r->rows);
	*r = (struct rows){ 0 };
}

struct row_view rows_view(const struct rows *r, size_t i)
{
	struct row at = r->rows[i];
	struct row end = { r->bytes.len, r->n_spans };
	struct row_view v = { 0 };

	if (i + 1 < r->n)
		end = r->rows[i + 1];
	if (end.byte == at.byte || !r->bytes.ptr || !r->spans)
		return v;
	v.bytes = (struct str){ r->bytes.ptr + at.byte, end.byte - at.byte };
	v.spans = r->spans + at.span;
	v.n_spans = end.span - at.span;
	return v;
}

size_t rows_cells(const struct rows *r, size_t i)
{
	return width_cells(rows_view(r, i).bytes);
}

bool rows_equal(const struct rows *a, size_t i, const struct rows *b, size_t j)
{
	struct row_view x = rows_view(a, i);
	struct row_view y = rows_view(b, j);

	if (x.n_spans != y.n_spans || !str_eq(x.bytes, y.bytes))
		return false;
	for (size_t k = 0; k < x.n_spans; k++) {
		const struct span *s = &x.spans[k];
		const struct span *t = &y.spans[k];

		if (s->len != t->len || s->style.attrs != t->style.attrs ||
		    s->style.role != t->style.role ||
		    !str_eq(rows_link(a, s), rows_link(b, t)))
			return false;
	}
	return true;
}

enum { SOFT_CELLS = 16384 /* at most, of a row that the terminal wraps */ };

/* The rest of a row that is being wrapped. */
struct remainder {
	const struct rows *in;
	struct str bytes;
	const struct span *span;
	size_t used; /* bytes of *span already output */
};

static size_t count_spaces(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] == ' ')
		n++;
	return n;
}

/* Returns the length of the word at the front, with the spaces before it. */
static size_t word_length(struct str s)
{
	size_t n = count_spaces(s);

	return n + str_find(str_skip(s, n), ' ');
}

/* Returns the bytes for the next row of at most `cells` cells. *skip: the
 * spaces after them, which are dropped. */
static size_t find_cut(struct str s, size_t cells, const struct wrap *w,
		       size_t *skip)
{
	bool words = w->words;
	size_t most;
	size_t cut;
	size_t wide;

	*skip = 0;
	if (w->soft && !words)
		return width_prefix(s, SOFT_CELLS);
	most = width_prefix(s, cells);
	if (!most) /* a single cluster is wider than the row */
		return width_next(s, &wide);
	if (most == s.len || !words)
		return most;
	for (cut = most; cut && s.ptr[cut] != ' ';)
		cut--;
	/* Spaces at the beginning are indentation, not a place to wrap. */
	while (cut && s.ptr[cut - 1] == ' ')
		cut--;
	if (!cut && !w->soft)
		return most;
	if (!cut)
		cut = width_prefix((struct str){ s.ptr, word_length(s) },
				   SOFT_CELLS);
	*skip = count_spaces(str_skip(s, cut));
	return cut;
}

/* Moves n bytes to out, or drops them if out is NULL. */
static void move_bytes(struct remainder *r, size_t n, struct rows *out)
{
	while (n) {
		size_t len = r->span->len - r->used;

		if (len > n)
			len = n;
		if (out)
			rows_add_span(out, r->in, r->span,
				      (struct str){ r->bytes.ptr, len });
		r->bytes = str_skip(r->bytes, len);
		r->used += len;
		n -= len;
		if (r->used == r->span->len) {
			r->span++;
			r->used = 0;
		}
	}
}

void wrap_row(const struct rows *in, size_t i, const struct wrap *w,
	      struct rows *out)
{
	struct row_view v = rows_view(in, i);
	struct remainder r = { in, v.bytes, v.spans, 0 };
	size_t columns = w->columns ? w->columns : 1;
	bool first = true;

	rows_close(out);
	do {
		struct str text = first ? w->first.text : w->rest.text;
		size_t taken = width_cells(text);
		size_t skip;
		size_t n;

		if (taken && taken + 2 <= columns)
			rows_add(out, first ? w->first.style : w->rest.style,
				 text);
		else
			taken = 0;
		n = find_cut(r.bytes, columns - taken, w, &skip);
		move_bytes(&r, n, out);
		move_bytes(&r, skip, NULL);
		rows_end(out);
		first = false;
	} while (r.bytes.len);
}

struct str rows_indent(struct str line)
{
	static const char blanks[] = "          ";
	size_t n = 0;

	while (n < line.len && n < sizeof(blanks) - 3 && line.ptr[n] == ' ')
		n++;
	return (struct str){ blanks, n ? n + 2 : 0 };
}

void wrap_rows(const struct rows *in, const struct wrap *w, struct rows *out)
{
	for (size_t i = 0; i < in->n; i++)
		wrap_row(in, i, w, out);
}

enum { CUT_TEXT_MAX = 4096 };

size_t cut_text_add(struct rows *rows, struct style style, struct str text,
		    size_t cells)
{
	struct buf line = BUF_INIT(2 * CUT_TEXT_MAX);
	struct str cut;
	size_t used;

	/* Only examine as much of a long text as a screen can show. */
	if (text.len > CUT_TEXT_MAX)
		text.len = CUT_TEXT_MAX;
	sanitize_line(text, &line);
	cut = buf_str(&line);
	used = width_cells(cut);
	if (used > cells) {
		cut.len = width_prefix(cut, cells > 1 ? cells - 1 : cells);
		used = width_cells(cut);
	}
	rows_add(rows, style, cut);
	if (cut.len < line.len && used < cells) {
		rows_adds(rows, style, ROWS_CUT);
		used++;
	}
	buf_release(&line);
	return used;
}
