/* choices.c - choosing with a few typed letters: completion and lists. */
/* SPDX-License-Identifier: MIT */
#include "editor/choices.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "term/rows.h"

enum {
	TEXT_MAX = 512,
	SCORE_FOUND = 100000, /* larger than all deductions together */
	SCORE_BESIDE = 40, /* bonus for a letter right after the previous one */
	SCORE_WORD = 30,   /* bonus for a letter that begins a word */
	SCORE_WHOLE = 50000, /* bonus if the letters are the whole text */
	SCORE_BEGIN = 20000, /* bonus if the text begins with the letters */
};

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool begins_word(struct str text, size_t i)
{
	return !i || strchr("/_-. :", text.ptr[i - 1]);
}

/* Scores the letters if the first one is at start; 0 if they do not all follow.
 */
static int score_from(struct str letters, struct str text, size_t start)
{
	int score = SCORE_FOUND;
	size_t at = start;

	for (size_t i = 0; i < letters.len; i++) {
		size_t before = at;

		while (at < text.len &&
		       to_lower(text.ptr[at]) != to_lower(letters.ptr[i]))
			at++;
		if (at == text.len)
			return 0;
		if (begins_word(text, at))
			score += SCORE_WORD;
		if (i && at == before)
			score += SCORE_BESIDE;
		score -= (int)(at - before);
		at++;
	}
	if (start == 0 && at == letters.len)
		score += text.len == letters.len ? SCORE_WHOLE : SCORE_BEGIN;
	return score - (int)text.len / 4;
}

int fuzzy_score(struct str letters, struct str text)
{
	int best = 0;

	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	if (!letters.len)
		return 1;
	for (size_t i = 0; i < text.len; i++) {
		int score;

		if (to_lower(text.ptr[i]) != to_lower(letters.ptr[0]))
			continue;
		score = score_from(letters, text, i);
		if (!score) /* if they do not all follow here, they do not after
			       a later start either */
			break;
		best = score > best ? score : best;
	}
	return best;
}

enum { FOUND_WITHIN = 1, FOUND_AT_WORD, FOUND_AT_BEGIN, FOUND_WHOLE };

/* Returns where the text has the letters side by side; 0: nowhere. */
static int find_letters(struct str letters, struct str text)
{
	int best = 0;

	for (size_t i = 0; i + letters.len <= text.len && best < 2; i++)
		if (!strncasecmp(text.ptr + i, letters.ptr, letters.len))
			best = i ? FOUND_WITHIN + begins_word(text, i)
				 : FOUND_AT_BEGIN + (letters.len == text.len);
	return best;
}

/* Returns the best score among the item's name and aliases. */
static int score_item(int (*score_of)(struct str letters, struct str text),
		      struct str letters, const struct fuzzy_item *item)
{
	int best = score_of(letters, item->name);
	struct str rest = item->alias;
	struct str alias;

	while (str_split(&rest, ' ', &alias)) {
		int score = score_of(letters, alias);

		best = score > best ? score : best;
	}
	return best;
}

size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max)
{
	int *scores = max ? xcalloc(max, sizeof(*scores)) : NULL;
	size_t found = 0;

	for (size_t i = 0; i < n && max; i++) {
		int score = score_item(fuzzy_score, letters, &items[i]);
		size_t at = found;

		while (at && scores[at - 1] < score)
			at--;
		if (!score || at == max)
			continue;
		found += found < max;
		memmove(scores + at + 1, scores + at,
			(found - at - 1) * sizeof(*scores));
		memmove(order + at + 1, order + at,
			(found - at - 1) * sizeof(*order));
		scores[at] = score;
		order[at] = i;
	}
	free(scores);
	return found;
}

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

static void rank_items(struct selection_list *l)
{
	l->n = fuzzy_rank(buf_str(&l->filter), l->items, l->n_items, l->order,
			  SELECTION_MAX);
	l->selected = 0;
	l->top = 0;
	if (l->view && !l->shows_hidden)
		drop_hidden(l);
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
	measure_columns(l);
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
		return move_selection(l, l->selected ? l->selected - 1 : l->n);
	case 'n':
		return move_selection(
			l, l->selected + 1 < l->n ? l->selected + 1 : 0);
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
	unsigned group = l->items[l->order[i]].group;

	if (!l->view || l->filter.len ||
	    (i && l->items[l->order[i - 1]].group == group))
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
	const struct fuzzy_item *item = &l->items[l->order[i]];
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
	if (l->view)
		add_titles(l, columns, rows);
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
	l->shows_hidden = false;
	l->previewed = 0;
	l->items = NULL;
	l->n_items = l->n = l->selected = l->top = l->page = 0;
}

enum { TOKEN_MAX = 512 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == PASTES_LEAD;
}

/* True if an odd number of backslashes precedes the byte. */
static bool is_escaped(struct str s, size_t at)
{
	size_t n = 0;

	while (n < at && s.ptr[at - 1 - n] == '\\')
		n++;
	return n % 2;
}

/* Returns the word before the caret. A space after a backslash does not end it.
 */
static struct str last_word(struct str before)
{
	size_t i = before.len;

	while (i && (!is_blank(before.ptr[i - 1]) || is_escaped(before, i - 1)))
		i--;
	return str_skip(before, i);
}

/* True for characters of a file name that get a backslash, so that the mention
 * is read completely (cmd/chat/message.c) and people see where it ends. */
static bool needs_backslash(struct str name, size_t at)
{
	unsigned char c = (unsigned char)name.ptr[at];
	bool is_last = at + 1 == name.len;

	if (c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || strchr("_~/-+@=%#", c))
		return false;
	return is_last || !strchr(".:", c);
}

static bool is_file(enum complete_kind kind)
{
	return kind == COMPLETE_FILE || kind == COMPLETE_PATH;
}

static const struct fuzzy_item *items_of(const struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		return c->arguments;
	return c->kind == COMPLETE_COMMAND ? c->commands : c->files;
}

static size_t count_of(const struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		return c->n_arguments;
	return c->kind == COMPLETE_COMMAND ? c->n_commands : c->n_files;
}

/* Lists the items that have the letters side by side, the equally good ones in
 * their order: models with the newest first. */
static size_t rank_found(const struct completer *c, struct str letters,
			 size_t *order)
{
	size_t n = 0;

	for (int found = FOUND_WHOLE; found; found--)
		for (size_t i = 0; i < count_of(c) && n < COMPLETE_MATCHES; i++)
			if (score_item(find_letters, letters,
				       &items_of(c)[i]) == found)
				order[n++] = i;
	return n;
}

/* Of commands and arguments, those that only resemble what is typed are listed
 * if there is no other one. */
static void rank_tokens(struct completer *c, struct str letters)
{
	c->selected = 0;
	c->moved = false;
	c->n = is_file(c->kind) || !letters.len
		       ? 0
		       : rank_found(c, letters, c->order);
	if (!c->n)
		c->n = fuzzy_rank(letters, items_of(c), count_of(c), c->order,
				  COMPLETE_MATCHES);
}

static void close_popup(struct completer *c)
{
	c->kind = COMPLETE_NONE;
	c->n = 0;
}

static enum complete_kind kind_of(const struct editor *e, struct str word)
{
	if (!word.len || word.len > TOKEN_MAX)
		return COMPLETE_NONE;
	if (word.ptr[0] == '/' && word.len == e->caret)
		return COMPLETE_COMMAND;
	if (word.ptr[0] == '@')
		return COMPLETE_FILE;
	/* The first word is the command itself. */
	return gap_byte(&e->text, 0) == '!' && word.len < e->caret &&
			       word.ptr[0] != '-'
		       ? COMPLETE_PATH
		       : COMPLETE_NONE;
}

/* Splits a one-line draft into its slash command and the rest. Returns false
 * unless the caret is after the command and a space. */
static bool split_command(const struct editor *e, struct str before,
			  struct str *command, struct str *rest)
{
	size_t end = 0;

	if (before.len != e->caret || !before.len || before.ptr[0] != '/' ||
	    memchr(before.ptr, '\n', before.len))
		return false;
	while (end < before.len && !is_blank(before.ptr[end]))
		end++;
	*command = (struct str){ before.ptr, end };
	*rest = str_skip(before, end);
	if (!rest->len)
		return false;
	while (rest->len && rest->ptr[0] == ' ')
		*rest = str_skip(*rest, 1);
	return true;
}

static bool opens_list(const struct completer *c, struct str command)
{
	for (size_t i = 0; i < c->n_commands; i++)
		if (str_eq(c->commands[i].name, command))
			return c->commands[i].opens_list;
	return false;
}

/* Returns true if the argument of a command is being typed, and updates its
 * choices. */
static bool update_argument(struct completer *c, struct editor *e)
{
	struct str rest;
	struct str command;

	if (!c->list_arguments ||
	    !split_command(e, editor_before(e, TOKEN_MAX + 1), &command, &rest))
		return false;
	if (!str_eq(buf_str(&c->command), command)) {
		c->n_arguments = 0;
		c->command.max = TOKEN_MAX + 1;
		buf_clear(&c->command);
		buf_addstr(&c->command, command);
		/* It may call complete_set_arguments() before it returns. */
		c->list_arguments(c->context, command);
	}
	if (c->dismissed || (!rest.len && opens_list(c, command))) {
		close_popup(c);
		return true;
	}
	c->kind = COMPLETE_ARGUMENT;
	c->token = rest.len;
	rank_tokens(c, rest);
	if (c->n == 1 && str_eq(items_of(c)[c->order[0]].name, rest))
		close_popup(c); /* the argument is already complete */
	return true;
}

void complete_update(struct completer *c, struct editor *e)
{
	struct str word = last_word(editor_before(e, TOKEN_MAX + 1));
	enum complete_kind kind =
		e->recalled ? COMPLETE_NONE : kind_of(e, word);
	struct buf path = BUF_INIT(TOKEN_MAX);

	if (!e->recalled && !is_file(kind) && update_argument(c, e))
		return;
	if (kind == COMPLETE_NONE)
		c->dismissed = false;
	if (kind == COMPLETE_NONE || c->dismissed) {
		close_popup(c);
		return;
	}
	/* list_files() may call complete_set_files() before it returns. */
	if (is_file(kind) && !c->asked && c->list_files) {
		c->asked = true;
		c->list_files(c->context);
	}
	c->kind = kind;
	c->token = word.len;
	if (kind == COMPLETE_COMMAND) {
		/* After the slash alone, show all commands in their order. */
		rank_tokens(c, word.len > 1 ? word : (struct str){ 0 });
		return;
	}
	for (size_t i = kind == COMPLETE_FILE; i < word.len; i++)
		if (word.ptr[i] != '\\' || is_escaped(word, i))
			buf_addc(&path, word.ptr[i]);
	rank_tokens(c, buf_str(&path));
	buf_release(&path);
}

bool complete_is_begun(struct editor *e)
{
	struct str before = editor_before(e, TOKEN_MAX + 1);
	struct str command;
	struct str rest;

	return kind_of(e, last_word(before)) != COMPLETE_NONE ||
	       split_command(e, before, &command, &rest);
}

static void forget_arguments(struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		close_popup(c);
	free(c->arguments);
	buf_release(&c->texts);
	c->arguments = NULL;
	c->n_arguments = 0;
}

static void forget_files(struct completer *c)
{
	if (is_file(c->kind))
		close_popup(c);
	free(c->files);
	buf_release(&c->paths);
	c->files = NULL;
	c->n_files = 0;
}

void complete_forget(struct completer *c)
{
	forget_files(c);
	forget_arguments(c);
	buf_clear(&c->command);
	c->asked = false;
}

void complete_set_arguments(struct completer *c, struct str command,
			    struct str lines)
{
	struct str rest;
	struct str line;

	if (!str_eq(command, buf_str(&c->command)))
		return; /* the user is now typing another command */
	forget_arguments(c);
	c->texts = BUF_INIT(COMPLETE_BYTES);
	buf_addstr(&c->texts, lines);
	rest = buf_str(&c->texts);
	while (str_split(&rest, '\n', &line) &&
	       c->n_arguments < COMPLETE_FILES) {
		size_t tab = str_find(line, '\t');

		if (!line.len)
			continue;
		if (!(c->n_arguments & (c->n_arguments - 1)))
			c->arguments = xrealloc(
				c->arguments,
				c->n_arguments ? c->n_arguments * 2 : 1,
				sizeof(*c->arguments));
		c->arguments[c->n_arguments++] = (struct fuzzy_item){
			.name = { line.ptr, tab },
			.summary = str_skip(line, tab + 1),
		};
	}
}

void complete_set_files(struct completer *c, struct str paths)
{
	size_t cap = 0;
	size_t from = 0;

	forget_files(c);
	c->asked = true;
	c->paths = BUF_INIT(COMPLETE_BYTES);
	buf_addstr(&c->paths, paths);
	for (size_t i = 0; i < c->paths.len && c->n_files < COMPLETE_FILES;
	     i++) {
		if (c->paths.ptr[i] != '\n' && c->paths.ptr[i] != '\0')
			continue;
		if (c->n_files == cap) {
			cap = cap ? cap * 2 : 64;
			c->files = xrealloc(c->files, cap, sizeof(*c->files));
		}
		if (i > from)
			c->files[c->n_files++] = (struct fuzzy_item){
				.name = { c->paths.ptr + from, i - from }
			};
		from = i + 1;
	}
}

/* Inserts a command or an argument. */
static void insert_word(struct completer *c, struct editor *e)
{
	struct buf text = BUF_INIT(TOKEN_MAX);

	buf_addstr(&text, items_of(c)[c->order[c->selected]].name);
	buf_addc(&text, ' ');
	editor_replace_before(e, c->token, buf_str(&text));
	buf_release(&text);
}

/* Appends a file as it is written in a message, "@path", or in a command. */
static void add_mention(const struct completer *c, struct str name,
			struct buf *out)
{
	if (c->kind == COMPLETE_FILE)
		buf_addc(out, '@');
	for (size_t i = 0; i < name.len; i++) {
		if (needs_backslash(name, i))
			buf_addc(out, '\\');
		buf_addc(out, name.ptr[i]);
	}
}

/* Inserts a file; a directory can be completed further. */
static void insert_file(struct completer *c, struct editor *e)
{
	struct str name = c->files[c->order[c->selected]].name;
	struct buf text = BUF_INIT(2 * name.len + 2);

	add_mention(c, name, &text);
	if (!str_ends(name, "/"))
		buf_addc(&text, ' ');
	/* Do not insert a name with control characters. */
	if (pastes_is_clean(buf_str(&text)))
		editor_replace_before(e, c->token, buf_str(&text));
	buf_release(&text);
}

static void accept_choice(struct completer *c, struct editor *e)
{
	if (is_file(c->kind))
		insert_file(c, e);
	else
		insert_word(c, e);
	complete_update(c, e);
}

/* True if the typed text is this item, by name or alias. */
static bool is_typed(const struct completer *c, const struct fuzzy_item *item,
		     struct str typed)
{
	struct buf mention = BUF_INIT(2 * item->name.len + 1);
	struct str rest = item->alias;
	struct str alias;
	bool same;

	while (str_split(&rest, ' ', &alias))
		if (str_eq(typed, alias))
			return true;
	if (!is_file(c->kind))
		return str_eq(typed, item->name);
	add_mention(c, item->name, &mention);
	same = str_eq(typed, buf_str(&mention));
	buf_release(&mention);
	return same;
}

/* True if Enter sends the draft because a choice is completely typed. An
 * argument, or a word of a command, need not be in the list. */
static bool is_complete(const struct completer *c, struct editor *e)
{
	struct str typed = editor_before(e, c->token);

	if (c->moved)
		return is_typed(c, &items_of(c)[c->order[c->selected]], typed);
	if (c->kind == COMPLETE_ARGUMENT || c->kind == COMPLETE_PATH)
		return true;
	for (size_t i = 0; i < c->n; i++)
		if (is_typed(c, &items_of(c)[c->order[i]], typed))
			return true;
	return false;
}

/* Handles Enter while a choice is not completely typed. A command acts, so that
 * a similar one is not taken for it. Returns false if Enter also sends what was
 * inserted. */
static bool take_choice(struct completer *c, struct editor *e)
{
	struct str typed = editor_before(e, c->token);
	bool sends = false;
	size_t n = 0;

	c->enter = COMPLETE_TOOK;
	for (size_t i = 0; i < c->n && c->kind == COMPLETE_COMMAND; i++) {
		if (score_item(find_letters, typed, &items_of(c)[c->order[i]]) <
		    FOUND_AT_BEGIN)
			continue;
		c->selected = !n++ && !c->moved ? i : c->selected;
	}
	if (c->kind == COMPLETE_COMMAND && !c->moved && n != 1) {
		c->enter = n ? COMPLETE_SEVERAL : COMPLETE_UNKNOWN;
		return true;
	}
	sends = c->kind == COMPLETE_COMMAND &&
		!items_of(c)[c->order[c->selected]].acts;
	accept_choice(c, e);
	if (sends)
		close_popup(c);
	return !sends;
}

static bool is_ctrl(struct key key, char c)
{
	return key.name == KEY_CHAR && key.mods == KEY_CTRL &&
	       key.c == (uint32_t)c;
}

bool complete_key(struct completer *c, struct editor *e, struct key key)
{
	if (!c->n)
		return false;
	if (is_ctrl(key, 'p'))
		key = (struct key){ .name = KEY_UP };
	if (is_ctrl(key, 'n'))
		key = (struct key){ .name = KEY_DOWN };
	if (key.mods)
		return false;
	switch (key.name) {
	case KEY_UP:
		c->selected = (c->selected + c->n - 1) % c->n;
		c->moved = true;
		return true;
	case KEY_DOWN:
		c->selected = (c->selected + 1) % c->n;
		c->moved = true;
		return true;
	case KEY_ESCAPE:
		c->dismissed = true;
		close_popup(c);
		return true;
	case KEY_ENTER:
		if (is_complete(c, e)) {
			close_popup(c);
			return false;
		}
		return take_choice(c, e);
	case KEY_TAB:
		accept_choice(c, e);
		return true;
	default:
		return false;
	}
}

enum {
	MOST_LEFT = 34,      /* cells of names and arguments */
	LEAST_FOR_ARGS = 60, /* columns */
	LEAST_FOR_WHOLE = 6, /* rows; with fewer, no description is repeated */
	MOST_WHOLE = 3,      /* rows of a description below the choices */
};

/* How the choices are divided into columns. */
struct choice_columns {
	size_t columns; /* of the window */
	size_t left;    /* cells of names and arguments */
	bool args;      /* arguments are shown */
};

static size_t left_cells(const struct fuzzy_item *item, bool args)
{
	return width_cells(item->name) +
	       (args && item->args.len ? 1 + width_cells(item->args) : 0);
}

/* Returns the cells for a description. */
static size_t summary_room(const struct choice_columns *at)
{
	return at->columns > at->left + 5 ? at->columns - at->left - 5 : 0;
}

/* Adds a row with all its texts cut to the width. The left column has the same
 * width in all rows. */
static void add_choice(const struct completer *c, size_t i,
		       const struct choice_columns *at, struct rows *rows)
{
	const struct fuzzy_item *item = &items_of(c)[c->order[i]];
	bool selected = i == c->selected;
	struct style name = { selected ? ATTR_REVERSE : 0, STYLE_ACCENT };
	size_t left = at->columns > 3 ? at->columns - 3 : 1;
	size_t most = item->summary.len && at->left < left ? at->left : left;
	size_t used;

	rows_adds(rows, muted, "  ");
	used = cut_text_add(rows, name, item->name, left);
	/* Cut before the summary, which says more. */
	if (at->args && item->args.len && used + 1 < most) {
		rows_adds(rows, muted, " ");
		used += 1 +
			cut_text_add(rows, muted, item->args, most - used - 1);
	}
	while (item->summary.len && used < at->left + 2 && used < left) {
		rows_adds(rows, muted, " ");
		used++;
	}
	(void)cut_text_add(rows, muted, item->summary, left - used);
	rows_close(rows);
}

/* Sets the width of the left column. No name is cut for the sake of the
 * descriptions. */
static void measure_left(const struct completer *c, struct choice_columns *at)
{
	size_t most = at->columns / 3 < MOST_LEFT ? at->columns / 3 : MOST_LEFT;

	at->left = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct fuzzy_item *item = &items_of(c)[c->order[i]];
		size_t left = left_cells(item, at->args);
		size_t name = width_cells(item->name);

		at->left = left > at->left ? left : at->left;
		most = name > most ? name : most;
	}
	at->left = at->left < most ? at->left : most;
}

/* In a narrow window, arguments are left out if a description would be cut for
 * them: it says more. */
static struct choice_columns lay_out(const struct completer *c, size_t columns)
{
	struct choice_columns at = { .columns = columns, .args = true };

	measure_left(c, &at);
	for (size_t i = 0; i < c->n && columns < LEAST_FOR_ARGS; i++)
		if (width_cells(items_of(c)[c->order[i]].summary) >
		    summary_room(&at))
			at.args = false;
	if (!at.args)
		measure_left(c, &at);
	return at;
}

/* Adds the whole description of the selected choice if its row has only a part
 * of it. */
static void add_whole_summary(const struct completer *c,
			      const struct choice_columns *at,
			      struct rows *rows)
{
	struct str text = items_of(c)[c->order[c->selected]].summary;
	struct wrap w = { .columns = at->columns, .words = true };
	struct rows line = { 0 };

	if (width_cells(text) <= summary_room(at))
		return;
	w.first.text = w.rest.text = STR("  ");
	rows_add(&line, plain, text);
	rows_close(&line);
	wrap_rows(&line, &w, rows);
	rows_release(&line);
}

void complete_render(const struct completer *c, size_t columns, size_t max_rows,
		     struct rows *rows)
{
	struct choice_columns at = lay_out(c, columns);
	struct rows whole = { 0 };
	char place[80]; /* of the shown choices among all of them */
	size_t first;
	size_t room;
	size_t n;
	bool more;

	if (!c->n)
		return;
	if (max_rows >= LEAST_FOR_WHOLE)
		add_whole_summary(c, &at, &whole);
	if (whole.n > MOST_WHOLE)
		rows_clear(&whole);
	room = max_rows - whole.n;
	if (room > COMPLETE_ROWS)
		room = COMPLETE_ROWS + 1;
	more = room > 1 && c->n > (room > COMPLETE_ROWS ? COMPLETE_ROWS : room);
	n = c->n < room - more ? c->n : room - more;
	first = c->selected < n ? 0 : c->selected + 1 - n;
	for (size_t i = first; i < first + n; i++)
		add_choice(c, i, &at, rows);
	if (more) {
		snprintf(place, sizeof(place), "  %zu-%zu of %zu%s", first + 1,
			 first + n, c->n, c->n == COMPLETE_MATCHES ? "+" : "");
		cut_text_add(rows, muted, str_of(place), columns);
		rows_close(rows);
	}
	rows_append(rows, &whole, 0, whole.n);
	rows_release(&whole);
}

void complete_release(struct completer *c)
{
	complete_forget(c);
	buf_release(&c->command);
	*c = (struct completer){ 0 };
}
