/* editor_keys.c - what each key does to a draft, as a table. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "editor/editor_impl.h"

typedef enum editor_result command(struct editor *e);

static enum editor_result move_to(struct editor *e, size_t at)
{
	e->caret = at;
	e->has_goal = false;
	return EDITOR_CHANGED;
}

static enum editor_result move_left(struct editor *e)
{
	return move_to(e, editor_left_of(e, e->caret));
}

static enum editor_result move_right(struct editor *e)
{
	return move_to(e, editor_right_of(e, e->caret));
}

static size_t goal_column(struct editor *e, struct editor_row row)
{
	if (!e->has_goal)
		e->goal = editor_column(e, row, e->caret);
	e->has_goal = true;
	return e->goal;
}

static enum editor_result move_up(struct editor *e)
{
	struct editor_row row = editor_row_at(e, e->caret);
	size_t column;

	if (!row.start)
		return EDITOR_OLDER;
	column = goal_column(e, row);
	e->caret = editor_place(e, editor_row_at(e, row.start - 1), column);
	return EDITOR_CHANGED;
}

static enum editor_result move_down(struct editor *e)
{
	struct editor_row row = editor_row_at(e, e->caret);
	size_t column;

	if (row.last)
		return EDITOR_NEWER;
	column = goal_column(e, row);
	e->caret = editor_place(e, editor_row_from(e, row.next), column);
	return EDITOR_CHANGED;
}

static size_t line_start(struct editor *e)
{
	return gap_after_last(&e->text, 0, e->caret, '\n');
}

static size_t line_end(struct editor *e)
{
	return gap_find(&e->text, e->caret, editor_len(e), '\n');
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
	return move_to(e, editor_len(e));
}

enum { BLANK, MARK, WORD };

/* Letters, digits and all beyond ASCII make words; a paste is one. */
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

	while (at && class_of(e, editor_left_of(e, at)) != WORD)
		at = editor_left_of(e, at);
	while (at && class_of(e, editor_left_of(e, at)) == WORD)
		at = editor_left_of(e, at);
	return at;
}

static size_t word_right(struct editor *e)
{
	size_t at = e->caret;

	while (at < editor_len(e) && class_of(e, at) != WORD)
		at = editor_right_of(e, at);
	while (at < editor_len(e) && class_of(e, at) == WORD)
		at = editor_right_of(e, at);
	return at;
}

/* To the blank before, as a shell's Ctrl+W. */
static size_t blank_left(struct editor *e)
{
	size_t at = e->caret;

	while (at && class_of(e, editor_left_of(e, at)) == BLANK)
		at = editor_left_of(e, at);
	while (at && class_of(e, editor_left_of(e, at)) != BLANK)
		at = editor_left_of(e, at);
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
	editor_replace(e, from, to - from, (struct str){ 0 });
	return EDITOR_CHANGED;
}

static enum editor_result delete_left(struct editor *e)
{
	return delete_range(e, editor_left_of(e, e->caret), e->caret);
}

static enum editor_result delete_right(struct editor *e)
{
	return delete_range(e, e->caret, editor_right_of(e, e->caret));
}

/* Cuts; kills one after the other are one text. */
static enum editor_result kill_range(struct editor *e, size_t from, size_t to)
{
	enum kill_how how = e->before != EDITOR_LAST_KILL ? KILL_NEW
			    : from < e->caret             ? KILL_BEFORE
							  : KILL_AFTER;

	if (from == to)
		return EDITOR_NOTHING;
	kills_add(&e->kills, gap_view(&e->text, from, to), how);
	editor_replace(e, from, to - from, (struct str){ 0 });
	e->last = EDITOR_LAST_KILL;
	return EDITOR_CHANGED;
}

static enum editor_result kill_line_left(struct editor *e)
{
	size_t from = line_start(e);

	return kill_range(e, from == e->caret ? editor_left_of(e, from) : from,
			  e->caret);
}

static enum editor_result kill_line_right(struct editor *e)
{
	size_t to = line_end(e);

	return kill_range(e, e->caret,
			  to == e->caret ? editor_right_of(e, to) : to);
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
	editor_replace(e, e->caret - old, old, text);
	e->yanked = text.len;
	e->last = EDITOR_LAST_YANK;
	return EDITOR_CHANGED;
}

static enum editor_result yank(struct editor *e)
{
	return yank_text(e, 0, kills_newest(&e->kills));
}

static enum editor_result yank_older(struct editor *e)
{
	if (e->before != EDITOR_LAST_YANK)
		return EDITOR_NOTHING;
	return yank_text(e, e->yanked, kills_rotate(&e->kills));
}

static enum editor_result undo(struct editor *e)
{
	return editor_undo(e, false) ? EDITOR_CHANGED : EDITOR_NOTHING;
}

static enum editor_result redo(struct editor *e)
{
	return editor_undo(e, true) ? EDITOR_CHANGED : EDITOR_NOTHING;
}

static enum editor_result add_line(struct editor *e)
{
	editor_replace(e, e->caret, 0, STR("\n"));
	return EDITOR_CHANGED;
}

static enum editor_result enter(struct editor *e)
{
	size_t at = e->caret;

	if (!at || at < editor_len(e) || gap_byte(&e->text, at - 1) != '\\')
		return EDITOR_SUBMIT;
	editor_replace(e, at - 1, 1, STR("\n"));
	return EDITOR_CHANGED;
}

static enum editor_result delete_or_leave(struct editor *e)
{
	return editor_is_empty(e) ? EDITOR_EOF : delete_right(e);
}

/* A row has a function, or the result that the caller gets. */
static const struct binding {
	enum key_name name;
	uint32_t c;
	unsigned mods;
	enum editor_result result;
	command *run;
} bindings[] = {
	{ KEY_ENTER, 0, 0, EDITOR_NOTHING, enter },
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
	{ KEY_CHAR, 'y', KEY_CTRL, EDITOR_NOTHING, yank },
	{ KEY_CHAR, 'y', KEY_ALT, EDITOR_NOTHING, yank_older },
	{ KEY_CHAR, '_', KEY_CTRL, EDITOR_NOTHING, undo },
	{ KEY_CHAR, '-', KEY_CTRL | KEY_SHIFT, EDITOR_NOTHING,
	  undo }, /* kitty */
	{ KEY_CHAR, '_', KEY_CTRL | KEY_SHIFT, EDITOR_NOTHING, undo },
	{ KEY_CHAR, '/', KEY_CTRL, EDITOR_NOTHING,
	  undo }, /* 0x1F in xterm, this in kitty */
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
	{ KEY_CHAR, 'o', KEY_CTRL, EDITOR_OUTPUT, NULL },
};

enum editor_result editor_key(struct editor *e, struct key key)
{
	/* Kitty's Ctrl+M is Enter, as its byte is elsewhere. */
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
