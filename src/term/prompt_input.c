/* prompt_input.c - the editor with its history, search and completion. */
/* SPDX-License-Identifier: MIT */
#include "term/prompt_input.h"

#include "base/str.h"
#include "term/width.h"

enum { WORDS_MAX = 500 };

static void copy_draft(struct prompt_input *p, struct buf *out)
{
	*out = BUF_INIT(SIZE_MAX);
	editor_text(&p->editor, out);
}

/* Shows the next older prompt that has the words. */
static void search_from(struct prompt_input *p, size_t from)
{
	size_t at = from;
	struct str text;

	p->missed = !prompt_history_find(&p->history, buf_str(&p->words), &at,
					 &text);
	if (p->missed)
		return;
	p->found = at;
	editor_set(&p->editor, text);
}

static void begin_search(struct prompt_input *p)
{
	p->searching = true;
	p->missed = false;
	p->found = p->history.n;
	p->words = BUF_INIT(WORDS_MAX);
	copy_draft(p, &p->draft);
}

static void end_search(struct prompt_input *p, bool taken)
{
	if (!taken)
		editor_set(&p->editor, buf_str(&p->draft));
	p->searching = false;
	buf_release(&p->words);
	buf_release(&p->draft);
}

static void shorten_words(struct prompt_input *p)
{
	while (p->words.len &&
	       ((unsigned char)p->words.ptr[--p->words.len] & 0xC0) == 0x80)
		continue;
	search_from(p, p->history.n);
}

static bool is_ctrl(struct key key, char c)
{
	return key.name == KEY_CHAR && key.mods == KEY_CTRL &&
	       key.c == (uint32_t)c;
}

/* True when the key was the search's; any other one takes what was found. */
static bool search_event(struct prompt_input *p, const struct key_event *event)
{
	struct key key = event->key;

	if (event->kind == KEY_EVENT_TEXT) {
		if (p->words.len + event->text.len <= WORDS_MAX)
			buf_addstr(&p->words, event->text);
		search_from(p, p->history.n);
		return true;
	}
	if (event->kind != KEY_EVENT_KEY) {
		end_search(p, true);
		return false;
	}
	if (is_ctrl(key, 'r')) {
		search_from(p, p->found);
	} else if (key.name == KEY_BACKSPACE || is_ctrl(key, 'h')) {
		shorten_words(p);
	} else if (key.name == KEY_ESCAPE || is_ctrl(key, 'c') ||
		   is_ctrl(key, 'g')) {
		end_search(p, false);
	} else {
		end_search(p, true);
		return key.name == KEY_ENTER; /* which only takes it */
	}
	return true;
}

static enum editor_result walk(struct prompt_input *p, bool older)
{
	struct buf draft;
	struct str text;
	bool found;

	copy_draft(p, &draft);
	found = older ? prompt_history_older(&p->history, buf_str(&draft),
					     &text)
		      : prompt_history_newer(&p->history, buf_str(&draft),
					     &text);
	if (found)
		editor_set(&p->editor, text);
	buf_release(&draft);
	return found ? EDITOR_CHANGED : EDITOR_NOTHING;
}

static enum editor_result edit(struct prompt_input *p,
			       const struct key_event *event)
{
	enum editor_result result = editor_event(&p->editor, event);

	switch (result) {
	case EDITOR_CHANGED:
		complete_update(&p->complete, &p->editor);
		return result;
	case EDITOR_OLDER:
	case EDITOR_NEWER:
		return walk(p, result == EDITOR_OLDER);
	case EDITOR_SEARCH:
		begin_search(p);
		return EDITOR_CHANGED;
	case EDITOR_COMPLETE:
		/* What Esc has closed is opened again. */
		p->complete.dismissed = false;
		complete_update(&p->complete, &p->editor);
		return EDITOR_CHANGED;
	default:
		return result;
	}
}

enum editor_result prompt_input_event(struct prompt_input *p,
				      const struct key_event *event)
{
	if (event->kind > KEY_EVENT_PASTE_END)
		return EDITOR_NOTHING;
	if (p->searching && search_event(p, event))
		return EDITOR_CHANGED;
	if (event->kind == KEY_EVENT_KEY &&
	    complete_key(&p->complete, &p->editor, event->key))
		return EDITOR_CHANGED;
	return edit(p, event);
}

int prompt_input_sent(struct prompt_input *p, struct error *err)
{
	struct buf text;
	int rc;

	copy_draft(p, &text);
	rc = prompt_history_add(&p->history, buf_str(&text), err);
	buf_release(&text);
	editor_reset(&p->editor);
	complete_update(&p->complete, &p->editor);
	return rc;
}

void prompt_input_files(struct prompt_input *p, struct str paths)
{
	complete_set_files(&p->complete, paths);
	complete_update(&p->complete, &p->editor);
}

static void add_search(const struct prompt_input *p, size_t columns,
		       struct rows *rows)
{
	struct style style = { 0, p->missed ? STYLE_WARN : STYLE_MUTED };
	struct buf line = BUF_INIT(WORDS_MAX + 100);
	struct str text;

	buf_adds(&line,
		 p->missed ? "not in the history: " : "search the history: ");
	buf_addstr(&line, buf_str(&p->words));
	text = buf_str(&line);
	text.len = width_prefix(text, columns ? columns - 1 : 0);
	rows_add(rows, style, text);
	rows_end(rows);
	buf_release(&line);
}

void prompt_input_render(struct prompt_input *p, size_t columns,
			 size_t max_rows, struct rows *rows, size_t *caret_row,
			 size_t *caret_column)
{
	size_t below = p->searching ? 1 : p->complete.n;
	struct rows popup = { 0 };

	if (below >= max_rows)
		below = max_rows ? max_rows - 1 : 0;
	editor_render(&p->editor, columns, max_rows - below, rows, caret_row,
		      caret_column);
	if (p->searching)
		add_search(p, columns, &popup);
	else
		complete_render(&p->complete, columns, &popup);
	/* In a low screen the rows around the one that is selected. */
	rows_append(rows, &popup,
		    !p->searching && p->complete.selected >= below && below
			    ? p->complete.selected - below + 1
			    : 0,
		    below);
	rows_release(&popup);
}

void prompt_input_release(struct prompt_input *p)
{
	editor_release(&p->editor);
	prompt_history_release(&p->history);
	complete_release(&p->complete);
	buf_release(&p->words);
	buf_release(&p->draft);
}
