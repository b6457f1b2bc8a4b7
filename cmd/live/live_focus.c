/* live_focus.c - whose a key is while a question is open.
 * SPDX-License-Identifier: MIT
 *
 * A half-written message never answers a question. While there is one, every
 * key belongs to it, until Up or Down moves the focus to the question, where
 * "no" is selected. Single keys answer only beside an empty draft that has been
 * left alone for DRAFT_MS.
 */
#include "base/str.h"
#include "cmd/live/live_impl.h"

enum {
	NOTICED_MS = 250, /* nobody answers a question sooner */
	DRAFT_MS = 2000,  /* somebody who thinks goes on with his message */
};

bool live_is_asked(const struct live *l)
{
	return l->asked || l->asked_inquiry || l->asked_choice || l->asked_pick;
}

bool live_has_question(const struct live *l)
{
	return l->dialog.asked || l->inquiry.asked || l->choice.asked ||
	       l->picking;
}

void live_open_question(struct live *l, int64_t now)
{
	if (!live_is_asked(l) || live_has_question(l) ||
	    keys_in_paste(&l->keys))
		return;
	if (l->asked_pick && editor_is_empty(&l->editor)) {
		live_open_pick(l, now); /* the user has asked for it */
		return;
	}
	if (now - l->typed < LIVE_QUIET_MS)
		return;
	l->confirms = l->focused = false; /* one question at a time */
	l->opened = now;
	if (l->asked) {
		dialog_open(&l->dialog, l->asked);
		if (l->asked->n > 1)
			live_show_question(l);
	} else if (l->asked_inquiry) {
		live_open_inquiry(l, now);
	} else if (l->asked_choice) {
		choice_open(&l->choice, l->asked_choice);
	} else {
		live_open_pick(l, now);
	}
}

bool live_is_drafting(const struct live *l)
{
	return !editor_is_empty(&l->editor) || l->search.on;
}

bool live_is_left_alone(const struct live *l)
{
	return !live_is_drafting(l) && clock_ms() - l->drafted >= DRAFT_MS;
}

/* What the question itself has the user type: a reason, a changed command, an
 * answer in his own words. */
static bool has_own_text(const struct live *l)
{
	return l->dialog.explains || l->dialog.edits || l->choice.reply.len ||
	       (l->inquiry.asked && l->inquiry.types && l->focused);
}

enum question_keys live_question_keys(const struct live *l)
{
	/* In a list letters only narrow it. */
	if (l->picking && !live_is_drafting(l))
		return QUESTION_LETTERS;
	if (clock_ms() - l->opened < NOTICED_MS)
		return QUESTION_TOO_NEW;
	if (l->focused)
		return QUESTION_SELECTED;
	return live_is_left_alone(l) ? QUESTION_LETTERS : QUESTION_DRAFT;
}

static bool is_plain_key(const struct key_event *ev, enum key_name name)
{
	return ev->kind == KEY_EVENT_KEY && ev->key.name == name &&
	       !ev->key.mods;
}

static bool is_paste(const struct key_event *ev)
{
	return ev->kind == KEY_EVENT_PASTE_BEGIN ||
	       ev->kind == KEY_EVENT_PASTE || ev->kind == KEY_EVENT_PASTE_END;
}

/* Esc and Ctrl+D decline, which a slip of the finger may do; beside an empty
 * draft they are not for that. */
static bool declines(const struct live *l, const struct key_event *ev)
{
	bool eof = ev->kind == KEY_EVENT_KEY && ev->key.name == KEY_CHAR &&
		   ev->key.c == 'd' && ev->key.mods == KEY_CTRL;

	return !live_is_drafting(l) && (eof || is_plain_key(ev, KEY_ESCAPE));
}

/* Up or Down: not in the list of completions, nor in the history's. */
static bool moves_focus(const struct live *l, const struct key_event *ev)
{
	return (is_plain_key(ev, KEY_UP) || is_plain_key(ev, KEY_DOWN)) &&
	       !l->completer.n && !l->search.on;
}

/* By an arrow key: what Enter alone would answer now does the least. Where the
 * keys were the question's anyway, one that has a list of its own moves in it.
 */
static enum live_key take_focus(struct live *l, bool letters)
{
	l->focused = true;
	l->dialog.note = NULL;
	if (letters && (l->inquiry.asked || l->picking))
		return LIVE_KEY_QUESTION;
	if (l->inquiry.asked)
		inquiry_dialog_select_own_words(&l->inquiry);
	if (l->picking && l->asked_pick->asks)
		selection_list_open(&l->picker, str_of(l->asked_pick->title),
				    l->asked_pick->items, l->asked_pick->n,
				    l->asked_pick->n - 1);
	return LIVE_KEY_TAKEN;
}

/* While an arrow key has moved the focus to the question: text brings it back
 * to the message. */
static enum live_key when_selected(struct live *l, const struct key_event *ev)
{
	bool escapes = is_plain_key(ev, KEY_ESCAPE);
	/* Beside an empty draft a letter answers, but not right after it. */
	bool begins = is_paste(ev) ||
		      (ev->kind == KEY_EVENT_TEXT && !live_is_left_alone(l));

	if (!live_is_drafting(l) && !(l->dialog.asked && begins))
		return LIVE_KEY_QUESTION;
	if (!escapes && !is_paste(ev) && ev->kind != KEY_EVENT_TEXT)
		return LIVE_KEY_QUESTION;
	l->focused = false;
	return escapes ? LIVE_KEY_TAKEN : LIVE_KEY_DRAFT;
}

enum live_key live_key_is_for(struct live *l, const struct key_event *ev)
{
	enum question_keys keys = live_question_keys(l);
	bool letters = keys == QUESTION_LETTERS;
	bool own_list = l->inquiry.asked || l->picking;

	if (has_own_text(l))
		return LIVE_KEY_QUESTION;
	if (keys == QUESTION_TOO_NEW)
		return LIVE_KEY_DRAFT;
	if (l->focused)
		return when_selected(l, ev);
	if (declines(l, ev))
		return LIVE_KEY_QUESTION;
	if (moves_focus(l, ev))
		return take_focus(l, letters);
	if (!letters || (is_paste(ev) && !own_list))
		return LIVE_KEY_DRAFT;
	l->focused = own_list;
	return LIVE_KEY_QUESTION;
}
