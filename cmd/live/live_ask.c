/* live_ask.c - questions on the screen: whose the keys are, and answers. */
/* SPDX-License-Identifier: MIT */
/*
 * A half-written message never answers a question. While there is one, every
 * key belongs to it, until Up or Down moves the focus to the question, where
 * "no" is selected. Single keys answer only beside an empty draft that has been
 * left alone for DRAFT_MS. Begin reading at live_key_is_for(). Around it: the
 * answers to the approval of calls, to the program's own questions and to the
 * model's, and the bell for a user who looks elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/elsewhere.h"
#include "cmd/live/live_state.h"
#include "ui/summary.h"

enum {
	MOST_LINE = 8 << 10, /* bytes of what is left of a question */
	MOST_CHARS = 160,    /* of what was asked about */
	MOST_DRAFT = 64 << 20,
};

/* What is left of a question: one line. */
static void leave_line(struct live *l, const char *said, struct str what)
{
	const struct style muted = { 0, STYLE_MUTED };
	struct buf line = BUF_INIT(MOST_LINE);
	struct str first = what;

	first.len = str_find(first, '\n');
	first.len = str_char_offset(first, MOST_CHARS);
	buf_addf(&line, "%s: %.*s%s", said, (int)first.len,
		 first.len ? first.ptr : "",
		 first.len < str_trim(what).len ? " ..." : "");
	live_print(l);
	live_say(l, muted, line.ptr);
	buf_release(&line);
}

/* "execute: make test", or how many calls. */
static void leave_answer(struct live *l, enum dialog_answer a)
{
	static const char *const said[] = {
		[DIALOG_YES] = "Allowed",
		[DIALOG_ALWAYS] = "Allowed, and always from now on",
		[DIALOG_CONFIG] = "Allowed, and always from now on",
		[DIALOG_NO] = "Declined",
		[DIALOG_REASON] = "Declined",
		[DIALOG_EDITED] = "Changed",
		[DIALOG_EDITS] = "Allowed, edits too from now on",
	};
	const struct question *q = l->asked;
	const struct approval *call = q->list[0];
	struct buf what = BUF_INIT(MOST_LINE);
	struct buf masked = BUF_INIT(MOST_LINE);

	if (a >= sizeof(said) / sizeof(*said) || !said[a])
		return;
	if (q->n > 1)
		buf_addf(&what, "%zu calls", q->n);
	else
		summary_of_call(call->call, &what);
	if (l->theme.ascii)
		summary_to_ascii(&what);
	mask_text(call->mask, buf_str(&what), &masked);
	leave_line(l, said[a], buf_str(&masked));
	buf_release(&what);
	buf_release(&masked);
}

static void answer_call(struct live *l, enum dialog_answer a)
{
	const struct question *q = l->asked;
	char text[64] = "running";

	if (q->n == 1)
		snprintf(text, sizeof(text), "running %.40s",
			 q->list[0]->call->name);
	leave_answer(l, a);
	dialog_close(&l->dialog);
	l->asked = NULL;
	l->focused = false;
	transcript_waited(&l->transcript, clock_ms() - l->asked_at);
	worker_answer(&l->worker, a == DIALOG_EDITS ? DIALOG_YES : (int)a);
	live_set_wait(l, text);
}

void live_withdraw_question(struct live *l)
{
	dialog_close(&l->dialog);
	l->asked = NULL;
	l->focused = false;
	worker_answer(&l->worker, DIALOG_OPEN);
}

/* A no without a word ends the turn: the user says what he wants instead. */
static void refuse(struct live *l)
{
	l->refused = true;
	l->stopping = true;
	l->held = l->n_queue > 0;
	cancel_trigger(&l->run->app->cancel);
	answer_call(l, DIALOG_NO);
}

/* All of what is asked about, above the live part. */
static void live_show_question(struct live *l)
{
	struct rows whole = { 0 };

	if (dialog_render_whole(&l->dialog, screen_columns(&l->screen), &whole))
		screen_print(&l->screen, &whole, 0, whole.n);
	rows_release(&whole);
}

/* The call in the user's own editor; an unchanged one is asked about still. */
static void edit_elsewhere(struct live *l)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	struct str before;

	if (l->dialog.edits)
		editor_text(&l->dialog.editor, &text);
	else if (dialog_editable(l->asked, &before))
		buf_addstr(&text, before);
	if (elsewhere_edit_text(l, &text)) {
		buf_addstr(&l->asked->edited, buf_str(&text));
		answer_call(l, DIALOG_EDITED);
	}
	buf_release(&text);
}

static void take_edited(struct live *l)
{
	editor_text(&l->dialog.editor, &l->asked->edited);
	answer_call(l, DIALOG_EDITED);
}

/* Shift+Tab: allows what the mode auto-edit allows, and chooses that mode. */
static void accept_edits(struct live *l)
{
	const struct question *q = l->asked;
	bool allowed = run_may_auto_edit(l->run);

	for (size_t i = 0; i < q->n; i++)
		allowed = allowed && q->list[i]->auto_edit;
	if (!allowed) {
		l->dialog.note = run_may_auto_edit(l->run)
					 ? "Shift+Tab allows edits in the "
					   "working directory only"
					 : "This machine's policy requires a "
					   "question about every edit";
		return;
	}
	l->run->mode = RUN_AUTO_EDIT;
	answer_call(l, DIALOG_EDITS);
}

void live_on_answer(struct live *l, const struct key_event *ev)
{
	enum dialog_answer said = dialog_event(&l->dialog, ev);

	switch (said) {
	case DIALOG_OPEN:
		break;
	case DIALOG_SHOW:
		live_show_question(l);
		break;
	case DIALOG_NO:
		refuse(l);
		break;
	case DIALOG_EDITS:
		accept_edits(l);
		break;
	case DIALOG_REASON:
		approval_decline(l->asked->list[0], buf_str(&l->dialog.reason));
		answer_call(l, said);
		break;
	case DIALOG_EDITED:
		take_edited(l);
		break;
	case DIALOG_ELSEWHERE:
		edit_elsewhere(l);
		break;
	default:
		answer_call(l, said);
		break;
	}
}

int live_choose(void *arg, const struct app_question *q, struct error *err)
{
	struct live *l = arg;
	struct stop stop = app_stop(l->run->app);
	int answer = worker_choose(&l->worker, q, &stop);

	if (answer < 0 && stop_check(&stop, err) == 0)
		error_set(err, ERR_CANCELLED, "no answer");
	return answer;
}

/* "Allow it? [y/N] yes" */
static void leave_choice(struct live *l, const char *answer)
{
	char *line = xasprintf("%s [%s] %s", l->asked_choice->text,
			       l->asked_choice->choices, answer);

	live_print(l);
	live_say(l, (struct style){ 0, STYLE_MUTED }, line);
	free(line);
}

static void answer_choice(struct live *l, int answer)
{
	const struct app_question *q = l->asked_choice;

	if (answer >= 0)
		leave_choice(l, q->answers[answer]);
	choice_close(&l->choice);
	l->asked_choice = NULL;
	l->focused = false;
	transcript_waited(&l->transcript, clock_ms() - l->asked_at);
	worker_answer(&l->worker, answer);
}

void live_drop_choice(struct live *l)
{
	if (l->asked_choice)
		answer_choice(l, CHOICE_ENDED);
}

/* What was typed at the question is a message after all. */
static void take_as_draft(struct live *l)
{
	struct buf text = BUF_INIT(MOST_DRAFT);

	editor_text(&l->editor, &text);
	buf_addstr(&text, buf_str(&l->choice.reply));
	buf_clear(&l->choice.reply);
	editor_set(&l->editor, buf_str(&text));
	buf_release(&text);
	l->drafted = l->typed;
	l->focused = false;
	complete_update(&l->completer, &l->editor);
}

void live_on_choice(struct live *l, const struct key_event *ev)
{
	int answer = choice_event(&l->choice, ev);

	if (answer == CHOICE_DRAFT)
		take_as_draft(l);
	else if (answer != CHOICE_OPEN)
		answer_choice(l, answer);
	else if (l->choice.wrong)
		leave_choice(l, "?");
}

enum { LONG_QUESTION = 400 /* bytes: all of it is printed above, too */ };

int live_inquire(void *arg, struct inquiry *q, enum inquiry_end *end,
		 const struct stop *stop, struct error *err)
{
	struct live *l = arg;
	int answer_inquiry = worker_inquire(&l->worker, q);

	*end = (enum inquiry_end)answer_inquiry;
	return answer_inquiry < 0 ? stop_check(stop, err) : 0;
}

static void print_long_questions(struct live *l)
{
	for (size_t i = 0; i < l->asked_inquiry->n; i++)
		if (str_of(l->asked_inquiry->items[i].question).len >
		    LONG_QUESTION)
			live_say(l, (struct style){ 0, STYLE_PLAIN },
				 l->asked_inquiry->items[i].question);
}

static void live_open_inquiry(struct live *l, int64_t now)
{
	print_long_questions(l);
	inquiry_dialog_open(&l->inquiry, l->asked_inquiry);
	l->opened = now;
}

static void answer_inquiry(struct live *l, int end)
{
	inquiry_dialog_close(&l->inquiry);
	l->asked_inquiry = NULL;
	transcript_waited(&l->transcript, clock_ms() - l->asked_at);
	worker_answer(&l->worker, end);
	live_set_wait(l, "running");
}

void live_drop_inquiry(struct live *l)
{
	if (l->asked_inquiry)
		answer_inquiry(l, -1);
}

void live_on_inquiry(struct live *l, const struct key_event *ev)
{
	enum inquiry_end end;

	if (inquiry_dialog_event(&l->inquiry, ev, &end))
		answer_inquiry(l, (int)end);
}

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

/* By an arrow key: what Enter alone would answer now does the least. Where
 * the keys were the question's anyway, one that has a list of its own moves in
 * it.
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

enum { MOST_S = 86400 };

void live_notify_load(struct live *l)
{
	const struct settings *set = l->run->app->settings;
	const char *way = NULL;
	int64_t seconds = 0;
	struct error err = { 0 };

	if (settings_string(set, NULL, "ui.notify", &way, &err) < 0 ||
	    settings_int(set, NULL, "ui.notify_after", &seconds, &err) < 0)
		(void)app_fail(l->run->app, &err);
	else if (!notify_parse(str_of(way), &l->notify.way))
		app_warn("[ui] notify = \"%s\": use bell, desktop or off", way);
	if (seconds < 0 || seconds > MOST_S) {
		app_warn("[ui] notify_after = %lld: use seconds, 0 to %d",
			 (long long)seconds, MOST_S);
		l->notify.way = NOTIFY_OFF;
	}
	l->notify.after_ms = seconds * 1000;
}

void live_notify_focus(struct live *l, bool has)
{
	l->notify.focus = has ? LIVE_FOCUS_HERE : LIVE_FOCUS_ELSEWHERE;
}

/* When the user counts as away. */
static int64_t away_at(const struct live *l)
{
	int64_t last = l->typed > l->began ? l->typed : l->began;

	return last + l->notify.after_ms;
}

static void ring(struct live *l, enum notify_event event)
{
	if (l->notify.focus != LIVE_FOCUS_HERE && !l->lent && !l->gone)
		(void)tty_write(&l->screen.tty,
				notify_text(l->notify.way, event));
}

void live_notify_turn(struct live *l)
{
	bool listed = l->now.kind == JOB_FILES || l->now.kind == JOB_ARGUMENTS;

	if (l->notify.way != NOTIFY_OFF && !listed && clock_ms() >= away_at(l))
		ring(l, NOTIFY_TURN);
}

int64_t live_notify_at(const struct live *l)
{
	return live_has_question(l) && l->notify.rang != l->opened &&
			       l->notify.way != NOTIFY_OFF
		       ? away_at(l)
		       : INT64_MAX;
}

void live_notify_question(struct live *l, int64_t now)
{
	if (now < live_notify_at(l))
		return;
	l->notify.rang = l->opened;
	ring(l, NOTIFY_QUESTION);
}
