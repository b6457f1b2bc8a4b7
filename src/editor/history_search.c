/* history_search.c - Ctrl+R: looks through the prompts while one types. */
/* SPDX-License-Identifier: MIT */
#include "editor/history_search.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "term/width.h"

enum { MOST_QUERY = 256 }; /* bytes */

static bool has_capitals(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (isupper((unsigned char)s.ptr[i]))
			return true;
	return false;
}

static bool starts_with(struct str s, struct str query, bool exact)
{
	if (s.len < query.len)
		return false;
	return exact ? memcmp(s.ptr, query.ptr, query.len) == 0
		     : strncasecmp(s.ptr, query.ptr, query.len) == 0;
}

/* Where the query is in a prompt, or its length. */
static size_t find_query(const struct history_search *s, struct str text)
{
	struct str query = buf_str(&s->query);
	bool exact = has_capitals(query);

	if (!query.len)
		return 0;
	for (size_t at = 0; at < text.len; at++)
		if (starts_with(str_skip(text, at), query, exact))
			return at;
	return text.len;
}

static struct str item(const struct history_search *s, size_t i)
{
	return buf_str(&s->history->items[i]);
}

/* Shows prompt i, with the caret where the query is. */
static void show(struct history_search *s, size_t i)
{
	struct str text = item(s, i);
	size_t at = find_query(s, text);

	s->at = i;
	s->failed = false;
	editor_reset(&s->view);
	editor_set(&s->view, text);
	if (pastes_is_clean(text)) /* else a marker stands for it */
		s->view.caret = at;
}

static bool shows_same(const struct history_search *s, size_t i)
{
	return s->at < s->history->n && str_eq(item(s, i), item(s, s->at));
}

static bool matches(const struct history_search *s, size_t i)
{
	return find_query(s, item(s, i)) < item(s, i).len;
}

/* The newest of the prompts before `before` that has the query. */
static void find_older(struct history_search *s, size_t before, bool other)
{
	for (size_t i = before; i-- > 0;) {
		if (!matches(s, i) || (other && shows_same(s, i)))
			continue;
		show(s, i);
		return;
	}
	s->failed = true;
}

static void find_newer(struct history_search *s)
{
	for (size_t i = s->at + 1; i < s->history->n; i++) {
		if (!matches(s, i) || shows_same(s, i))
			continue;
		show(s, i);
		return;
	}
	s->failed = true;
}

void history_search_begin(struct history_search *s,
			  const struct prompt_history *history)
{
	struct buf last = s->query;

	buf_release(&s->last);
	s->last = last;
	s->query = BUF_INIT(MOST_QUERY);
	s->history = history;
	s->on = true;
	s->at = history->n;
	s->failed = false;
	editor_reset(&s->view);
	find_older(s, history->n, false);
}

/* What was typed or pasted, up to the end of its line. */
static void add_text(struct history_search *s, struct str text)
{
	text.len = str_find(text, '\n');
	if (s->query.len + text.len > MOST_QUERY - 1 || !str_is_utf8(text))
		return;
	buf_addstr(&s->query, text);
	if (s->at < s->history->n && matches(s, s->at))
		show(s, s->at);
	else
		find_older(s, s->at, false);
}

static void drop_last(struct history_search *s)
{
	size_t len = s->query.len;

	while (len && ((unsigned char)s->query.ptr[len - 1] & 0xC0) == 0x80)
		len--;
	s->query.len = len ? len - 1 : 0;
	s->at = s->history->n;
	find_older(s, s->at, false);
}

/* Again, with what was looked for the last time when nothing was typed. */
static void go_older(struct history_search *s)
{
	if (!s->query.len && s->last.len) {
		add_text(s, buf_str(&s->last));
		return;
	}
	find_older(s, s->at, true);
}

static enum history_search_result on_key(struct history_search *s,
					 struct key key)
{
	bool ctrl = key.name == KEY_CHAR && key.mods == KEY_CTRL;

	if (ctrl && key.c == 'r')
		go_older(s);
	else if (ctrl && key.c == 's')
		find_newer(s);
	else if (key.name == KEY_BACKSPACE || (ctrl && key.c == 'h'))
		drop_last(s);
	else if (key.name == KEY_ESCAPE ||
		 (ctrl && (key.c == 'g' || key.c == 'c')))
		return HISTORY_SEARCH_CANCELLED;
	else if (key.name == KEY_ENTER || key.name == KEY_TAB)
		return HISTORY_SEARCH_TAKEN;
	else
		return HISTORY_SEARCH_LEFT;
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
	return result;
}

bool history_search_text(const struct history_search *s, struct str *text)
{
	if (s->at >= s->history->n)
		return false;
	*text = item(s, s->at);
	return true;
}

void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column)
{
	const struct style style = { 0, s->failed ? STYLE_WARN : STYLE_MUTED };
	struct str label =
		s->failed ? STR("No such prompt: ") : STR("History: ");
	struct str query = buf_str(&s->query);
	size_t row;
	size_t column;

	/* The end of the query is what is typed at. */
	label.len = width_prefix(label, columns / 2);
	while (query.len &&
	       width_cells(label) + width_cells(query) + 1 > columns)
		query = str_skip(query, width_next(query, &column));
	rows_add(rows, style, label);
	rows_add(rows, (struct style){ 0, STYLE_PLAIN }, query);
	rows_end(rows);
	*caret_row = 0;
	*caret_column = width_cells(label) + width_cells(query);
	if (max_rows > 1 && s->at < s->history->n)
		editor_render(&s->view, columns, max_rows - 1, rows, &row,
			      &column);
}

void history_search_release(struct history_search *s)
{
	buf_release(&s->query);
	buf_release(&s->last);
	editor_release(&s->view);
	*s = (struct history_search){ 0 };
}
