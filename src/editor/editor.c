/* editor.c - edits a draft of several lines: keys in, rows and a caret out. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: the cut texts that Ctrl+Y inserts; clusters and display
 * rows, which map positions to rows and columns; drawing; undo; changes and
 * pastes; the keys. Begin reading at bindings[], the table of key functions,
 * and at editor_render(). The bytes themselves are in draft_text.h.
 */
#include "editor/editor.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "term/rows.h"

enum kill_how {
	KILL_NEW,
	KILL_AFTER,  /* append to the newest text */
	KILL_BEFORE, /* prepend to the newest text */
};

/* A row as drawn: bytes start..end. The next row begins at `next`, which equals
 * end if the line was wrapped and is one more after a line end. */
struct draft_row {
	size_t start;
	size_t end;
	size_t next;
	bool last;  /* the last row of the text */
	bool hangs; /* its last character is a blank that is not drawn */
};

enum cluster_kind { CLUSTER_PLAIN, CLUSTER_TAB, CLUSTER_PASTE, CLUSTER_HIDDEN };

struct cluster {
	size_t len;
	size_t cells;
	enum cluster_kind kind;
};

static void kills_drop(struct kills *k, size_t i)
{
	buf_release(&k->texts[i]);
	k->n--;
	memmove(&k->texts[i], &k->texts[i + 1],
		(k->n - i) * sizeof(k->texts[0]));
	k->texts[k->n] = (struct buf){ 0 };
}

/* Adds a cut text to the list, or joins it to the newest one. */
static void kills_add(struct kills *k, struct str text, enum kill_how how)
{
	struct buf new = BUF_INIT(SIZE_MAX);

	k->at = 0;
	if (!text.len)
		return;
	if (how == KILL_AFTER && k->n) {
		buf_addstr(&k->texts[0], text);
		return;
	}
	buf_addstr(&new, text);
	if (how == KILL_BEFORE && k->n) {
		buf_addstr(&new, buf_str(&k->texts[0]));
		kills_drop(k, 0);
	}
	if (k->n == KILLS_MAX)
		kills_drop(k, KILLS_MAX - 1);
	memmove(&k->texts[1], &k->texts[0], k->n * sizeof(k->texts[0]));
	k->texts[0] = new;
	k->n++;
}

/* Drops the cut texts that contain this byte, for example the markers of pastes
 * that no longer exist. */
static void kills_drop_with(struct kills *k, char byte)
{
	for (size_t i = k->n; i-- > 0;) {
		struct str text = buf_str(&k->texts[i]);

		if (str_find(text, byte) < text.len)
			kills_drop(k, i);
	}
	k->at = 0;
}

/*
 * The beginning of a row depends on the whole line before it. To allow lines of
 * any length, a row also ends at the first cluster at or after each multiple of
 * SEGMENT bytes. So a row can be found without reading the whole line.
 */
enum { SEGMENT = 16384, CLUSTER_MAX = 256, TAB = 8, UNDRAWN_WIDTH = 80 };

static size_t text_len(const struct editor *e)
{
	return gap_len(&e->text);
}

static size_t row_width(const struct editor *e)
{
	return e->width ? e->width : UNDRAWN_WIDTH;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct str view_text(struct editor *e, size_t at, size_t max)
{
	return gap_view(&e->text, at, min_size(text_len(e), at + max));
}

/* True if s contains an invisible character. */
static bool has_hidden(struct str s)
{
	while (s.len) {
		const unsigned char *p = (const unsigned char *)s.ptr;
		size_t n = min_size(str_char_offset(s, 1), s.len);
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

/* Appends the display text of a cluster that is not shown as typed: a paste's
 * label, or control characters made visible. Cut at the row's width. */
static void add_label(struct editor *e, size_t at, struct cluster c,
		      struct buf *out)
{
	size_t cells = row_width(e);

	if (c.kind == CLUSTER_PASTE)
		pastes_label(&e->pastes,
			     pastes_read_mark(view_text(e, at, PASTES_MARK)),
			     out);
	else
		visible_line(view_text(e, at, c.len), out);
	out->len = width_prefix(buf_str(out), cells);
}

/* Limits a run of combining marks: no script has longer clusters. */
static struct str cut_cluster(struct str s)
{
	size_t n = CLUSTER_MAX;

	if (s.len <= n)
		return s;
	while (n && ((unsigned char)s.ptr[n] & 0xC0) == 0x80)
		n--;
	return (struct str){ s.ptr, n };
}

/* Measures the cluster at the front of s, which begins at offset `at`; a tab's
 * width depends on the column. */
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
	add_label(e, at, c, &label);
	c.cells = width_cells(buf_str(&label));
	buf_release(&label);
	return c;
}

/* Returns the cluster at a position before the end; column is its column in the
 * row. */
static struct cluster cluster_at(struct editor *e, size_t at, size_t column)
{
	return cluster_of(e, at, view_text(e, at, CLUSTER_MAX + 4), column);
}

/* Returns the beginning of the next cluster. */
static size_t right_of(struct editor *e, size_t at)
{
	return at < text_len(e) ? at + cluster_at(e, at, 0).len : at;
}

/* Returns the nearest position at or before `at`, at most CLUSTER_MAX bytes
 * back, where a cluster certainly begins: at an ASCII character or a paste. */
static size_t find_sure_boundary(struct editor *e, size_t at)
{
	size_t least = at > CLUSTER_MAX ? at - CLUSTER_MAX : 0;

	while (at > least &&
	       (at == text_len(e) || gap_byte(&e->text, at) >= 0x80))
		at--;
	while (at && at < text_len(e) &&
	       (gap_byte(&e->text, at) & 0xC0) == 0x80)
		at--;
	return at;
}

/* Returns the beginning of the previous cluster. */
static size_t left_of(struct editor *e, size_t at)
{
	size_t from;
	size_t next;

	if (!at)
		return 0;
	if (gap_byte(&e->text, at - 1) < 0x80)
		return at - 1;
	from = find_sure_boundary(e, at - 1);
	while ((next = right_of(e, from)) < at)
		from = next;
	return from;
}

/* Returns the first position at or after `at`, a multiple of SEGMENT, where a
 * cluster begins. */
static size_t segment_boundary(struct editor *e, size_t at)
{
	size_t from;

	if (!at || at >= text_len(e))
		return min_size(at, text_len(e));
	from = find_sure_boundary(e, at);
	while (from < at)
		from = right_of(e, from);
	return from;
}

static size_t segment_start(struct editor *e, size_t at)
{
	size_t start = segment_boundary(e, at - at % SEGMENT);

	if (start > at)
		start = segment_boundary(e, at - at % SEGMENT - SEGMENT);
	return start;
}

/* True if a row may end after this cluster, which begins at offset `at`: after
 * a blank, and between wide characters, which are not separated by blanks. */
static bool ends_word(const struct editor *e, size_t at, struct cluster c)
{
	return c.kind == CLUSTER_TAB || gap_byte(&e->text, at) == ' ' ||
	       (c.kind == CLUSTER_PLAIN && c.cells > 1);
}

/* True if the cluster is a blank that may stay behind a full row, where it is
 * not drawn: the next row then begins with the next word. The caret needs a
 * cell at the end of a line. */
static bool may_hang(const struct editor *e, size_t at, struct cluster c)
{
	size_t next = at + c.len;

	return gap_byte(&e->text, at) == ' ' && c.cells == 1 &&
	       (next == text_len(e) || gap_byte(&e->text, next) != '\n');
}

/* Returns the row that begins at start and ends at limit at the latest. A row
 * that is full ends between words; a word longer than a row is split. */
static struct draft_row row_until(struct editor *e, size_t start, size_t limit)
{
	struct str s = view_text(e, start, limit - start + CLUSTER_MAX + 4);
	struct draft_row row = { .start = start, .end = start };
	size_t column = 0;
	size_t word = start; /* where the last word of the row begins */

	while (row.end < limit && gap_byte(&e->text, row.end) != '\n') {
		struct cluster c = cluster_of(
			e, row.end, str_skip(s, row.end - start), column);
		bool ends = ends_word(e, row.end, c);

		if (column + c.cells > row_width(e) && row.end > start) {
			row.hangs = may_hang(e, row.end, c);
			if (row.hangs)
				row.end += c.len;
			else if (!ends && word > start)
				row.end = word;
			break;
		}
		column += c.cells;
		row.end += c.len;
		if (ends)
			word = row.end;
	}
	row.last = row.end == text_len(e) && !row.hangs;
	row.next = row.end + (!row.last && row.end < text_len(e) &&
			      gap_byte(&e->text, row.end) == '\n');
	return row;
}

/* Returns the row that begins at start. */
static struct draft_row row_from(struct editor *e, size_t start)
{
	return row_until(e, start,
			 segment_boundary(e, (start / SEGMENT + 1) * SEGMENT));
}

/* Returns the row that contains a position. */
static struct draft_row row_at(struct editor *e, size_t at)
{
	size_t start = segment_start(e, at);
	struct draft_row row;

	start = gap_after_last(&e->text, start, at, '\n');
	row = row_from(e, start);
	while (!row.last && row.next <= at)
		row = row_from(e, row.next);
	return row;
}

/* Returns the column of a position in its row. */
static size_t column_of(struct editor *e, struct draft_row row, size_t at)
{
	size_t column = 0;

	for (size_t i = row.start; i < at;) {
		struct cluster c = cluster_at(e, i, column);

		column += c.cells;
		i += c.len;
	}
	return column;
}

/* Returns the position that is drawn at this column of the row, or the last
 * position before the column. */
static size_t place_at(struct editor *e, struct draft_row row, size_t column)
{
	size_t at = row.start;
	size_t cells = 0;

	while (at < row.end) {
		struct cluster c = cluster_at(e, at, cells);

		cells += c.cells;
		/* The end of a wrapped row is the beginning of the next one, so
		 * it is not a position of this row. */
		if (cells > column ||
		    (at + c.len == row.end && row.next == row.end && !row.last))
			break;
		at += c.len;
	}
	return at;
}

static const struct style plain = { 0, STYLE_PLAIN };

static const struct style reverse = { ATTR_REVERSE, STYLE_PLAIN };

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
		rows_add(rows,
			 from >= e->mark_from && from < e->mark_to ? reverse
								   : plain,
			 gap_view(&e->text, from, to));
}

/* Draws a row; pastes and hidden characters are shown as labels. */
static void add_row(struct editor *e, struct draft_row row, struct rows *rows)
{
	size_t column = 0;
	size_t from = row.start;
	size_t end = row.end - row.hangs;

	for (size_t at = row.start; at < end;) {
		struct cluster c = cluster_at(e, at, column);
		struct buf label = BUF_INIT(4096);

		column += c.cells;
		at += c.len;
		if (c.kind == CLUSTER_PLAIN && at != e->mark_from &&
		    at != e->mark_to)
			continue;
		add_plain(e, from, c.kind == CLUSTER_PLAIN ? at : at - c.len,
			  rows);
		from = at;
		if (c.kind == CLUSTER_PLAIN)
			continue;
		if (c.kind == CLUSTER_TAB) {
			add_blanks(rows, c.cells);
			continue;
		}
		add_label(e, at - c.len, c, &label);
		rows_add(rows,
			 (struct style){ 0, c.kind == CLUSTER_PASTE
						    ? STYLE_ACCENT
						    : STYLE_MUTED },
			 buf_str(&label));
		buf_release(&label);
	}
	add_plain(e, from, end, rows);
}

static size_t row_before(struct editor *e, size_t start)
{
	return start ? row_at(e, start - 1).start : 0;
}

/* Counts the rows from one position up to the row that begins at another, at
 * most max. */
static size_t count_rows(struct editor *e, size_t from, size_t to, size_t max)
{
	size_t n = 0;

	while (from < to && n < max) {
		struct draft_row row = row_from(e, from);

		n++;
		if (row.last)
			break;
		from = row.next;
	}
	return n;
}

/* Scrolls the view so that it contains the caret's row and as much text as
 * fits. */
static void scroll_to_caret(struct editor *e, size_t caret_row, size_t max)
{
	struct draft_row row;
	size_t n = 1;

	e->top = row_at(e, e->top < text_len(e) ? e->top : text_len(e)).start;
	if (caret_row < e->top)
		e->top = caret_row;
	if (count_rows(e, e->top, caret_row, max) >= max) {
		e->top = caret_row;
		for (size_t i = 1; i < max; i++)
			e->top = row_before(e, e->top);
	}
	row = row_from(e, e->top);
	for (; n < max && !row.last; n++)
		row = row_from(e, row.next);
	for (; n < max && e->top; n++)
		e->top = row_before(e, e->top);
}

/* Returns the width of the prompt, or 0 if it would leave too little room. */
static size_t fit_prompt(struct editor *e, size_t columns)
{
	size_t prompt = width_cells(e->prompt);

	if (columns < prompt + 8)
		prompt = 0;
	e->width = columns > prompt + 2 ? columns - prompt - 1 : 2;
	return prompt;
}

/* Adds the cells in front of row n, with a sign if rows above the first or
 * below the last one are hidden. */
static void add_margin(const struct editor *e, struct draft_row row, size_t n,
		       size_t max_rows, size_t prompt, struct rows *rows)
{
	bool ascii = !e->prompt.len || !(e->prompt.ptr[0] & 0x80);
	const char *sign = NULL;

	if (!n)
		sign = ascii ? "^" : "\xE2\x86\x91";
	else if (n + 1 == max_rows && !row.last)
		sign = ascii ? "v" : "\xE2\x86\x93";
	if (sign && prompt) {
		rows_adds(rows, (struct style){ 0, STYLE_MUTED }, sign);
		prompt--;
	}
	add_blanks(rows, prompt);
}

void editor_render(struct editor *e, size_t columns, size_t max_rows,
		   struct rows *rows, size_t *caret_row, size_t *caret_column)
{
	size_t prompt = fit_prompt(e, columns);
	struct draft_row caret = row_at(e, e->caret);
	struct draft_row row;

	if (!max_rows)
		max_rows = 1;
	scroll_to_caret(e, caret.start, max_rows);
	*caret_column = prompt + column_of(e, caret, e->caret);
	*caret_row = count_rows(e, e->top, caret.start, max_rows);
	row = row_from(e, e->top);
	for (size_t n = 0; n < max_rows; n++) {
		if (prompt && !row.start)
			rows_add(rows, e->prompt_style, e->prompt);
		else
			add_margin(e, row, n, max_rows, prompt, rows);
		add_row(e, row, rows);
		rows_end(rows);
		if (row.last)
			break;
		row = row_from(e, row.next);
	}
}

static void undo_forget(struct undo *u, size_t i)
{
	u->bytes -= u->changes[i].removed.len + u->changes[i].inserted.len;
	buf_release(&u->changes[i].removed);
	buf_release(&u->changes[i].inserted);
}

static void undo_forget_oldest(struct undo *u)
{
	undo_forget(u, 0);
	u->n--;
	u->done--;
	memmove(u->changes, u->changes + 1, u->n * sizeof(*u->changes));
}

/* Records a change that undo can revert. */
static void undo_record(struct undo *u, size_t at, size_t caret,
			struct str removed, struct str inserted)
{
	struct undo_change *c;

	if (!u->changes)
		u->changes = xcalloc(UNDO_CHANGES, sizeof(*u->changes));
	while (u->n > u->done)
		undo_forget(u, --u->n);
	u->bytes += removed.len + inserted.len;
	while (u->n && (u->n == UNDO_CHANGES ||
			u->bytes - removed.len - inserted.len > UNDO_BYTES))
		undo_forget_oldest(u);
	c = &u->changes[u->n++];
	*c = (struct undo_change){ at, caret, BUF_INIT(SIZE_MAX),
				   BUF_INIT(SIZE_MAX) };
	buf_addstr(&c->removed, removed);
	buf_addstr(&c->inserted, inserted);
	u->done = u->n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t';
}

/* Records typed text. It joins the previous change if that ended at this
 * position. */
static void undo_record_typed(struct undo *u, size_t at, struct str inserted)
{
	struct undo_change *c = u->done ? &u->changes[u->done - 1] : NULL;

	/* A word with the spaces after it is one change. */
	if (!c || u->done < u->n || !c->inserted.len ||
	    c->at + c->inserted.len != at ||
	    (is_blank(c->inserted.ptr[c->inserted.len - 1]) &&
	     !is_blank(inserted.ptr[0]))) {
		undo_record(u, at, at, (struct str){ 0 }, inserted);
		return;
	}
	buf_addstr(&c->inserted, inserted);
	u->bytes += inserted.len;
}

static void undo_clear(struct undo *u)
{
	while (u->n)
		undo_forget(u, --u->n);
	free(u->changes);
	*u = (struct undo){ 0 };
}

/* The most bytes of a UTF-8 character whose last byte has not arrived. */
enum { SPLIT = 3 };

static void change_text(struct editor *e, size_t at, size_t len,
			struct str text)
{
	gap_replace(&e->text, at, len, text);
	e->caret = at + text.len;
	e->has_goal = e->recalled = false;
	/* Rows above the change do not move. */
	if (e->top > at)
		e->top = at;
}

/* Replaces len bytes, moves the caret after them and records the change for
 * undo. */
static void replace_text(struct editor *e, size_t at, size_t len,
			 struct str text)
{
	undo_record(&e->undo, at, e->caret, gap_view(&e->text, at, at + len),
		    text);
	change_text(e, at, len, text);
}

void editor_type(struct editor *e, struct str text)
{
	size_t at = e->caret;

	if (!text.len)
		return;
	e->last = EDITOR_LAST_OTHER;
	undo_record_typed(&e->undo, at, text);
	change_text(e, at, 0, text);
}

void editor_paste_begin(struct editor *e)
{
	buf_release(&e->pasting);
	e->pasting = BUF_INIT(SIZE_MAX);
	e->clean = 0;
	e->had_cr = false;
	e->had_lf = false;
}

/* Replaces all old bytes. Returns true if there was one. */
static bool replace_byte(char *at, size_t len, char old, char new)
{
	char *end = at + len;
	bool found = false;

	while (at < end && (at = memchr(at, old, (size_t)(end - at)))) {
		*at++ = new;
		found = true;
	}
	return found;
}

/* Changes CRs from byte `at` on to LFs. When the first real LF arrives, the LFs
 * before it were CRs and are changed back. */
static void fix_line_ends(struct editor *e, size_t at)
{
	struct buf *paste = &e->pasting;

	if (e->had_lf || at == paste->len)
		return;
	e->had_lf = memchr(paste->ptr + at, '\n', paste->len - at);
	if (!e->had_lf) {
		e->had_cr |= replace_byte(paste->ptr + at, paste->len - at,
					  '\r', '\n');
	} else if (e->had_cr) {
		replace_byte(paste->ptr, at, '\n', '\r');
		e->clean = 0;
	}
}

void editor_paste_feed(struct editor *e, struct str bytes)
{
	size_t at = e->pasting.len;
	/* Check the bytes as they arrive. Once a part is not clean, the rest
	 * need not be checked. */
	bool clean = at - e->clean <= SPLIT;

	buf_addstr(&e->pasting, bytes);
	buf_drop_nul(&e->pasting, at);
	fix_line_ends(e, at);
	if (clean)
		e->clean += pastes_clean_prefix(
			str_skip(buf_str(&e->pasting), e->clean));
}

/* Returns the position of the paste's marker, or the text's length. */
static size_t find_mark(struct editor *e, struct str paste)
{
	char mark[PASTES_MARK];
	struct str all = gap_view(&e->text, 0, text_len(e));

	if (!pastes_find(&e->pastes, paste, mark))
		return all.len;
	return str_search(all, (struct str){ mark, sizeof(mark) });
}

static bool is_long(struct str text)
{
	size_t lines = 0;

	if (text.len > PASTES_INLINE)
		return true;
	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	return lines > PASTES_LINES;
}

/* Replaces len bytes by a marker for the paste. Takes ownership of bytes. */
static void insert_mark(struct editor *e, size_t at, size_t len,
			struct buf *bytes, bool clean)
{
	char mark[PASTES_MARK];

	if (e->pastes.n == PASTES_MAX) {
		buf_release(bytes);
		return;
	}
	pastes_add(&e->pastes, bytes, clean, mark);
	replace_text(e, at, len, (struct str){ mark, sizeof(mark) });
}

void editor_paste_end(struct editor *e)
{
	struct str text;
	size_t at;
	bool clean;

	text = buf_str(&e->pasting);
	clean = pastes_is_clean(str_skip(text, e->clean));
	e->last = EDITOR_LAST_OTHER;
	if (clean && (e->typed_ahead || !is_long(text))) {
		if (text.len)
			replace_text(e, e->caret, 0, text);
	} else if (clean && (at = find_mark(e, text)) < text_len(e)) {
		replace_text(e, at, PASTES_MARK, text);
	} else {
		insert_mark(e, e->caret, 0, &e->pasting, clean);
	}
	e->typed_ahead = false;
	buf_release(&e->pasting);
}

enum editor_result editor_event(struct editor *e, const struct key_event *event)
{
	switch (event->kind) {
	case KEY_EVENT_TEXT:
		editor_type(e, event->text);
		return EDITOR_CHANGED;
	case KEY_EVENT_KEY:
		return editor_key(e, event->key);
	case KEY_EVENT_PASTE_BEGIN:
		editor_paste_begin(e);
		return EDITOR_NOTHING;
	case KEY_EVENT_PASTE:
		editor_paste_feed(e, event->text);
		return EDITOR_NOTHING;
	case KEY_EVENT_PASTE_END:
		editor_paste_end(e);
		return EDITOR_CHANGED;
	default:
		return EDITOR_NOTHING;
	}
}

bool editor_is_empty(const struct editor *e)
{
	return text_len(e) == 0;
}

void editor_text(struct editor *e, struct buf *out)
{
	pastes_expand(&e->pastes, gap_view(&e->text, 0, text_len(e)), out);
}

void editor_set(struct editor *e, struct str text)
{
	struct buf bytes = BUF_INIT(SIZE_MAX);

	e->last = EDITOR_LAST_OTHER;
	if (pastes_is_clean(text)) {
		pastes_mark(&e->pastes, &e->recent, text, &bytes);
		replace_text(e, 0, text_len(e), buf_str(&bytes));
		buf_release(&bytes);
		return;
	}
	buf_addstr(&bytes, text);
	insert_mark(e, 0, text_len(e), &bytes, false);
}

void editor_reset(struct editor *e)
{
	gap_release(&e->text);
	pastes_retire(&e->pastes, &e->recent);
	e->drafts++;
	undo_clear(&e->undo);
	kills_drop_with(&e->kills, PASTES_LEAD);
	e->caret = e->top = e->yanked = 0;
	e->has_goal = false;
	e->last = EDITOR_LAST_OTHER;
}

void editor_release(struct editor *e)
{
	editor_reset(e);
	pastes_retire(&e->recent, NULL);
	while (e->kills.n)
		kills_drop(&e->kills, e->kills.n - 1);
	buf_release(&e->pasting);
	*e = (struct editor){ 0 };
}

struct str editor_before(struct editor *e, size_t max)
{
	return gap_view(&e->text, e->caret > max ? e->caret - max : 0,
			e->caret);
}

void editor_replace_before(struct editor *e, size_t len, struct str text)
{
	e->last = EDITOR_LAST_OTHER;
	replace_text(e, e->caret - len, len, text);
}

typedef enum editor_result command(struct editor *e);

enum { BLANK, MARK, WORD };

static enum editor_result move_to(struct editor *e, size_t at)
{
	e->caret = at;
	e->has_goal = false;
	return EDITOR_CHANGED;
}

static enum editor_result move_left(struct editor *e)
{
	return move_to(e, left_of(e, e->caret));
}

static enum editor_result move_right(struct editor *e)
{
	return move_to(e, right_of(e, e->caret));
}

static size_t goal_column(struct editor *e, struct draft_row row)
{
	if (!e->has_goal)
		e->goal = column_of(e, row, e->caret);
	e->has_goal = true;
	return e->goal;
}

static enum editor_result move_up(struct editor *e)
{
	struct draft_row row = row_at(e, e->caret);
	size_t column;

	if (!row.start)
		return EDITOR_OLDER;
	column = goal_column(e, row);
	e->caret = place_at(e, row_at(e, row.start - 1), column);
	return EDITOR_CHANGED;
}

static enum editor_result move_down(struct editor *e)
{
	struct draft_row row = row_at(e, e->caret);
	size_t column;

	if (row.last)
		return EDITOR_NEWER;
	column = goal_column(e, row);
	e->caret = place_at(e, row_from(e, row.next), column);
	return EDITOR_CHANGED;
}

static size_t line_start(struct editor *e)
{
	return gap_after_last(&e->text, 0, e->caret, '\n');
}

static size_t line_end(struct editor *e)
{
	return gap_find(&e->text, e->caret, text_len(e), '\n');
}

static enum editor_result move_home(struct editor *e)
{
	return move_to(e, line_start(e));
}

static enum editor_result move_end(struct editor *e)
{
	return move_to(e, line_end(e));
}

static enum editor_result move_first(struct editor *e)
{
	return move_to(e, 0);
}

static enum editor_result move_last(struct editor *e)
{
	return move_to(e, text_len(e));
}

/* Letters, digits and all characters beyond ASCII form words; a paste is a
 * word. */
static int class_of(const struct editor *e, size_t at)
{
	unsigned char c = gap_byte(&e->text, at);

	if (c == ' ' || c == '\t' || c == '\n')
		return BLANK;
	if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80 || c == PASTES_LEAD)
		return WORD;
	return MARK;
}

static size_t word_left(struct editor *e)
{
	size_t at = e->caret;

	while (at && class_of(e, left_of(e, at)) != WORD)
		at = left_of(e, at);
	while (at && class_of(e, left_of(e, at)) == WORD)
		at = left_of(e, at);
	return at;
}

static size_t word_right(struct editor *e)
{
	size_t at = e->caret;

	while (at < text_len(e) && class_of(e, at) != WORD)
		at = right_of(e, at);
	while (at < text_len(e) && class_of(e, at) == WORD)
		at = right_of(e, at);
	return at;
}

/* Returns the beginning of the word before the caret. Only blanks separate
 * words, as for Ctrl+W in a shell. */
static size_t blank_left(struct editor *e)
{
	size_t at = e->caret;

	while (at && class_of(e, left_of(e, at)) == BLANK)
		at = left_of(e, at);
	while (at && class_of(e, left_of(e, at)) != BLANK)
		at = left_of(e, at);
	return at;
}

static enum editor_result move_word_left(struct editor *e)
{
	return move_to(e, word_left(e));
}

static enum editor_result move_word_right(struct editor *e)
{
	return move_to(e, word_right(e));
}

static enum editor_result delete_range(struct editor *e, size_t from, size_t to)
{
	if (from == to)
		return EDITOR_NOTHING;
	replace_text(e, from, to - from, (struct str){ 0 });
	return EDITOR_CHANGED;
}

static enum editor_result delete_left(struct editor *e)
{
	return delete_range(e, left_of(e, e->caret), e->caret);
}

static enum editor_result delete_right(struct editor *e)
{
	return delete_range(e, e->caret, right_of(e, e->caret));
}

/* Cuts a range. Consecutive cuts form one text. */
static enum editor_result kill_range(struct editor *e, size_t from, size_t to)
{
	enum kill_how how = e->before != EDITOR_LAST_KILL ? KILL_NEW
			    : from < e->caret             ? KILL_BEFORE
							  : KILL_AFTER;

	if (from == to)
		return EDITOR_NOTHING;
	kills_add(&e->kills, gap_view(&e->text, from, to), how);
	replace_text(e, from, to - from, (struct str){ 0 });
	e->last = EDITOR_LAST_KILL;
	return EDITOR_CHANGED;
}

static enum editor_result kill_line_left(struct editor *e)
{
	size_t from = line_start(e);

	return kill_range(e, from == e->caret ? left_of(e, from) : from,
			  e->caret);
}

static enum editor_result kill_line_right(struct editor *e)
{
	size_t to = line_end(e);

	return kill_range(e, e->caret, to == e->caret ? right_of(e, to) : to);
}

static enum editor_result kill_word_left(struct editor *e)
{
	return kill_range(e, word_left(e), e->caret);
}

static enum editor_result kill_blank_left(struct editor *e)
{
	return kill_range(e, blank_left(e), e->caret);
}

static enum editor_result kill_word_right(struct editor *e)
{
	return kill_range(e, e->caret, word_right(e));
}

static enum editor_result yank_text(struct editor *e, size_t old,
				    struct str text)
{
	if (!text.len)
		return EDITOR_NOTHING;
	replace_text(e, e->caret - old, old, text);
	e->yanked = text.len;
	e->last = EDITOR_LAST_YANK;
	return EDITOR_CHANGED;
}

static enum editor_result yank_newest(struct editor *e)
{
	e->kills.at = 0;
	return yank_text(e, 0, buf_str(&e->kills.texts[0]));
}

static enum editor_result yank_older(struct editor *e)
{
	struct kills *k = &e->kills;

	if (e->before != EDITOR_LAST_YANK)
		return EDITOR_NOTHING;
	/* the next older one; the newest after the oldest */
	k->at = k->n ? (k->at + 1) % k->n : 0;
	return yank_text(e, e->yanked, buf_str(&k->texts[k->at]));
}

static enum editor_result undo(struct editor *e)
{
	const struct undo_change *c;

	if (!e->undo.done)
		return EDITOR_NOTHING;
	c = &e->undo.changes[--e->undo.done];
	change_text(e, c->at, c->inserted.len, buf_str(&c->removed));
	e->caret = c->caret;
	return EDITOR_CHANGED;
}

static enum editor_result redo(struct editor *e)
{
	const struct undo_change *c;

	if (e->undo.done == e->undo.n)
		return EDITOR_NOTHING;
	c = &e->undo.changes[e->undo.done++];
	change_text(e, c->at, c->removed.len, buf_str(&c->inserted));
	return EDITOR_CHANGED;
}

static enum editor_result add_line(struct editor *e)
{
	replace_text(e, e->caret, 0, STR("\n"));
	return EDITOR_CHANGED;
}

static enum editor_result submit_or_break(struct editor *e)
{
	size_t at = e->caret;

	if (!at || at < text_len(e) || gap_byte(&e->text, at - 1) != '\\')
		return EDITOR_SUBMIT;
	replace_text(e, at - 1, 1, STR("\n"));
	return EDITOR_CHANGED;
}

static enum editor_result delete_or_leave(struct editor *e)
{
	return editor_is_empty(e) ? EDITOR_EOF : delete_right(e);
}

/* A key either runs a function or returns a result to the caller. */
static const struct binding {
	enum key_name name;
	uint32_t c;
	unsigned mods;
	enum editor_result result;
	command *run;
} bindings[] = {
	{ KEY_ENTER, 0, 0, EDITOR_NOTHING, submit_or_break },
	{ KEY_ENTER, 0, KEY_SHIFT, EDITOR_NOTHING, add_line },
	{ KEY_ENTER, 0, KEY_ALT, EDITOR_NOTHING, add_line },
	{ KEY_ENTER, 0, KEY_CTRL, EDITOR_NOTHING, add_line },
	{ KEY_CHAR, 'j', KEY_CTRL, EDITOR_NOTHING, add_line },
	{ KEY_LEFT, 0, 0, EDITOR_NOTHING, move_left },
	{ KEY_CHAR, 'b', KEY_CTRL, EDITOR_NOTHING, move_left },
	{ KEY_RIGHT, 0, 0, EDITOR_NOTHING, move_right },
	{ KEY_CHAR, 'f', KEY_CTRL, EDITOR_NOTHING, move_right },
	{ KEY_UP, 0, 0, EDITOR_NOTHING, move_up },
	{ KEY_CHAR, 'p', KEY_CTRL, EDITOR_NOTHING, move_up },
	{ KEY_DOWN, 0, 0, EDITOR_NOTHING, move_down },
	{ KEY_CHAR, 'n', KEY_CTRL, EDITOR_NOTHING, move_down },
	{ KEY_HOME, 0, 0, EDITOR_NOTHING, move_home },
	{ KEY_CHAR, 'a', KEY_CTRL, EDITOR_NOTHING, move_home },
	{ KEY_END, 0, 0, EDITOR_NOTHING, move_end },
	{ KEY_CHAR, 'e', KEY_CTRL, EDITOR_NOTHING, move_end },
	{ KEY_HOME, 0, KEY_CTRL, EDITOR_NOTHING, move_first },
	{ KEY_END, 0, KEY_CTRL, EDITOR_NOTHING, move_last },
	{ KEY_CHAR, '<', KEY_ALT, EDITOR_NOTHING, move_first },
	{ KEY_CHAR, '>', KEY_ALT, EDITOR_NOTHING, move_last },
	{ KEY_CHAR, 'b', KEY_ALT, EDITOR_NOTHING, move_word_left },
	{ KEY_LEFT, 0, KEY_CTRL, EDITOR_NOTHING, move_word_left },
	{ KEY_LEFT, 0, KEY_ALT, EDITOR_NOTHING, move_word_left },
	{ KEY_CHAR, 'f', KEY_ALT, EDITOR_NOTHING, move_word_right },
	{ KEY_RIGHT, 0, KEY_CTRL, EDITOR_NOTHING, move_word_right },
	{ KEY_RIGHT, 0, KEY_ALT, EDITOR_NOTHING, move_word_right },
	{ KEY_BACKSPACE, 0, 0, EDITOR_NOTHING, delete_left },
	{ KEY_BACKSPACE, 0, KEY_SHIFT, EDITOR_NOTHING, delete_left },
	{ KEY_CHAR, 'h', KEY_CTRL, EDITOR_NOTHING, delete_left },
	{ KEY_DELETE, 0, 0, EDITOR_NOTHING, delete_right },
	{ KEY_CHAR, 'd', KEY_CTRL, EDITOR_NOTHING, delete_or_leave },
	{ KEY_CHAR, 'u', KEY_CTRL, EDITOR_NOTHING, kill_line_left },
	{ KEY_CHAR, 'k', KEY_CTRL, EDITOR_NOTHING, kill_line_right },
	{ KEY_CHAR, 'w', KEY_CTRL, EDITOR_NOTHING, kill_blank_left },
	{ KEY_BACKSPACE, 0, KEY_ALT, EDITOR_NOTHING, kill_word_left },
	{ KEY_BACKSPACE, 0, KEY_CTRL, EDITOR_NOTHING, kill_word_left },
	{ KEY_CHAR, 'd', KEY_ALT, EDITOR_NOTHING, kill_word_right },
	{ KEY_DELETE, 0, KEY_CTRL, EDITOR_NOTHING, kill_word_right },
	{ KEY_DELETE, 0, KEY_ALT, EDITOR_NOTHING, kill_word_right },
	{ KEY_CHAR, 'y', KEY_CTRL, EDITOR_NOTHING, yank_newest },
	{ KEY_CHAR, 'y', KEY_ALT, EDITOR_NOTHING, yank_older },
	{ KEY_CHAR, '_', KEY_CTRL, EDITOR_NOTHING, undo },
	{ KEY_CHAR, '-', KEY_CTRL | KEY_SHIFT, EDITOR_NOTHING,
	  undo }, /* Ctrl+_ in kitty's protocol */
	{ KEY_CHAR, '_', KEY_CTRL | KEY_SHIFT, EDITOR_NOTHING, undo },
	{ KEY_CHAR, '/', KEY_CTRL, EDITOR_NOTHING,
	  undo }, /* Ctrl+/ in kitty's protocol; xterm sends 0x1F, as for Ctrl+_
		   */
	{ KEY_CHAR, '_', KEY_ALT, EDITOR_NOTHING, redo },
	{ KEY_CHAR, '-', KEY_ALT | KEY_SHIFT, EDITOR_NOTHING, redo },
	{ KEY_CHAR, '_', KEY_ALT | KEY_SHIFT, EDITOR_NOTHING, redo },
	{ KEY_CHAR, 'z', KEY_CTRL | KEY_SHIFT, EDITOR_NOTHING, redo },
	{ KEY_TAB, 0, 0, EDITOR_COMPLETE, NULL },
	{ KEY_CHAR, 'i', KEY_CTRL, EDITOR_COMPLETE, NULL },
	{ KEY_TAB, 0, KEY_SHIFT, EDITOR_MODE, NULL },
	{ KEY_CHAR, 't', KEY_CTRL, EDITOR_MODE, NULL },
	{ KEY_CHAR, 'r', KEY_CTRL, EDITOR_SEARCH, NULL },
	{ KEY_ESCAPE, 0, 0, EDITOR_ESCAPE, NULL },
	{ KEY_CHAR, 'c', KEY_CTRL, EDITOR_INTERRUPT, NULL },
	{ KEY_CHAR, 'z', KEY_CTRL, EDITOR_SUSPEND, NULL },
	{ KEY_CHAR, 'l', KEY_CTRL, EDITOR_REDRAW, NULL },
	{ KEY_CHAR, 'x', KEY_CTRL, EDITOR_EXTERNAL, NULL },
	{ KEY_CHAR, 'v', KEY_CTRL, EDITOR_IMAGE, NULL },
	{ KEY_CHAR, 'o', KEY_CTRL, EDITOR_OUTPUT, NULL },
};

enum editor_result editor_key(struct editor *e, struct key key)
{
	/* Kitty's Ctrl+M means Enter, as the byte 0x0D does in other terminals.
	 */
	if (key.name == KEY_CHAR && key.c == 'm' && key.mods == KEY_CTRL)
		key = (struct key){ KEY_ENTER, 0, 0 };
	for (size_t i = 0; i < sizeof(bindings) / sizeof(*bindings); i++) {
		const struct binding *b = &bindings[i];

		if (b->name != key.name || b->c != key.c || b->mods != key.mods)
			continue;
		e->before = e->last;
		e->last = EDITOR_LAST_OTHER;
		return b->run ? b->run(e) : b->result;
	}
	return EDITOR_NOTHING;
}
