/* editor.c - a draft of several lines: its text, pastes and undo. */
/* SPDX-License-Identifier: MIT */
#include "editor/editor.h"

#include <string.h>

#include "base/str.h"
#include "editor/editor_impl.h"

enum { SPLIT = 3 }; /* most bytes of a character whose rest is missing */

static void change_text(struct editor *e, size_t at, size_t len,
			struct str text)
{
	gap_replace(&e->text, at, len, text);
	e->caret = at + text.len;
	e->has_goal = false;
	/* The rows above stay where they are. */
	if (e->top > at)
		e->top = at;
}

void editor_replace(struct editor *e, size_t at, size_t len, struct str text)
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

static bool undo_change(struct editor *e)
{
	const struct undo_change *c = undo_back(&e->undo);

	if (!c)
		return false;
	change_text(e, c->at, c->inserted.len, buf_str(&c->removed));
	e->caret = c->caret;
	return true;
}

static bool redo_change(struct editor *e)
{
	const struct undo_change *c = undo_again(&e->undo);

	if (!c)
		return false;
	change_text(e, c->at, c->removed.len, buf_str(&c->inserted));
	return true;
}

bool editor_undo(struct editor *e, bool again)
{
	e->last = EDITOR_LAST_OTHER;
	return again ? redo_change(e) : undo_change(e);
}

void editor_paste_begin(struct editor *e)
{
	buf_release(&e->pasting);
	e->pasting = BUF_INIT(SIZE_MAX);
	e->clean = 0;
	e->had_cr = false;
	e->had_lf = false;
}

/* Whether there was one to replace. */
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

/* CRs from the byte at on become LFs; with the first LF that arrives those of
 * all the paste, which had no other LF, become CRs again. */
static void mend_line_ends(struct editor *e, size_t at)
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
	/* While the rest arrives; not again behind what is not clean. */
	bool clean = at - e->clean <= SPLIT;

	buf_addstr(&e->pasting, bytes);
	buf_drop_nul(&e->pasting, at);
	mend_line_ends(e, at);
	if (clean)
		e->clean += pastes_clean_prefix(
			str_skip(buf_str(&e->pasting), e->clean));
}

/* Where the marker of this paste stands, or the text's length. */
static size_t find_mark(struct editor *e, size_t number)
{
	char mark[PASTES_MARK];
	struct str all = gap_view(&e->text, 0, editor_len(e));

	if (number == e->pastes.n)
		return all.len;
	pastes_write_mark(number, mark);
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

/* Puts a marker of the bytes, which it takes over, in place of len bytes. */
static void put_mark(struct editor *e, size_t at, size_t len, struct buf *bytes,
		     bool clean)
{
	char mark[PASTES_MARK];

	if (e->pastes.n == PASTES_MAX) {
		buf_release(bytes);
		return;
	}
	pastes_write_mark(pastes_add(&e->pastes, bytes, clean), mark);
	editor_replace(e, at, len, (struct str){ mark, sizeof(mark) });
}

void editor_paste_end(struct editor *e)
{
	struct str text;
	size_t at;
	bool clean;

	text = buf_str(&e->pasting);
	clean = pastes_is_clean(str_skip(text, e->clean));
	e->last = EDITOR_LAST_OTHER;
	if (clean && !is_long(text)) {
		if (text.len)
			editor_replace(e, e->caret, 0, text);
	} else if (clean && (at = find_mark(e, pastes_find(&e->pastes, text))) <
				    editor_len(e)) {
		editor_replace(e, at, PASTES_MARK, text);
	} else {
		put_mark(e, e->caret, 0, &e->pasting, clean);
	}
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
	return editor_len(e) == 0;
}

void editor_text(struct editor *e, struct buf *out)
{
	pastes_expand(&e->pastes, gap_view(&e->text, 0, editor_len(e)), out);
}

void editor_set(struct editor *e, struct str text)
{
	struct buf bytes = BUF_INIT(SIZE_MAX);

	e->last = EDITOR_LAST_OTHER;
	if (pastes_is_clean(text)) {
		editor_replace(e, 0, editor_len(e), text);
		return;
	}
	buf_addstr(&bytes, text);
	put_mark(e, 0, editor_len(e), &bytes, false);
}

void editor_reset(struct editor *e)
{
	gap_release(&e->text);
	pastes_clear(&e->pastes);
	undo_clear(&e->undo);
	kills_drop_with(&e->kills, PASTES_LEAD);
	e->caret = e->top = e->yanked = 0;
	e->has_goal = false;
	e->last = EDITOR_LAST_OTHER;
}

void editor_release(struct editor *e)
{
	editor_reset(e);
	kills_release(&e->kills);
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
	editor_replace(e, e->caret - len, len, text);
}
