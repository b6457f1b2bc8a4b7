/* complete.c - what a half-typed slash command or @file may become. */
/* SPDX-License-Identifier: MIT */
#include "editor/complete.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "term/cut_text.h"
#include "term/width.h"

enum { TOKEN_MAX = 512 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == PASTES_LEAD;
}

/* The word before the caret; in a path a backslash goes before a blank. */
static struct str last_word(struct str before)
{
	size_t i = before.len;

	while (i && (!is_blank(before.ptr[i - 1]) ||
		     (i > 1 && before.ptr[i - 2] == '\\')))
		i--;
	return str_skip(before, i);
}

static const struct fuzzy_item *items_of(const struct completer *c)
{
	return c->kind == COMPLETE_COMMAND ? c->commands : c->files;
}

static void rank(struct completer *c, struct str letters)
{
	size_t n = c->kind == COMPLETE_COMMAND ? c->n_commands : c->n_files;

	c->selected = 0;
	c->n = fuzzy_rank(letters, items_of(c), n, c->order, COMPLETE_ROWS);
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
	return word.ptr[0] == '@' ? COMPLETE_FILE : COMPLETE_NONE;
}

void complete_update(struct completer *c, struct editor *e)
{
	struct str word = last_word(editor_before(e, TOKEN_MAX + 1));
	enum complete_kind kind = kind_of(e, word);
	struct buf path = BUF_INIT(TOKEN_MAX);

	if (kind == COMPLETE_NONE)
		c->dismissed = false;
	if (kind == COMPLETE_NONE || c->dismissed) {
		close_popup(c);
		return;
	}
	/* The answer may come at once. */
	if (kind == COMPLETE_FILE && !c->asked && c->list_files) {
		c->asked = true;
		c->list_files(c->context);
	}
	c->kind = kind;
	c->token = word.len;
	if (kind == COMPLETE_COMMAND) {
		/* The slash alone is no letter: all in their order. */
		rank(c, word.len > 1 ? word : (struct str){ 0 });
		return;
	}
	for (size_t i = 1; i < word.len; i++)
		if (word.ptr[i] != '\\')
			buf_addc(&path, word.ptr[i]);
	rank(c, buf_str(&path));
	buf_release(&path);
}

void complete_forget_files(struct completer *c)
{
	if (c->kind == COMPLETE_FILE)
		close_popup(c);
	free(c->files);
	buf_release(&c->paths);
	c->files = NULL;
	c->n_files = 0;
}

void complete_set_files(struct completer *c, struct str paths)
{
	size_t cap = 0;
	size_t from = 0;

	complete_forget_files(c);
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

static void take_command(struct completer *c, struct editor *e)
{
	struct buf text = BUF_INIT(TOKEN_MAX);

	buf_addstr(&text, c->commands[c->order[c->selected]].name);
	buf_addc(&text, ' ');
	editor_replace_before(e, c->token, buf_str(&text));
	buf_release(&text);
}

static void take_file(struct completer *c, struct editor *e)
{
	struct str name = c->files[c->order[c->selected]].name;
	struct buf text = BUF_INIT(2 * name.len + 2);

	buf_addc(&text, '@');
	for (size_t i = 0; i < name.len; i++) {
		if (is_blank(name.ptr[i]))
			buf_addc(&text, '\\');
		buf_addc(&text, name.ptr[i]);
	}
	if (!str_ends(name, "/"))
		buf_addc(&text, ' ');
	/* A name with controls is shown as it will be read. */
	if (pastes_is_clean(buf_str(&text)))
		editor_replace_before(e, c->token, buf_str(&text));
	buf_release(&text);
}

static void take(struct completer *c, struct editor *e)
{
	if (c->kind == COMPLETE_COMMAND)
		take_command(c, e);
	else
		take_file(c, e);
	complete_update(c, e);
}

/* The command stands there in full, by either name: Enter sends it. */
static bool is_complete(const struct completer *c, struct editor *e)
{
	const struct fuzzy_item *item = &items_of(c)[c->order[c->selected]];
	struct str typed = editor_before(e, c->token);
	struct str rest = item->alias;
	struct str alias;

	if (c->kind != COMPLETE_COMMAND)
		return false;
	while (str_split(&rest, ' ', &alias))
		if (str_eq(typed, alias))
			return true;
	return str_eq(typed, item->name);
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
		return true;
	case KEY_DOWN:
		c->selected = (c->selected + 1) % c->n;
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
		take(c, e);
		return true;
	case KEY_TAB:
		take(c, e);
		return true;
	default:
		return false;
	}
}

/* Both texts cut to the row; names get the same room in all. */
static void add_choice(const struct fuzzy_item *item, bool selected,
		       size_t name_cells, size_t columns, struct rows *rows)
{
	struct style name = { selected ? ATTR_REVERSE : 0, STYLE_ACCENT };
	struct style muted = { 0, STYLE_MUTED };
	size_t left = columns > 3 ? columns - 3 : 1;
	size_t used;

	rows_adds(rows, muted, "  ");
	used = cut_text_add(rows, name, item->name, left);
	while (item->summary.len && used < name_cells + 2 && used < left) {
		rows_adds(rows, muted, " ");
		used++;
	}
	cut_text_add(rows, muted, item->summary, left - used);
	rows_close(rows);
}

void complete_render(const struct completer *c, size_t columns,
		     struct rows *rows)
{
	size_t cells = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t n = width_cells(items_of(c)[c->order[i]].name);

		cells = n > cells ? n : cells;
	}
	for (size_t i = 0; i < c->n; i++)
		add_choice(&items_of(c)[c->order[i]], i == c->selected,
			   cells < columns / 2 ? cells : columns / 2, columns,
			   rows);
}

void complete_release(struct completer *c)
{
	complete_forget_files(c);
	*c = (struct completer){ 0 };
}
