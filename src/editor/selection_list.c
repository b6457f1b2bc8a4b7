/* selection_list.c - choosing one of many rows, with a filter typed above. */
/* SPDX-License-Identifier: MIT */
#include "editor/selection_list.h"

#include "base/str.h"
#include "term/cut_text.h"
#include "term/width.h"

static const struct style plain = { 0, STYLE_PLAIN };
static const struct style muted = { 0, STYLE_MUTED };
static const struct style bold = { ATTR_BOLD, STYLE_HEADING };

static void rank(struct selection_list *l)
{
	l->n = fuzzy_rank(buf_str(&l->filter), l->items, l->n_items, l->order,
			  SELECTION_MAX);
	l->selected = 0;
	l->top = 0;
}

void selection_list_open(struct selection_list *l, struct str title,
			 const struct fuzzy_item *items, size_t n,
			 size_t selected)
{
	selection_list_release(l);
	l->title = title;
	l->items = items;
	l->n_items = n;
	l->filter = BUF_INIT(SELECTION_FILTER);
	rank(l);
	if (selected < l->n)
		l->selected = selected; /* unfiltered, all keep their order */
}

static enum selection_result move(struct selection_list *l, size_t to)
{
	if (!l->n)
		return SELECTION_NOTHING;
	l->selected = to < l->n ? to : l->n - 1;
	return SELECTION_CHANGED;
}

static enum selection_result erase(struct selection_list *l, bool all)
{
	if (!l->filter.len)
		return SELECTION_NOTHING;
	do
		l->filter.len--;
	while (l->filter.len && (all || !str_is_utf8(buf_str(&l->filter))));
	rank(l);
	return SELECTION_CHANGED;
}

static enum selection_result ctrl(struct selection_list *l, uint32_t c)
{
	switch (c) {
	case 'p':
		return move(l, l->selected ? l->selected - 1 : l->n);
	case 'n':
		return move(l, l->selected + 1 < l->n ? l->selected + 1 : 0);
	case 'h':
		return erase(l, false);
	case 'u':
	case 'w':
		return erase(l, true);
	case 'c':
		return SELECTION_CANCELLED;
	default:
		return SELECTION_NOTHING;
	}
}

static enum selection_result press(struct selection_list *l, struct key key)
{
	size_t page = l->page ? l->page : 1;

	switch (key.name) {
	case KEY_ENTER:
		return l->n ? SELECTION_CHOSEN : SELECTION_NOTHING;
	case KEY_ESCAPE:
		return SELECTION_CANCELLED;
	case KEY_UP:
		return ctrl(l, 'p');
	case KEY_TAB:
		return ctrl(l, key.mods & KEY_SHIFT ? 'p' : 'n');
	case KEY_DOWN:
		return ctrl(l, 'n');
	case KEY_PAGE_UP:
		return move(l, l->selected > page ? l->selected - page : 0);
	case KEY_PAGE_DOWN:
		return move(l, l->selected + page);
	case KEY_HOME:
		return move(l, 0);
	case KEY_END:
		return move(l, l->n);
	case KEY_BACKSPACE:
		return erase(l, key.mods != 0);
	default:
		return key.name == KEY_CHAR && key.mods == KEY_CTRL
			       ? ctrl(l, key.c)
			       : SELECTION_NOTHING;
	}
}

/* What was typed or pasted, up to the end of its line. */
static bool add_text(struct selection_list *l, struct str text)
{
	text.len = str_find(text, '\n');
	text.len = str_find(text, '\r');
	if (!text.len || l->filter.len + text.len > SELECTION_FILTER ||
	    !str_is_utf8(text))
		return false;
	buf_addstr(&l->filter, text);
	return true;
}

enum selection_result selection_list_event(struct selection_list *l,
					   const struct key_event *event)
{
	if (event->kind == KEY_EVENT_KEY)
		return press(l, event->key);
	if ((event->kind != KEY_EVENT_TEXT && event->kind != KEY_EVENT_PASTE) ||
	    !add_text(l, event->text))
		return SELECTION_NOTHING;
	rank(l);
	return SELECTION_CHANGED;
}

size_t selection_list_chosen(const struct selection_list *l)
{
	return l->order[l->selected];
}

static void add_item(const struct selection_list *l, size_t i, size_t columns,
		     struct rows *rows)
{
	const struct fuzzy_item *item = &l->items[l->order[i]];
	bool selected = i == l->selected;
	struct style style = { selected ? ATTR_REVERSE : 0, STYLE_PLAIN };
	size_t cells;

	rows_adds(rows, muted, selected ? "> " : "  ");
	cells = cut_text_add(rows, style, item->name, columns - 2);
	if (item->summary.len && cells + 6 < columns) {
		rows_adds(rows, muted, "  ");
		cut_text_add(rows, muted, item->summary, columns - cells - 4);
	}
	rows_end(rows);
}

static void add_head(const struct selection_list *l, size_t columns,
		     struct rows *rows, size_t *caret_column)
{
	struct str filter = buf_str(&l->filter);

	cut_text_add(rows, bold, l->title, columns);
	rows_end(rows);
	/* The end of a filter that is too long. */
	while (width_cells(filter) + 10 > columns && filter.len) {
		size_t cells;

		filter = str_skip(filter, width_next(filter, &cells));
	}
	rows_adds(rows, muted, "Filter: ");
	rows_add(rows, plain, filter);
	rows_end(rows);
	*caret_column = 8 + width_cells(filter);
}

void selection_list_render(struct selection_list *l, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column)
{
	size_t first = rows->n;
	struct buf foot = BUF_INIT(200);

	columns = columns > 12 ? columns - 1 : 11;
	l->page = max_rows > 4 ? max_rows - 3 : 1;
	if (l->selected < l->top)
		l->top = l->selected;
	if (l->selected >= l->top + l->page)
		l->top = l->selected - l->page + 1;
	add_head(l, columns, rows, caret_column);
	*caret_row = rows->n - first - 1;
	for (size_t i = l->top; i < l->n && i < l->top + l->page; i++)
		add_item(l, i, columns, rows);
	if (l->n)
		buf_addf(&foot, "%zu of %zu", l->selected + 1, l->n);
	else
		buf_adds(&foot, "nothing matches");
	buf_adds(&foot, ", Enter chooses, Esc leaves");
	cut_text_add(rows, muted, buf_str(&foot), columns);
	rows_end(rows);
	buf_release(&foot);
}

void selection_list_release(struct selection_list *l)
{
	buf_release(&l->filter);
	l->items = NULL;
	l->n_items = l->n = l->selected = l->top = l->page = 0;
}
