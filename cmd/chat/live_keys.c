/* live_keys.c - what keys do in the chat with a screen, questions included. */
/* SPDX-License-Identifier: MIT */
/*
 * A half-written message never answers a question. While there is one, every
 * key belongs to it, until Up or Down moves the focus to the question, where
 * "no" is selected. Single keys answer only beside an empty draft that has been
 * left alone for DRAFT_MS. Begin reading at live_on_key() and key_is_for().
 * Above it: the answers to the approval of calls, to the program's own
 * questions and to the model's, and the bell for a user who looks elsewhere.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/elsewhere.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/pictures.h"
#include "cmd/session/policy.h"
#include "ui/summary.h"

enum {
	MOST_LINE = 8 << 10, /* bytes of what is left of a question */
	MOST_CHARS = 160,    /* of what was asked about */
	MOST_DRAFT = 64 << 20,
};

enum { LONG_QUESTION = 400 /* bytes: all of it is printed above, too */ };

enum {
	NOTICED_MS = 250, /* nobody answers a question sooner */
	DRAFT_MS = 2000,  /* somebody who thinks goes on with his message */
};

enum { MOST_S = 86400 };

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
static void show_question(struct live *l)
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

/* What is typed at a question about a call. */
static void on_answer(struct live *l, const struct key_event *ev)
{
	enum dialog_answer said = dialog_event(&l->dialog, ev);

	switch (said) {
	case DIALOG_OPEN:
		break;
	case DIALOG_SHOW:
		show_question(l);
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

static void on_choice(struct live *l, const struct key_event *ev)
{
	int answer = choice_event(&l->choice, ev);

	if (answer == CHOICE_DRAFT)
		take_as_draft(l);
	else if (answer != CHOICE_OPEN)
		answer_choice(l, answer);
	else if (l->choice.wrong)
		leave_choice(l, "?");
}

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

static void open_inquiry(struct live *l, int64_t now)
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

static void on_inquiry(struct live *l, const struct key_event *ev)
{
	enum inquiry_end end;

	if (inquiry_dialog_event(&l->inquiry, ev, &end))
		answer_inquiry(l, (int)end);
}

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
			show_question(l);
	} else if (l->asked_inquiry) {
		open_inquiry(l, now);
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

/* None is, and none was a moment ago: a single key may mean something. */
static bool is_left_alone(const struct live *l)
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
	return is_left_alone(l) ? QUESTION_LETTERS : QUESTION_DRAFT;
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

enum live_key {
	LIVE_KEY_DRAFT,
	LIVE_KEY_QUESTION,
	LIVE_KEY_TAKEN, /* it has moved the focus, and that was all */
};

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
		      (ev->kind == KEY_EVENT_TEXT && !is_left_alone(l));

	if (!live_is_drafting(l) && !(l->dialog.asked && begins))
		return LIVE_KEY_QUESTION;
	if (!escapes && !is_paste(ev) && ev->kind != KEY_EVENT_TEXT)
		return LIVE_KEY_QUESTION;
	l->focused = false;
	return escapes ? LIVE_KEY_TAKEN : LIVE_KEY_DRAFT;
}

/* Whose a key is while a question is shown; it may move the focus. */
static enum live_key key_is_for(struct live *l, const struct key_event *ev)
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

static void note_focus(struct live *l, bool has)
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

enum {
	MAX_MESSAGE = 64 << 20,
};

static bool is_ctrl(const struct key_event *ev, char c)
{
	return ev->kind == KEY_EVENT_KEY && ev->key.name == KEY_CHAR &&
	       ev->key.c == (uint32_t)c && ev->key.mods == KEY_CTRL;
}

/* Replies of the terminal. True when ev is one. */
static bool on_reply(struct live *l, const struct key_event *ev)
{
	switch (ev->kind) {
	case KEY_EVENT_BACKGROUND:
		theme_background(&l->theme, ev->value);
		screen_redraw(&l->screen);
		return true;
	case KEY_EVENT_KITTY_FLAGS:
		l->kitty = true;
		return true;
	case KEY_EVENT_DEVICE:
		if (!l->kitty)
			tty_use_modify_other_keys(&l->screen.tty);
		return true;
	case KEY_EVENT_FOCUS:
		note_focus(l, ev->value);
		return true;
	case KEY_EVENT_MODE:
		return true;
	default:
		return false;
	}
}

/* Stops what runs; else empties the draft; else leaves, the second time. While
 * the chat ends a signal is what Ctrl-C is without a screen: the second one
 * leaves at once. */
static void on_interrupt(struct live *l)
{
	if (l->over) {
		l->armed = true;
		(void)raise(SIGINT);
		return;
	}
	if (l->state != LIVE_IDLE && !l->stopping) {
		live_stop_job(l);
	} else if (!editor_is_empty(&l->editor)) {
		editor_set(&l->editor, STR(""));
	} else if (l->armed) {
		l->over = true;
		l->status = 128 + SIGINT;
		live_stop_job(l);
		return;
	}
	l->armed = true;
}

static void on_escape(struct live *l)
{
	if (!live_take_back(l))
		live_stop_job(l);
	l->held = l->held && l->n_queue;
}

static void set_mode(struct live *l, enum run_mode mode)
{
	struct error err = { 0 };

	l->confirms = false;
	if (mode == RUN_YOLO && !l->run->app->settings)
		return;
	if (mode == RUN_YOLO && run_check_yolo(l->run, &err) < 0) {
		(void)app_fail(l->run->app, &err);
		mode = RUN_MANUAL;
	}
	if (mode == RUN_YOLO && !yolo_acknowledged(l->run->app)) {
		l->confirms = true;
		l->confirmed_at = clock_ms();
		return;
	}
	l->run->mode = (int)mode;
}

static void confirm_yolo(struct live *l, bool yes)
{
	if (yes)
		yolo_acknowledge(l->run->app);
	set_mode(l, yes ? RUN_YOLO : RUN_MANUAL);
}

static bool changes_mode(const struct key_event *ev)
{
	return is_ctrl(ev, 't') ||
	       (ev->kind == KEY_EVENT_KEY && ev->key.name == KEY_TAB &&
		ev->key.mods == KEY_SHIFT);
}

/* Only a key on its own allows yolo: a "y" that begins a message does not. All
 * else is a no. False: ev is no answer, and does what it does without the
 * question. */
static bool answer_yolo(struct live *l, const struct key_event *ev)
{
	bool answers = ev->kind == KEY_EVENT_TEXT &&
		       l->typed - l->confirmed_at >= LIVE_QUIET_MS &&
		       is_left_alone(l);
	bool yes = answers && str_is_nocase(ev->text, "y");
	bool no = answers && str_is_nocase(ev->text, "n");

	confirm_yolo(l, yes);
	return yes || no || changes_mode(ev);
}

static void send_draft(struct live *l)
{
	struct buf text = BUF_INIT(MAX_MESSAGE);
	struct buf kept = BUF_INIT(MAX_MESSAGE);
	struct error ignored = { 0 }; /* it is in memory all the same */

	editor_text(&l->editor, &text);
	editor_reset(&l->editor);
	if (!str_trim(buf_str(&text)).len) {
		buf_release(&text);
		l->held = false; /* Enter goes on with what waits */
		live_next(l);
		return;
	}
	mask_text(l->run->app->mask, buf_str(&text), &kept);
	(void)prompt_history_add(&l->history, buf_str(&kept), &ignored);
	buf_release(&kept);
	live_submit(l, buf_detach(&text));
}

static void walk_history(struct live *l, bool older)
{
	struct buf draft = BUF_INIT(MAX_MESSAGE);
	struct str text;

	editor_text(&l->editor, &draft);
	if (older ? prompt_history_older(&l->history, buf_str(&draft), &text)
		  : prompt_history_newer(&l->history, buf_str(&draft), &text))
		editor_set(&l->editor, text);
	buf_release(&draft);
}

static void leave(struct live *l)
{
	l->over = true;
	live_stop_job(l);
}

/* A paste that is nothing but paths of images becomes their marks, but in a
 * command, which may want the path. */
static void take_pictures(struct live *l)
{
	struct buf draft = BUF_INIT(MAX_MESSAGE);
	struct buf marks = BUF_INIT(MAX_MESSAGE);
	struct str paste = buf_str(&l->editor.pasting);

	editor_text(&l->editor, &draft);
	if (message_classify(buf_str(&draft)) == MESSAGE_PROMPT &&
	    pictures_take(l->run->app->pictures, paste, &marks)) {
		editor_paste_begin(&l->editor);
		editor_paste_feed(&l->editor, buf_str(&marks));
	}
	buf_release(&draft);
	buf_release(&marks);
}

static void on_editor(struct live *l, const struct key_event *ev)
{
	enum editor_result result;
	bool empty;

	if (ev->kind == KEY_EVENT_PASTE_END)
		take_pictures(l);
	if (ev->kind == KEY_EVENT_KEY &&
	    complete_key(&l->completer, &l->editor, ev->key)) {
		l->drafted = l->typed;
		return;
	}
	empty = editor_is_empty(&l->editor);
	result = editor_event(&l->editor, ev);
	if (ev->kind != KEY_EVENT_KEY || result == EDITOR_CHANGED || !empty)
		l->drafted = l->typed;
	switch (result) {
	case EDITOR_SUBMIT:
		send_draft(l);
		break;
	case EDITOR_OLDER:
	case EDITOR_NEWER:
		walk_history(l, result == EDITOR_OLDER);
		break;
	case EDITOR_SEARCH:
		history_search_begin(&l->search, &l->history);
		break;
	case EDITOR_ESCAPE:
		on_escape(l);
		break;
	case EDITOR_INTERRUPT:
		on_interrupt(l);
		break;
	case EDITOR_EOF:
		leave(l);
		break;
	case EDITOR_SUSPEND:
		screen_stop(&l->screen);
		break;
	case EDITOR_REDRAW:
		screen_redraw(&l->screen);
		break;
	case EDITOR_EXTERNAL:
		elsewhere_edit(l);
		break;
	case EDITOR_OUTPUT:
		elsewhere_show_call(l);
		break;
	case EDITOR_MODE:
		set_mode(l, ((enum run_mode)l->run->mode + 1) % N_RUN_MODES);
		break;
	default:
		break;
	}
	complete_update(&l->completer, &l->editor);
}

static void on_search(struct live *l, const struct key_event *ev)
{
	enum history_search_result result =
		history_search_event(&l->search, ev);
	struct str text;

	if (result != HISTORY_SEARCH_TAKEN && result != HISTORY_SEARCH_LEFT)
		return;
	if (history_search_text(&l->search, &text))
		editor_set(&l->editor, text);
	if (result == HISTORY_SEARCH_LEFT)
		on_editor(l, ev);
	else
		complete_update(&l->completer, &l->editor);
}

static void on_draft(struct live *l, const struct key_event *ev)
{
	if (l->search.on)
		on_search(l, ev);
	else
		on_editor(l, ev);
}

static void on_question(struct live *l, const struct key_event *ev)
{
	enum live_key whose;

	if (is_ctrl(ev, 'c') && !l->picking) {
		on_interrupt(l);
		return;
	}
	whose = key_is_for(l, ev);
	l->dialog.keys = l->inquiry.keys = l->choice.keys =
		live_question_keys(l);
	switch (whose) {
	case LIVE_KEY_DRAFT:
		on_draft(l, ev);
		break;
	case LIVE_KEY_QUESTION:
		if (l->dialog.asked)
			on_answer(l, ev);
		else if (l->inquiry.asked)
			on_inquiry(l, ev);
		else if (l->choice.asked)
			on_choice(l, ev);
		else
			live_on_picker(l, ev);
		break;
	case LIVE_KEY_TAKEN:
		break;
	}
}

void live_on_key(void *arg, const struct key_event *ev)
{
	struct live *l = arg;
	if (on_reply(l, ev))
		return;
	l->typed = clock_ms();
	if (!is_ctrl(ev, 'c'))
		l->armed = false;
	if (l->confirms && answer_yolo(l, ev))
		return;
	if (live_has_question(l))
		on_question(l, ev);
	else
		on_draft(l, ev);
}
