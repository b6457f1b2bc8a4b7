/* live_keys.c - what is typed into the chat with a screen. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/elsewhere.h"
#include "cmd/chat/pictures.h"
#include "cmd/live/live_impl.h"
#include "cmd/run/yolo.h"

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
		live_notify_focus(l, ev->value);
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
		       live_is_left_alone(l);
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
	whose = live_key_is_for(l, ev);
	l->dialog.keys = l->inquiry.keys = l->choice.keys =
		live_question_keys(l);
	switch (whose) {
	case LIVE_KEY_DRAFT:
		on_draft(l, ev);
		break;
	case LIVE_KEY_QUESTION:
		if (l->dialog.asked)
			live_on_answer(l, ev);
		else if (l->inquiry.asked)
			live_on_inquiry(l, ev);
		else if (l->choice.asked)
			live_on_choice(l, ev);
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
