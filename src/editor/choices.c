/* choices.c - lists to choose from, with a filter. */
/* SPDX-License-Identifier: MIT */
#include "editor/choices.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "term/rows.h"

enum {
	COLUMN_MAX = 16, /* cells of a column of a list */
	NAME_LEAST = 18, /* cells that columns leave for the name */
	PREVIEW_ROWS = 13,
	SPACED_ROWS = 5, /* a preview of so many rows has space above it */
	PREVIEW_BYTES = 1 << 16,
};

static const struct style plain = { 0, STYLE_PLAIN };

static const struct style muted = { 0, STYLE_MUTED };

static const struct style bold = { ATTR_BOLD, STYLE_HEADING };

static bool is_hidden(const struct fuzzy_item *item)
{
	return item->group == LIST_GROUPS - 1;
}

static void drop_hidden(struct selection_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!is_hidden(&l->items[l->order[i]]))
			l->order[n++] = l->order[i];
	l->n = n;
}

static const struct fuzzy_item *item_at(const struct selection_list *l,
					size_t i)
{
	return l->order[i] < l->n_items ? &l->items[l->order[i]] : &l->typed;
}

/* Adds the typed text as the last item, unless an item has that name. */
static void add_typed(struct selection_list *l)
{
	struct str typed = str_trim(buf_str(&l->filter));

	if (!typed.len || l->n == SELECTION_MAX ||
	    (l->n && str_eq(item_at(l, 0)->name, typed)))
		return;
	l->typed = (struct fuzzy_item){ .name = typed,
					.summary = STR("use it as typed") };
	l->order[l->n++] = l->n_items;
}

static void rank_items(struct selection_list *l)
{
	l->n = fuzzy_rank(buf_str(&l->filter), l->items, l->n_items, l->order,
			  SELECTION_MAX);
	l->selected = 0;
	l->top = 0;
	if (l->view && !l->shows_hidden)
		drop_hidden(l);
	if (l->takes_typed)
		add_typed(l);
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
	rank_items(l);
	if (selected < l->n)
		l->selected = selected; /* without a filter, order[i] is i */
}

/* Measures the columns over all items, so that they stay in place while the
 * list moves. */
static void measure_columns(struct selection_list *l)
{
	const struct list_view *v = l->view;

	for (size_t c = 0; c < v->n_columns; c++)
		l->widths[c] = strlen(v->columns[c].title);
	for (size_t i = 0; i < l->n_items; i++) {
		struct str rest = l->items[i].cells;
		struct str cell;

		for (size_t c = 0; c < v->n_columns; c++) {
			size_t cells = 0;

			if (str_split(&rest, '\t', &cell))
				cells = width_cells(cell);
			if (cells > COLUMN_MAX)
				cells = COLUMN_MAX;
			if (cells > l->widths[c])
				l->widths[c] = cells;
		}
	}
}

static size_t count_hidden(const struct selection_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_items; i++)
		n += is_hidden(&l->items[i]);
	return n;
}

void selection_list_set_view(struct selection_list *l,
			     const struct list_view *view)
{
	size_t selected = l->selected;

	l->view = view;
	if (!view)
		return;
	l->shows_hidden = count_hidden(l) == l->n_items;
	l->preview = BUF_INIT(PREVIEW_BYTES);
	rank_items(l);
	l->selected = selected < l->n ? selected : 0;
}

static enum selection_result toggle_hidden(struct selection_list *l)
{
	size_t at = l->n ? l->order[l->selected] : 0;

	if (!l->view || !count_hidden(l))
		return SELECTION_NOTHING;
	l->shows_hidden = !l->shows_hidden;
	rank_items(l);
	for (size_t i = 0; i < l->n; i++)
		if (l->order[i] == at)
			l->selected = i;
	return SELECTION_CHANGED;
}

static enum selection_result move_selection(struct selection_list *l, size_t to)
{
	if (!l->n)
		return SELECTION_NOTHING;
	l->selected = to < l->n ? to : l->n - 1;
	return SELECTION_CHANGED;
}

static enum selection_result erase_filter(struct selection_list *l, bool all)
{
	if (!l->filter.len)
		return SELECTION_NOTHING;
	do
		l->filter.len--;
	while (l->filter.len && (all || !str_is_utf8(buf_str(&l->filter))));
	rank_items(l);
	return SELECTION_CHANGED;
}

static enum selection_result handle_ctrl(struct selection_list *l, uint32_t c)
{
	switch (c) {
	case 'p':
		/* Up that is held stays at the first item. */
		return move_selection(l, l->selected ? l->selected - 1 : 0);
	case 'n':
		return move_selection(l, l->selected + 1);
	case 'a':
		return toggle_hidden(l);
	case 'h':
		return erase_filter(l, false);
	case 'u':
	case 'w':
		return erase_filter(l, true);
	case 'c':
		return SELECTION_CANCELLED;
	default:
		return SELECTION_NOTHING;
	}
}

/* Handles a key that is not text. */
static enum selection_result handle_key(struct selection_list *l,
					struct key key)
{
	size_t page = l->page ? l->page : 1;

	switch (key.name) {
	case KEY_ENTER:
		return l->n ? SELECTION_CHOSEN : SELECTION_NOTHING;
	case KEY_ESCAPE:
		return SELECTION_CANCELLED;
	case KEY_UP:
		return handle_ctrl(l, 'p');
	case KEY_TAB:
		return handle_ctrl(l, key.mods & KEY_SHIFT ? 'p' : 'n');
	case KEY_DOWN:
		return handle_ctrl(l, 'n');
	case KEY_PAGE_UP:
		return move_selection(l, l->selected > page ? l->selected - page
							    : 0);
	case KEY_PAGE_DOWN:
		return move_selection(l, l->selected + page);
	case KEY_HOME:
		return move_selection(l, 0);
	case KEY_END:
		return move_selection(l, l->n);
	case KEY_BACKSPACE:
		return erase_filter(l, key.mods != 0);
	default:
		return key.name == KEY_CHAR && key.mods == KEY_CTRL
			       ? handle_ctrl(l, key.c)
			       : SELECTION_NOTHING;
	}
}

/* Appends typed or pasted text to the filter, up to its first line end. */
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
		return handle_key(l, event->key);
	if ((event->kind != KEY_EVENT_TEXT && event->kind != KEY_EVENT_PASTE) ||
	    !add_text(l, event->text))
		return SELECTION_NOTHING;
	rank_items(l);
	return SELECTION_CHANGED;
}

size_t selection_list_chosen(const struct selection_list *l)
{
	return l->order[l->selected];
}

static void add_blanks(size_t n, struct rows *rows)
{
	while (n--)
		rows_adds(rows, muted, " ");
}

/* Adds the cells of a row, without those for which the window is too narrow.
 * Returns the width that is left for the name. */
static size_t add_cells(const struct selection_list *l, struct str cells,
			size_t columns, struct rows *rows)
{
	const struct list_view *v = l->view;
	struct str cell;

	for (size_t c = 0; v && c < v->n_columns; c++) {
		size_t width = l->widths[c];
		size_t used;

		if (!str_split(&cells, '\t', &cell) ||
		    width + 2 + NAME_LEAST > columns)
			break;
		used = width_cells(cell) < width ? width_cells(cell) : width;
		if (v->columns[c].right)
			add_blanks(width - used, rows);
		cut_text_add(rows, muted, cell, width);
		add_blanks(v->columns[c].right ? 2 : width - used + 2, rows);
		columns -= width + 2;
	}
	return columns;
}

static void add_titles(const struct selection_list *l, size_t columns,
		       struct rows *rows)
{
	const struct list_view *v = l->view;
	struct buf cells = BUF_INIT(1 << 10);

	for (size_t c = 0; c < v->n_columns; c++)
		buf_addf(&cells, "%s\t", v->columns[c].title);
	rows_adds(rows, muted, "  ");
	columns = add_cells(l, buf_str(&cells), columns - 2, rows);
	cut_text_add(rows, muted, str_of(v->name), columns);
	rows_end(rows);
	buf_release(&cells);
}

/* Returns the title of the group that begins at this item, or NULL. A filter
 * mixes the groups. */
static const char *find_group(const struct selection_list *l, size_t i)
{
	unsigned group = item_at(l, i)->group;

	if (!l->view || l->filter.len ||
	    (i && item_at(l, i - 1)->group == group))
		return NULL;
	return l->view->groups[group];
}

static size_t count_groups(const struct selection_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += find_group(l, i) != NULL;
	return n;
}

/* Returns the width of the names of a list whose summaries are aligned: that
 * of the longest name, but at most half of the window. */
static size_t measure_names(const struct selection_list *l, size_t columns)
{
	size_t most = 0;

	for (size_t i = 0; !(l->view && l->view->n_columns) && i < l->n_items;
	     i++) {
		size_t cells = width_cells(l->items[i].name);

		most = cells > most ? cells : most;
	}
	return most < columns / 2 ? most : columns / 2;
}

/* names: see measure_names() */
static void add_item(const struct selection_list *l, size_t i, size_t names,
		     size_t columns, struct rows *rows)
{
	const struct fuzzy_item *item = item_at(l, i);
	const char *group = find_group(l, i);
	bool selected = i == l->selected;
	struct style style = { selected ? ATTR_REVERSE : 0, STYLE_PLAIN };
	size_t cells;

	if (group) {
		cut_text_add(rows, muted, str_of(group), columns);
		rows_end(rows);
	}
	rows_adds(rows, muted, selected ? "> " : "  ");
	columns = add_cells(l, item->cells, columns - 2, rows) + 2;
	cells = cut_text_add(rows, style, item->name, columns - 2);
	if (item->summary.len && cells + 6 < columns) {
		size_t pad = cells < names ? names - cells : 0;

		add_blanks(pad + 2, rows);
		cells += pad;
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
	/* If the filter is too long, show only its end. */
	while (width_cells(filter) + 10 > columns && filter.len) {
		size_t cells;

		filter = str_skip(filter, width_next(filter, &cells));
	}
	rows_adds(rows, muted, "Filter: ");
	rows_add(rows, plain, filter);
	rows_end(rows);
	*caret_column = 8 + width_cells(filter);
}

/* Adds what the view shows about the selected item: lines, in exactly n rows,
 * the first one empty on a large screen, or at most n rows with styles. */
static void add_preview(struct selection_list *l, size_t n, size_t columns,
			struct rows *rows)
{
	size_t item = l->n ? l->order[l->selected] : 0;
	struct str rest;
	struct str line;

	if (l->view->preview_rows) {
		if (l->n)
			l->view->preview_rows(l->view->arg, item, columns, n,
					      rows);
		return;
	}
	if (l->n && l->previewed != item + 1) {
		buf_clear(&l->preview);
		l->view->preview(l->view->arg, item, &l->preview);
		l->previewed = item + 1;
	}
	rest = l->n ? buf_str(&l->preview) : (struct str){ 0 };
	if (n >= SPACED_ROWS) {
		rows_end(rows);
		n--;
	}
	for (size_t i = 0; i < n; i++) {
		if (!str_split(&rest, '\n', &line))
			line = (struct str){ 0 };
		rows_adds(rows, muted, "  ");
		cut_text_add(rows,
			     !i                       ? muted
			     : str_starts(line, "> ") ? bold
						      : plain,
			     line, columns - 2);
		rows_end(rows);
	}
}

static void add_foot(const struct selection_list *l, size_t columns,
		     struct rows *rows)
{
	size_t hidden = l->view ? count_hidden(l) : 0;
	struct buf foot = BUF_INIT(200);

	if (l->n)
		buf_addf(&foot, "%zu of %zu", l->selected + 1, l->n);
	else
		buf_adds(&foot, "nothing matches");
	if (hidden)
		buf_addf(&foot, ", Ctrl+A %s %zu %s",
			 l->shows_hidden ? "hides" : "shows", hidden,
			 l->view->hidden);
	buf_adds(&foot, ", Enter chooses, Esc leaves");
	cut_text_add(rows, muted, buf_str(&foot), columns);
	rows_end(rows);
	buf_release(&foot);
}

/* Returns the number of rows for the preview, and sets l->page. */
static size_t divide_rows(struct selection_list *l, size_t max_rows)
{
	size_t frame = 3; /* title, filter, keys */
	size_t preview = 0;

	if (l->view) {
		frame += 1 + count_groups(l);
		if ((l->view->preview || l->view->preview_rows) &&
		    max_rows >= 9)
			preview = max_rows / 3 - (max_rows < 12);
		if (preview > PREVIEW_ROWS)
			preview = PREVIEW_ROWS;
	}
	frame += preview;
	l->page = max_rows > frame + 1 ? max_rows - frame : 1;
	return preview;
}

void selection_list_render(struct selection_list *l, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column)
{
	size_t first = rows->n;
	size_t preview = divide_rows(l, max_rows);
	size_t names;

	columns = columns > 12 ? columns - 1 : 11;
	if (l->selected < l->top)
		l->top = l->selected;
	if (l->selected >= l->top + l->page)
		l->top = l->selected - l->page + 1;
	add_head(l, columns, rows, caret_column);
	*caret_row = rows->n - first - 1;
	if (l->view) {
		measure_columns(l); /* the cells may have changed */
		add_titles(l, columns, rows);
	}
	names = measure_names(l, columns);
	for (size_t i = l->top; i < l->n && i < l->top + l->page; i++)
		add_item(l, i, names, columns, rows);
	if (preview)
		add_preview(l, preview, columns, rows);
	add_foot(l, columns, rows);
}

void selection_list_release(struct selection_list *l)
{
	buf_release(&l->filter);
	buf_release(&l->preview);
	l->view = NULL;
	l->shows_hidden = l->takes_typed = false;
	l->previewed = 0;
	l->items = NULL;
	l->n_items = l->n = l->selected = l->top = l->page = 0;
}
