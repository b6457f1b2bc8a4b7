/* history_search.c - Ctrl+R: a query, and the list of prompts with it. */
/* SPDX-License-Identifier: MIT */
/*
 * history_search_begin() lists the different texts once; every change of the
 * query filters that list. Begin reading at history_search_event() and
 * history_search_render().
 */
#include "editor/history_search.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	MOST_QUERY = 256, /* bytes */
	MARGIN = 2,       /* cells before a match: "> " */
	/* Bytes of a prompt before the match that a row may show. */
	MOST_BEFORE = 1024,
	LEAST_PROJECT = 60, /* with fewer columns, projects are not named */
	LEAST_AGE = 30,     /* with fewer columns, no ages are shown */
	AGE_CELLS = 6,      /* "59 min" */
};

static struct str item_at(const struct history_search *s, size_t i)
{
	return prompt_history_text(s->history, i);
}

/* FNV-1a */
static size_t hash_text(struct str text)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) *
		       UINT64_C(0x100000001B3);
	return (size_t)hash;
}

/* Adds an item to an open hash table of mask + 1 entries, each 1 + the item's
 * index or 0. Returns false if it has an item with the same text. */
static bool add_new(const struct history_search *s, size_t *table, size_t mask,
		    size_t i)
{
	size_t at = hash_text(item_at(s, i)) & mask;

	while (table[at]) {
		if (str_eq(item_at(s, table[at] - 1), item_at(s, i)))
			return false;
		at = (at + 1) & mask;
	}
	table[at] = i + 1;
	return true;
}

static void list_texts(struct history_search *s)
{
	size_t n = s->history->n;
	size_t mask = 1;
	size_t *table;

	while (mask < 2 * n)
		mask = mask * 2 + 1;
	table = xcalloc(mask + 1, sizeof(*table));
	s->texts = xcalloc(n + 1, sizeof(*s->texts));
	s->found = xcalloc(n + 1, sizeof(*s->found));
	s->n_texts = 0;
	for (size_t i = n; i-- > 0;)
		if (add_new(s, table, mask, i))
			s->texts[s->n_texts++] = i;
	free(table);
}

static bool has_capitals(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (isupper((unsigned char)s.ptr[i]))
			return true;
	return false;
}

/* Returns the position of the query in a text, or the text's length. */
static size_t find_query(struct str query, struct str text)
{
	bool exact = has_capitals(query);
	int first = query.len ? tolower((unsigned char)query.ptr[0]) : 0;

	if (!query.len)
		return 0;
	if (exact)
		return str_search(text, query);
	for (size_t at = 0; at + query.len <= text.len; at++)
		if (tolower((unsigned char)text.ptr[at]) == first &&
		    !strncasecmp(text.ptr + at, query.ptr, query.len))
			return at;
	return text.len;
}

static void filter_texts(struct history_search *s)
{
	s->n = s->selected = s->top = 0;
	for (size_t i = 0; i < s->n_texts; i++) {
		struct str text = item_at(s, s->texts[i]);

		if (find_query(buf_str(&s->query), text) < text.len)
			s->found[s->n++] = s->texts[i];
	}
}

static void free_lists(struct history_search *s)
{
	free(s->texts);
	free(s->found);
	s->texts = s->found = NULL;
	s->n_texts = s->n = 0;
}

void history_search_begin(struct history_search *s,
			  const struct prompt_history *history)
{
	struct buf last = s->query;

	buf_release(&s->last);
	free_lists(s);
	s->last = last;
	s->query = BUF_INIT(MOST_QUERY);
	s->history = history;
	s->on = true;
	list_texts(s);
	filter_texts(s);
}

/* Appends typed or pasted text to the query, up to its first line end. */
static void add_text(struct history_search *s, struct str text)
{
	text.len = str_find(text, '\n');
	text.len = str_find(text, '\r');
	if (s->query.len + text.len > MOST_QUERY - 1 || !str_is_utf8(text))
		return;
	buf_addstr(&s->query, text);
	filter_texts(s);
}

static void drop_last(struct history_search *s)
{
	width_drop_last(&s->query);
	filter_texts(s);
}

/* Moves the selection by up to n rows. */
static void move_older(struct history_search *s, size_t n)
{
	size_t left = s->n ? s->n - 1 - s->selected : 0;

	s->selected += n < left ? n : left;
}

static void move_newer(struct history_search *s, size_t n)
{
	s->selected -= n < s->selected ? n : s->selected;
}

/* Ctrl+R again: goes to an older match. With an empty query, repeats the last
 * query. */
static void search_older(struct history_search *s)
{
	if (!s->query.len && s->last.len)
		add_text(s, buf_str(&s->last));
	else
		move_older(s, 1);
}

static enum history_search_result on_ctrl(struct history_search *s, uint32_t c)
{
	switch (c) {
	case 'r':
		search_older(s);
		break;
	case 'n':
		move_older(s, 1);
		break;
	case 's':
	case 'p':
		move_newer(s, 1);
		break;
	case 'h':
		drop_last(s);
		break;
	case 'g':
	case 'c':
		return HISTORY_SEARCH_CANCELLED;
	default:
		return HISTORY_SEARCH_LEFT;
	}
	return HISTORY_SEARCH_GOES_ON;
}

/* Handles a key that is not text. */
static enum history_search_result on_key(struct history_search *s,
					 struct key key)
{
	if (key.name == KEY_CHAR && key.mods == KEY_CTRL)
		return on_ctrl(s, key.c);
	switch (key.name) {
	case KEY_DOWN:
		move_older(s, 1);
		break;
	case KEY_UP:
		move_newer(s, 1);
		break;
	case KEY_PAGE_DOWN:
		move_older(s, s->page ? s->page : 1);
		break;
	case KEY_PAGE_UP:
		move_newer(s, s->page ? s->page : 1);
		break;
	case KEY_BACKSPACE:
		drop_last(s);
		break;
	case KEY_ESCAPE:
		return HISTORY_SEARCH_CANCELLED;
	case KEY_ENTER:
	case KEY_TAB:
		return HISTORY_SEARCH_TAKEN;
	default:
		return HISTORY_SEARCH_LEFT;
	}
	return HISTORY_SEARCH_GOES_ON;
}

enum history_search_result history_search_event(struct history_search *s,
						const struct key_event *event)
{
	enum history_search_result result = HISTORY_SEARCH_GOES_ON;

	if (event->kind == KEY_EVENT_KEY)
		result = on_key(s, event->key);
	else if (event->kind == KEY_EVENT_TEXT ||
		 event->kind == KEY_EVENT_PASTE)
		add_text(s, event->text);
	s->on = result == HISTORY_SEARCH_GOES_ON;
	if (!s->on)
		spool_drop_pages(&s->history->texts);
	return result;
}

bool history_search_text(const struct history_search *s, struct str *text)
{
	if (s->selected >= s->n)
		return false;
	*text = item_at(s, s->found[s->selected]);
	return true;
}

static const struct style muted = { 0, STYLE_MUTED };

static void add_head(const struct history_search *s, size_t columns,
		     struct rows *rows, size_t *caret_column)
{
	const struct style style = { 0, s->n ? STYLE_MUTED : STYLE_WARN };
	struct str label = s->n ? STR("History: ") : STR("No such prompt: ");
	struct str query = buf_str(&s->query);
	struct buf count = BUF_INIT(64);
	size_t used;

	/* If the query is too long, show its end, where the caret is. */
	label.len = width_prefix(label, columns / 2);
	while (query.len &&
	       width_cells(label) + width_cells(query) + 1 > columns)
		query = str_skip(query, width_next(query, &used));
	rows_add(rows, style, label);
	rows_add(rows, (struct style){ 0, STYLE_PLAIN }, query);
	used = width_cells(label) + width_cells(query);
	*caret_column = used;
	buf_addf(&count, "   %zu of %zu", s->selected + 1, s->n);
	if (s->n && used + count.len < columns)
		rows_add(rows, muted, buf_str(&count));
	rows_end(rows);
	buf_release(&count);
}

/* Returns the part of a text before the match that fits into the cells: its
 * end. */
static struct str cut_before(struct str before, size_t cells)
{
	size_t used;

	if (before.len > MOST_BEFORE) {
		before = str_skip(before, before.len - MOST_BEFORE);
		while (before.len &&
		       ((unsigned char)before.ptr[0] & 0xC0) == 0x80)
			before = str_skip(before, 1);
	}
	/* A line end takes a cell, too. */
	while (before.len && width_cells(before) > cells)
		before = str_skip(before, width_next(before, &used));
	return before;
}

/* Returns the last part of the path of another project, or an empty text. */
static struct str other_project(const struct history_search *s, size_t i)
{
	const char *project = s->history->items[i].project;
	const char *slash;

	if (!project || !s->history->project ||
	    !strcmp(project, s->history->project))
		return (struct str){ 0 };
	slash = strrchr(project, '/');
	return str_of(slash && slash[1] ? slash + 1 : project);
}

static void add_blanks(size_t n, struct rows *rows)
{
	while (n--)
		rows_adds(rows, muted, " ");
}

/* Appends how long ago a prompt was sent: "5 min", "3 h" or "2 d". */
static void add_age(int64_t sent, struct buf *out)
{
	int64_t s = (int64_t)time(NULL) - sent;

	if (sent <= 0 || s < 0)
		return;
	if (s < 60)
		buf_adds(out, "now");
	else if (s < 3600)
		buf_addf(out, "%d min", (int)(s / 60));
	else if (s < 86400)
		buf_addf(out, "%d h", (int)(s / 3600));
	else if (s / 86400 < 10000)
		buf_addf(out, "%d d", (int)(s / 86400));
}

/* Adds a prompt as one row, with the match visible and bold, the name of
 * another project and, on the right, the age. */
static void add_match(const struct history_search *s, size_t i, bool selected,
		      size_t columns, struct rows *rows)
{
	struct style style = { selected ? ATTR_REVERSE : 0, STYLE_PLAIN };
	struct style bold = { style.attrs | ATTR_BOLD, STYLE_ACCENT };
	struct str text = item_at(s, i);
	struct str project = other_project(s, i);
	size_t at = find_query(buf_str(&s->query), text);
	struct str match = { text.ptr + at, s->query.len };
	size_t room = columns > MARGIN + 1 ? columns - MARGIN - 1 : 1;
	size_t name = columns >= LEAST_PROJECT ? width_cells(project) : 0;
	struct buf age = BUF_INIT(AGE_CELLS + 1);
	struct str before;

	if (columns >= LEAST_AGE) {
		add_age(s->history->items[i].time, &age);
		room -= AGE_CELLS + 2;
	}

	name = name && name + 2 < room / 3 ? name + 2 : 0;
	room -= name;
	before = cut_before((struct str){ text.ptr, at },
			    room / 2 > width_cells(match)
				    ? room - width_cells(match) - room / 4
				    : 0);
	rows_adds(rows, muted, selected ? "> " : "  ");
	if (before.len < at && room > 3) {
		rows_adds(rows, muted, "...");
		room -= 3;
	}
	room -= cut_text_add(rows, style, before, room);
	room -= cut_text_add(rows, bold, match, room);
	room -= cut_text_add(rows, style, str_skip(text, at + match.len), room);
	if (name) {
		rows_adds(rows, muted, "  ");
		(void)cut_text_add(rows, muted, project, name - 2);
	}
	if (age.len) {
		add_blanks(room + 2 + AGE_CELLS - age.len, rows);
		rows_add(rows, muted, buf_str(&age));
	}
	rows_end(rows);
	buf_release(&age);
}

void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column)
{
	add_head(s, columns, rows, caret_column);
	*caret_row = 0;
	s->page = max_rows > 1 ? max_rows - 1 : 0;
	if (s->selected < s->top)
		s->top = s->selected;
	if (s->page && s->selected >= s->top + s->page)
		s->top = s->selected - s->page + 1;
	for (size_t i = s->top; i < s->n && i < s->top + s->page; i++)
		add_match(s, s->found[i], i == s->selected, columns, rows);
}

void history_search_release(struct history_search *s)
{
	buf_release(&s->query);
	buf_release(&s->last);
	free_lists(s);
	*s = (struct history_search){ 0 };
}
