/* live_keys.c - what keys do in the chat with a screen. */
/* SPDX-License-Identifier: MIT */
/*
 * A half-written message never answers a question. While there is one, every
 * key belongs to it, until Up or Down moves the focus to the question, where
 * "no" is selected. Single keys answer only beside an empty draft that has been
 * left alone for LIVE_DRAFT_MS. A letter is held for LIVE_LETTER_MS: if more
 * text follows, both begin a message. Begin reading at live_on_key(),
 * route_key() and settle_letter(). Other keys edit the draft (src/editor).
 * Enter calls send_draft(), which gives the message to live_submit() in
 * live_jobs.c. Answers to questions are in live_question.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/message.h"
#include "cmd/session/policy.h"
#include "model/message.h"
#include "term/clipboard.h"
#include "term/inline_image.h"
#include "ui/calls/toolview.h"

/* Shows a pending question if nothing was typed for LIVE_QUIET_MS. */
static void open_question(struct live *l, int64_t now)
{
	if (!live_is_asked(l) || live_has_question(l) ||
	    paste_burst_is_on(&l->burst, &l->keys))
		return;
	if (l->asked_pick && editor_is_empty(&l->editor)) {
		live_open_pick(l, now); /* without a pause, since the user has
					   asked for this list */
		return;
	}
	if (now - l->typed < LIVE_QUIET_MS &&
	    !(l->asked_choice && live_is_left_alone(l)))
		return;
	/* Closes the question about yolo mode: one question at a time. */
	if (l->confirms)
		l->note = "yolo was not chosen, because this question came";
	l->confirms = l->focused = false;
	l->opened = now;
	if (l->asked_pick)
		live_open_pick(l, now);
	else
		live_open_dialog(l);
}

/* True while the user types into the question: a reason, a changed command or a
 * free answer. */
static bool is_typing_answer(const struct live *l)
{
	return l->dialog.explains || l->dialog.edits ||
	       (l->inquiry.asked && l->inquiry.types && l->focused);
}

static bool is_plain_key(const struct key_event *ev, enum key_name name)
{
	return ev->kind == KEY_EVENT_KEY && ev->key.name == name &&
	       !ev->key.mods;
}

static bool is_ctrl(const struct key_event *ev, char c)
{
	return ev->kind == KEY_EVENT_KEY && ev->key.name == KEY_CHAR &&
	       ev->key.c == (uint32_t)c && ev->key.mods == KEY_CTRL;
}

static bool is_paste(const struct key_event *ev)
{
	return ev->kind == KEY_EVENT_PASTE_BEGIN ||
	       ev->kind == KEY_EVENT_PASTE || ev->kind == KEY_EVENT_PASTE_END;
}

/* Esc and Ctrl+D decline, but not while a message is being written, where they
 * are easily pressed by mistake. */
static bool is_decline_key(const struct live *l, const struct key_event *ev)
{
	return !live_is_drafting(l) &&
	       (is_ctrl(ev, 'd') || is_plain_key(ev, KEY_ESCAPE));
}

/* True for Up or Down, unless the completions or the history search use them.
 */
static bool moves_focus(const struct live *l, const struct key_event *ev)
{
	return (is_plain_key(ev, KEY_UP) || is_plain_key(ev, KEY_DOWN)) &&
	       !l->completer.n && !l->search.on && !l->calls_menu.on;
}

enum {
	MAX_MESSAGE = 64 << 20, /* bytes of a draft */
	PREVIEW_MS = 3000,      /* for the terminal to take an image */
	MARK_BYTES = 1 << 16,   /* of an image's mark in the draft */
};

enum live_key {
	LIVE_KEY_DRAFT,
	LIVE_KEY_QUESTION,
	LIVE_KEY_EARLY, /* is_early_answer() */
	LIVE_KEY_TAKEN, /* the key moved the focus and has no other effect */
};

/* An arrow key moves the focus to the question. The least harmful answer is
 * selected for Enter: of the model's choices the row next to a message below,
 * without a message the first one. If the question already had the keys and has
 * a list, the key moves in that list. */
static enum live_key focus_question(struct live *l, bool letters)
{
	bool drafting = live_is_drafting(l);

	l->focused = true;
	l->dialog.note = NULL;
	l->dialog.row.selected = l->dialog.row.safe;
	l->choice.row.selected = l->choice.row.safe;
	l->choice.row.pressed = '\0';
	if (letters && (l->inquiry.asked || l->picking))
		return LIVE_KEY_QUESTION;
	if (l->inquiry.asked && drafting)
		inquiry_dialog_select_own_words(&l->inquiry);
	if (l->picking && l->asked_pick->asks)
		selection_list_open(&l->picker, str_of(l->asked_pick->title),
				    l->asked_pick->items, l->asked_pick->n, 0);
	return LIVE_KEY_TAKEN;
}

/* Returns the letters that answer the question, or NULL if it has none. */
static const char *answer_letters(const struct live *l)
{
	if (l->dialog.asked)
		return l->dialog.letters;
	return l->choice.letters[0] ? l->choice.letters : NULL;
}

/* Writes the characters that alone could be meant as an answer to the open
 * question, in whatever way it takes them. */
static void add_answer_signs(const struct live *l, struct buf *out)
{
	const struct inquiry *asked = l->inquiry.asked;

	buf_adds(out, l->dialog.asked ? l->dialog.letters : "");
	for (size_t i = 0; l->choice.asked && i < l->choice.asked->n; i++) {
		buf_addc(out, l->choice.asked->answers[i][0]);
		buf_addc(out, (char)(l->choice.asked->answers[i][0] & ~0x20));
	}
	for (size_t i = 0; asked && i < 9; i++)
		if (i < asked->items[l->inquiry.at].n_choices)
			buf_addc(out, (char)('1' + i));
}

/* True if a text is what answers the open question, and no message: "y",
 * "no". */
static bool looks_like_answer(const struct live *l, struct str text)
{
	static const char *const words[] = { "yes", "no", "always" };
	struct buf signs = BUF_INIT(1 << 8);
	bool found;

	add_answer_signs(l, &signs);
	found = text.len == 1 && signs.len &&
		memchr(signs.ptr, text.ptr[0], signs.len);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		found = found ||
			(!l->inquiry.asked && str_is_nocase(text, words[i]));
	buf_release(&signs);
	return found;
}

/* True for a character that would answer if the draft had been left alone for
 * longer. */
static bool is_early_answer(const struct live *l, const struct key_event *ev)
{
	return ev->kind == KEY_EVENT_TEXT && ev->text.len == 1 &&
	       !live_is_drafting(l) && !live_is_left_alone(l) &&
	       looks_like_answer(l, ev->text);
}

/* True for text that cannot answer a question with letters, so it begins a
 * message. */
static bool begins_message(const struct live *l, const struct key_event *ev)
{
	const char *letters = answer_letters(l);

	return letters && ev->kind == KEY_EVENT_TEXT &&
	       (ev->text.len != 1 || !strchr(letters, ev->text.ptr[0]));
}

/* True for the keys that delete text of a message. */
static bool deletes_text(const struct key_event *ev)
{
	return (ev->kind == KEY_EVENT_KEY && (ev->key.name == KEY_BACKSPACE ||
					      ev->key.name == KEY_DELETE)) ||
	       is_ctrl(ev, 'u') || is_ctrl(ev, 'w') || is_ctrl(ev, 'k');
}

/* Decides about a key while the question has the focus. Text, typed or deleted,
 * returns the focus to the message. */
static enum live_key route_focused_key(struct live *l,
				       const struct key_event *ev)
{
	bool escapes = is_plain_key(ev, KEY_ESCAPE);
	/* A single letter answers if the draft is empty, but not right after a
	 * change to the draft. */
	bool begins = is_paste(ev) || begins_message(l, ev) ||
		      (ev->kind == KEY_EVENT_TEXT && !live_is_left_alone(l));

	if (!live_is_drafting(l) && !(answer_letters(l) && begins))
		return LIVE_KEY_QUESTION;
	if (!escapes && !is_paste(ev) && ev->kind != KEY_EVENT_TEXT &&
	    !deletes_text(ev))
		return LIVE_KEY_QUESTION;
	l->focused = false;
	return escapes ? LIVE_KEY_TAKEN : LIVE_KEY_DRAFT;
}

static bool changes_mode(const struct key_event *ev)
{
	return is_ctrl(ev, 't') ||
	       (ev->kind == KEY_EVENT_KEY && ev->key.name == KEY_TAB &&
		ev->key.mods == KEY_SHIFT);
}

/* True if Esc leaves the question's own editor for the message: the editor of a
 * question with choices is left for these first. */
static bool leaves_editor(const struct live *l, const struct key_event *ev)
{
	return l->inquiry.asked && live_is_drafting(l) &&
	       is_plain_key(ev, KEY_ESCAPE) &&
	       l->inquiry.asked->items[l->inquiry.at].kind == INQUIRY_TEXT;
}

/* Decides who gets a key while a question is shown. May move the focus. */
static enum live_key route_key(struct live *l, const struct key_event *ev)
{
	enum question_keys keys = live_question_keys(l);
	bool letters = keys == QUESTION_LETTERS;
	bool own_list = l->inquiry.asked || l->picking;

	if (is_typing_answer(l) && leaves_editor(l, ev)) {
		l->focused = false;
		return LIVE_KEY_TAKEN;
	}
	if (is_typing_answer(l))
		return LIVE_KEY_QUESTION;
	if (keys == QUESTION_TOO_NEW)
		return LIVE_KEY_DRAFT;
	/* The list of calls opens over the question, and closes back to it. */
	if (is_ctrl(ev, 'o') && !l->picking) {
		l->focused = false;
		return LIVE_KEY_DRAFT;
	}
	if (is_early_answer(l, ev))
		return LIVE_KEY_EARLY;
	/* Shift+Tab begins no message, so that it needs no pause. */
	if (keys == QUESTION_PAUSE && l->dialog.asked && changes_mode(ev))
		return LIVE_KEY_QUESTION;
	/* At the end no message can be written. */
	if (l->over && l->choice.asked && begins_message(l, ev)) {
		l->note = l->choice.asked->escapes
				  ? "Not an answer: press one of these "
				    "letters, or Esc"
				  : "Not an answer: press one of these letters";
		return LIVE_KEY_TAKEN;
	}
	if (l->focused)
		return route_focused_key(l, ev);
	if (is_decline_key(l, ev))
		return LIVE_KEY_QUESTION;
	if (moves_focus(l, ev))
		return focus_question(l, letters);
	if (!letters || (is_paste(ev) && !own_list) || begins_message(l, ev))
		return LIVE_KEY_DRAFT;
	l->focused = own_list;
	return LIVE_KEY_QUESTION;
}

/* Keeps a letter until it is clear that it does not begin a message. */
static void hold_letter(struct live *l, const struct key_event *ev)
{
	l->letter = (struct live_letter){ .c = ev->text.ptr[0],
					  .at = l->typed + LIVE_LETTER_MS,
					  .opened = l->opened };
}

/* Keeps a letter that came too soon after the draft to be an answer. Text that
 * follows in the pause makes it the beginning of a message. Otherwise it is
 * dropped: sent alone as a message, an answer would go to the model. */
static void hold_early_letter(struct live *l, const struct key_event *ev)
{
	hold_letter(l, ev);
	l->letter.early = true;
	if (l->letter.at < live_pause_ends(l))
		l->letter.at = live_pause_ends(l);
	l->note = "Too soon for an answer";
}

static void set_terminal_focus(struct live *l, bool has)
{
	l->notify.focus = has ? LIVE_FOCUS_HERE : LIVE_FOCUS_ELSEWHERE;
}

/* Handles a reply of the terminal. Returns true if ev is one. */
static bool on_reply(struct live *l, const struct key_event *ev)
{
	switch (ev->kind) {
	case KEY_EVENT_BACKGROUND:
		theme_background(&l->theme, ev->value);
		return true;
	case KEY_EVENT_KITTY_FLAGS:
		l->kitty = true;
		return true;
	case KEY_EVENT_DEVICE:
		if (!l->kitty)
			tty_use_modify_other_keys(&l->screen.tty);
		return true;
	case KEY_EVENT_FOCUS:
		set_terminal_focus(l, ev->value);
		return true;
	case KEY_EVENT_MODE:
		return true;
	default:
		return false;
	}
}

/* Ctrl-C stops the running job, which does not count towards leaving; else
 * clears the draft; else leaves on the second press. Beside queued messages the
 * first press at an empty draft asks, as Ctrl+D does. While the chat ends,
 * Ctrl-C raises SIGINT as in a chat without a screen: the second one leaves at
 * once. */
static void on_interrupt(struct live *l)
{
	bool armed = l->armed;

	if (l->over) {
		l->armed = true;
		(void)raise(SIGINT);
		return;
	}
	l->armed = false;
	if (l->state != LIVE_IDLE && !l->stopping) {
		l->leaves = false;
		live_stop_job(l);
	} else if (!editor_is_empty(&l->editor)) {
		l->leaves = false;
		editor_set(&l->editor, STR(""));
		l->armed = !l->n_queue;
	} else if (armed || l->n_queue) {
		live_leave(l);
		if (l->over)
			l->status = 128 + SIGINT;
	} else {
		l->armed = true;
	}
}

/* True if Esc has nothing to take back, to stop or to close. */
static bool is_at_rest(const struct live *l)
{
	return l->state == LIVE_IDLE && !l->unopened && !l->n_queue &&
	       !l->over && !live_is_asked(l) && editor_is_empty(&l->editor);
}

/* Takes back the newest queued message, or stops the job. At an empty prompt
 * the second Esc lists the earlier prompts. */
static void on_escape(struct live *l)
{
	bool second = l->rewinds;

	l->rewinds = is_at_rest(l) && !second;
	if (second && is_at_rest(l)) {
		live_submit(l, xstrdup("/rewind"), false);
		return;
	}
	if (!live_take_back(l))
		live_stop_job(l);
}

/* Chooses an approval mode. The policy must allow it, and the user must confirm
 * the first yolo of this chat, because Shift+Tab often only passes it. That is
 * asked at an empty prompt, since a message or another question would get the
 * keys. */
static void set_mode(struct live *l, enum run_mode mode)
{
	struct error err = { 0 };

	l->confirms = false;
	if (mode != RUN_MANUAL && !l->run->app->settings)
		return;
	if (run_check_mode(l->run, mode, &err) < 0) {
		(void)app_fail(l->run->app, &err);
		mode = RUN_MANUAL;
	}
	if (mode == RUN_YOLO && !l->run->app->yolo_confirmed) {
		l->confirms = !live_is_drafting(l) && !live_is_asked(l);
		l->confirmed_at = l->typed; /* as the hint counts it */
		if (!l->confirms)
			l->note = "yolo asks first: choose it at an empty "
				  "prompt";
		/* Plan mode was only passed: do not refuse calls meanwhile. */
		if (l->run->mode == RUN_PLAN)
			l->run->mode = RUN_MANUAL;
		return;
	}
	l->run->mode = (int)mode;
}

/* Returns the mode after the present one that the policy allows. */
static enum run_mode next_mode(const struct live *l)
{
	enum run_mode mode = (enum run_mode)l->run->mode;
	struct error ignored = { 0 };

	do
		mode = (mode + 1) % N_RUN_MODES;
	while (mode != RUN_MANUAL && l->run->app->settings &&
	       run_check_mode(l->run, mode, &ignored) < 0);
	return mode;
}

static void confirm_yolo(struct live *l, bool yes)
{
	if (yes)
		yolo_acknowledge(l->run->app);
	set_mode(l, yes ? RUN_YOLO : RUN_MANUAL);
}

/* Only a single "y" allows yolo, not one that begins a message. Every other key
 * means no. The user's own key has opened this question, so that it needs no
 * pause after a draft. Returns false if ev is not an answer and must have its
 * normal effect. */
static bool answer_yolo(struct live *l, const struct key_event *ev)
{
	bool answers = ev->kind == KEY_EVENT_TEXT &&
		       l->typed - l->confirmed_at >= LIVE_NOTICED_MS;
	bool yes = answers && str_is_nocase(ev->text, "y");
	bool no = answers && str_is_nocase(ev->text, "n");

	if (yes || no)
		hold_letter(l, ev);
	else
		confirm_yolo(l, false);
	return yes || no || changes_mode(ev);
}

/* Sends the draft and adds it to the history. With an empty draft, starts the
 * queued messages. later: the message waits for the end of the turn. */
static void send_draft(struct live *l, bool later)
{
	struct buf text = BUF_INIT(MAX_MESSAGE);
	struct buf kept = BUF_INIT(MAX_MESSAGE);
	/* If the history file cannot be written, the prompt stays in memory. */
	struct error ignored = { 0 };
	struct error err = { 0 };

	editor_text(&l->editor, &text);
	if (message_classify(buf_str(&text)) == MESSAGE_PROMPT)
		(void)pictures_take(l->run->app->pictures, buf_str(&text), NULL,
				    &err);
	if (err.code) {
		buf_release(&text);
		(void)app_fail(l->run->app, &err);
		return;
	}
	if (live_has_question(l) &&
	    looks_like_answer(l, str_trim(buf_str(&text)))) {
		/* also a letter that was typed before the question came */
		buf_release(&text);
		l->note = "Not sent: it looks like an answer. Delete it, then "
			  "answer";
		return;
	}
	editor_reset(&l->editor);
	l->sent = l->typed;
	if (!str_trim(buf_str(&text)).len) {
		buf_release(&text);
		l->held = false; /* Enter starts the queued messages */
		live_next(l);
		return;
	}
	app_clean(l->run->app, CLEAN_LATER, buf_str(&text), &kept);
	(void)prompt_history_add(&l->history, buf_str(&kept), &ignored);
	buf_release(&kept);
	live_submit(l, buf_detach(&text), later);
}

/* Tab, with nothing to complete: queues the draft for the time after the
 * running turn. */
static void queue_draft(struct live *l)
{
	if (live_queue_can_steer(l) && !editor_is_empty(&l->editor) &&
	    !complete_is_begun(&l->editor))
		send_draft(l, true);
}

/* Replaces the draft by an older or newer prompt. */
static void walk_history(struct live *l, bool older)
{
	struct buf draft = BUF_INIT(MAX_MESSAGE);
	struct str text;

	editor_text(&l->editor, &draft);
	if (older ? prompt_history_older(&l->history, buf_str(&draft), &text)
		  : prompt_history_newer(&l->history, buf_str(&draft), &text)) {
		editor_set(&l->editor, text);
		l->editor.recalled = true;
	} else if (older && draft.len) {
		l->note = "No older message contains this text";
	}
	buf_release(&draft);
}

/* Begins a paste of an image's mark. Behind "@file" the mark would become part
 * of the path, so that a blank comes first. */
static void begin_mark(struct live *l)
{
	struct str before = editor_before(&l->editor, 1);
	bool follows = before.len && !strchr(" \t\n([{\"'", before.ptr[0]);

	editor_paste_begin(&l->editor);
	if (follows)
		editor_paste_feed(&l->editor, STR(" "));
}

/* Replaces a paste that consists only of image paths by their marks. Not in a
 * command, which may need the path. */
static void replace_image_paths(struct live *l)
{
	struct buf draft = BUF_INIT(MAX_MESSAGE);
	struct buf marks = BUF_INIT(MAX_MESSAGE);
	struct str paste = buf_str(&l->editor.pasting);
	struct error err = { 0 };

	editor_text(&l->editor, &draft);
	if (message_classify(buf_str(&draft)) == MESSAGE_PROMPT &&
	    pictures_take(l->run->app->pictures, paste, &marks, &err)) {
		begin_mark(l);
		editor_paste_feed(&l->editor, buf_str(&marks));
	} else if (err.code) {
		(void)app_fail(l->run->app, &err);
	}
	buf_release(&draft);
	buf_release(&marks);
}

/* Returns the bytes of the mark of an image at the end of text; 0: none. */
static size_t mark_length(struct str text)
{
	size_t at = text.len;

	if (!str_ends(text, "]"))
		return 0;
	while (at && text.ptr[at - 1] != '[')
		at--;
	text = str_skip(text, at);
	return at && str_starts(text, "image ") &&
			       str_find(text, ']') + 1 == text.len
		       ? text.len + 1
		       : 0;
}

/* A key that deletes to the left removes all of an image's mark, and so the
 * image. Returns false if there is none. */
static bool remove_mark(struct live *l, const struct key_event *ev)
{
	size_t len = 0;

	if (ev->kind == KEY_EVENT_KEY && !l->vi.normal &&
	    (ev->key.name == KEY_BACKSPACE || is_ctrl(ev, 'h') ||
	     is_ctrl(ev, 'w')))
		len = mark_length(editor_before(&l->editor, MARK_BYTES));
	if (!len)
		return false;
	editor_replace_before(&l->editor, len, STR(""));
	l->drafted = l->typed;
	complete_update(&l->completer, &l->editor);
	return true;
}

/* Opens the list of the thread's tool calls. */
static void open_calls(struct live *l)
{
	struct error err = { 0 };

	l->calls_menu.asked = l->asked;
	if (!call_menu_open(&l->calls_menu, &l->transcript, clock_ms(), &err) &&
	    !err.code)
		live_say(l, (struct style){ 0, STYLE_MUTED },
			 "No tool calls yet.");
	if (err.code)
		(void)app_fail(l->run->app, &err);
}

static void on_calls(struct live *l, const struct key_event *ev)
{
	const struct call_record *chosen = NULL;
	struct rows rows = { 0 };

	if (is_ctrl(ev, 'o'))
		call_menu_close(&l->calls_menu);
	else
		chosen = call_menu_event(&l->calls_menu, ev, clock_ms());
	if (!chosen)
		return;
	/* the list stays: Esc goes back one step */
	toolview_full(chosen, &l->transcript.look, &rows);
	elsewhere_show_rows(l, &rows);
	rows_release(&rows);
}

/* Shows an image above the live part, if the terminal can. */
static void preview_image(struct live *l, struct str image)
{
	struct buf shown = BUF_INIT(2 * INLINE_IMAGE_MOST);
	struct error ignored = { 0 };
	bool on = true;

	(void)settings_bool(l->run->app->settings, NULL, "ui.images", &on,
			    &ignored);
	/* The terminal may have been lent to a command meanwhile. */
	if (on && !l->lent && inline_image_encode(image, &shown)) {
		buf_adds(&shown, "\r\n");
		live_suspend(l);
		(void)tty_write(&l->screen.tty, buf_str(&shown));
		(void)tty_drain(&l->screen.tty, PREVIEW_MS);
		live_resume(l);
	}
	buf_release(&shown);
}

/* Puts the image into the draft as its mark. */
static int insert_image(struct live *l, struct str image, struct error *err)
{
	struct buf marks = BUF_INIT(MARK_BYTES);
	char path[64];
	int fd = memfd_create("clipboard", MFD_CLOEXEC);
	int rc = 0;

	if (fd < 0 || io_write_all(fd, image.ptr, image.len) < 0)
		rc = error_errno(err, "storing the image");
	if (rc == 0) {
		snprintf(path, sizeof(path), PICTURES_MEMORY "%d", fd);
		if (!pictures_take(l->run->app->pictures, str_of(path), &marks,
				   err))
			rc = err->code ? -1
				       : error_set(err, ERR_NOT_FOUND,
						   "the clipboard has no "
						   "image");
	}
	if (rc == 0) {
		buf_addc(&marks, ' ');
		preview_image(l, image);
		begin_mark(l);
		editor_paste_feed(&l->editor, buf_str(&marks));
		editor_paste_end(&l->editor);
		l->drafted = l->typed;
	} else if (fd >= 0) {
		close(fd);
	}
	buf_release(&marks);
	return rc;
}

static int run_clipboard(void *arg, struct buf *out, const struct stop *stop,
			 struct error *err)
{
	(void)arg;
	return clipboard_read_image(out, stop, err);
}

static void on_clipboard(void *arg, struct side_job *j)
{
	struct live *l = arg;

	if (j->rc == 0)
		j->rc = insert_image(l, buf_str(&j->out), &j->err);
	if (j->rc < 0)
		(void)app_fail(l->run->app, &j->err);
}

/* Ctrl+V: a clipboard program may hang, so the screen does not wait for it. */
static void paste_image(struct live *l)
{
	const struct side_job j = { .run = run_clipboard,
				    .arg = l,
				    .done = on_clipboard,
				    .out = BUF_INIT(MEDIA_MAX_BYTES),
				    .events = l->events };
	struct error err = { 0 };

	if (l->clipboard)
		return; /* one at a time */
	l->clipboard = side_job_start(&j, &err);
	if (!l->clipboard)
		(void)app_fail(l->run->app, &err);
}

/* Why Enter did not send the draft beside completions. */
static const char *const enter_notes[] = {
	[COMPLETE_TOOK] = "Completed, not sent yet: Enter sends it",
	[COMPLETE_UNKNOWN] = "Not sent: no command begins so. Tab takes the "
			     "marked one; Esc, Enter sends",
	[COMPLETE_SEVERAL] =
		"Not sent: several commands begin so. Up/Down, Tab "
		"choose; Esc, Enter sends",
};

/* Passes a key to the completions and the editor, and performs the editor's
 * request. */
static void on_editor(struct live *l, const struct key_event *ev)
{
	enum editor_result result;
	bool empty;

	if (ev->kind == KEY_EVENT_PASTE_END)
		replace_image_paths(l);
	if (ev->kind == KEY_EVENT_KEY &&
	    complete_key(&l->completer, &l->editor, ev->key)) {
		if (is_plain_key(ev, KEY_ENTER))
			l->note = enter_notes[l->completer.enter];
		l->drafted = l->typed;
		return;
	}
	if (remove_mark(l, ev))
		return;
	/* A key that changes nothing in an empty draft does not count as
	 * typing: a question need not wait for it. */
	empty = editor_is_empty(&l->editor);
	result = l->vi.on ? vi_event(&l->vi, &l->editor, ev)
			  : editor_event(&l->editor, ev);
	if (ev->kind != KEY_EVENT_KEY || result == EDITOR_CHANGED || !empty)
		l->drafted = l->typed;
	switch (result) {
	case EDITOR_SUBMIT:
		send_draft(l, false);
		break;
	case EDITOR_COMPLETE:
		queue_draft(l);
		break;
	case EDITOR_OLDER:
	case EDITOR_NEWER:
		if (result == EDITOR_NEWER || !live_take_back(l))
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
		live_leave(l);
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
	case EDITOR_IMAGE:
		paste_image(l);
		break;
	case EDITOR_OUTPUT:
		open_calls(l);
		break;
	case EDITOR_MODE:
		set_mode(l, next_mode(l));
		break;
	default:
		break;
	}
	complete_update(&l->completer, &l->editor);
}

/* Handles a key during the history search. */
static void on_search(struct live *l, const struct key_event *ev)
{
	enum history_search_result result =
		history_search_event(&l->search, ev);
	struct str text;

	if (result != HISTORY_SEARCH_TAKEN && result != HISTORY_SEARCH_LEFT)
		return;
	if (history_search_text(&l->search, &text)) {
		editor_set(&l->editor, text);
		l->editor.recalled = true;
	}
	if (result == HISTORY_SEARCH_LEFT)
		on_editor(l, ev);
	else
		complete_update(&l->completer, &l->editor);
}

/* The key after "?" closes the list of keys. Text continues the message that
 * begins with "?"; any other key only removes it. Returns true if the key has
 * no other effect. */
static bool close_help(struct live *l, const struct key_event *ev)
{
	bool closes = l->helps && ev->kind == KEY_EVENT_KEY;

	l->helps = false;
	if (closes)
		editor_reset(&l->editor);
	return closes;
}

static void on_draft(struct live *l, const struct key_event *ev)
{
	bool asks_for_help = ev->kind == KEY_EVENT_TEXT &&
			     str_is(ev->text, "?") && !live_is_drafting(l) &&
			     !l->calls_menu.on;

	if (close_help(l, ev))
		return;
	l->helps = asks_for_help;
	if (l->calls_menu.on)
		on_calls(l, ev);
	else if (l->search.on)
		on_search(l, ev);
	else
		on_editor(l, ev);
}

static struct key_event letter_event(const char *c)
{
	return (struct key_event){ .kind = KEY_EVENT_TEXT, .text = { c, 1 } };
}

/* Passes a letter to the question that it was pressed at, or drops it if it was
 * early. Returns false if that question is gone. */
static bool answer_with_letter(struct live *l, char c)
{
	struct key_event ev = letter_event(&c);
	bool same = l->letter.opened == l->opened;
	bool early = l->letter.early;

	l->letter.c = '\0';
	l->letter.early = false;
	if (early && same && live_has_question(l))
		l->note = "That key came too soon: press it again";
	else if (early)
		return false;
	else if (l->confirms)
		confirm_yolo(l, c == 'y' || c == 'Y');
	else if (l->dialog.asked && same && !is_typing_answer(l))
		live_answer_call(l, &ev);
	else if (l->choice.letters[0] && same)
		live_answer_choice(l, &ev);
	else
		return false;
	return true;
}

/* Handles a key behind a letter that has not answered yet. Enter and the same
 * letter make it answer, Esc and Backspace drop it. With other text it begins a
 * message. Returns true if the key has no other effect. */
static bool settle_letter(struct live *l, const struct key_event *ev)
{
	struct answer_row *row =
		l->choice.asked ? &l->choice.row : &l->dialog.row;
	char c = l->letter.c ? l->letter.c : row->pressed;
	struct key_event letter = letter_event(&c);
	bool text = ev->kind == KEY_EVENT_TEXT || is_paste(ev);
	bool again = ev->kind == KEY_EVENT_TEXT && ev->text.len == 1 &&
		     ev->text.ptr[0] == c;

	if (!c)
		return false;
	if (l->letter.early && (again || is_plain_key(ev, KEY_ENTER))) {
		l->note = "Too soon for an answer";
		return true;
	}
	if (!l->letter.c && row->by_enter) {
		if (is_plain_key(ev, KEY_ENTER))
			return false; /* the row of answers takes it */
		row->pressed = '\0';
		l->dialog.note = NULL;
		return is_plain_key(ev, KEY_ESCAPE);
	}
	if (again || is_plain_key(ev, KEY_ENTER)) {
		/* also the second press that "always" wants */
		row->pressed = c;
		if (answer_with_letter(l, c))
			return true;
	}
	l->letter.c = row->pressed = '\0';
	l->letter.early = false;
	l->dialog.note = NULL;
	if (l->confirms)
		confirm_yolo(l, false);
	if (is_plain_key(ev, KEY_ESCAPE) || is_plain_key(ev, KEY_BACKSPACE))
		return true;
	if (text) {
		l->focused = false;
		on_draft(l, &letter);
	}
	return false;
}

void live_update_question(struct live *l, int64_t now)
{
	char c = l->letter.c;
	struct key_event letter = letter_event(&c);

	if (c && now >= l->letter.at && !answer_with_letter(l, c))
		on_draft(l, &letter);
	open_question(l, now);
}

/* Handles a key while a question is open: route_key() decides whether the
 * message or the question gets it. */
static void on_question(struct live *l, const struct key_event *ev)
{
	enum live_key whose;

	if (is_ctrl(ev, 'c') && !l->picking && !l->calls_menu.on) {
		on_interrupt(l);
		return;
	}
	if (l->choice.asked && changes_mode(ev)) {
		l->note = "Answer the question first: then Shift+Tab changes "
			  "the mode";
		return;
	}
	whose = route_key(l, ev);
	l->dialog.keys = l->inquiry.keys = l->choice.keys =
		live_question_keys(l);
	switch (whose) {
	case LIVE_KEY_DRAFT:
		on_draft(l, ev);
		break;
	case LIVE_KEY_QUESTION:
		if (answer_letters(l) && ev->kind == KEY_EVENT_TEXT &&
		    !is_typing_answer(l))
			hold_letter(l, ev);
		else if (l->dialog.asked)
			live_answer_call(l, ev);
		else if (l->inquiry.asked)
			live_answer_inquiry(l, ev);
		else if (l->choice.asked)
			live_answer_choice(l, ev);
		else
			live_on_picker(l, ev);
		break;
	case LIVE_KEY_EARLY:
		hold_early_letter(l, ev);
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
	l->note = NULL;
	if (!is_ctrl(ev, 'c'))
		l->armed = false;
	if (!is_plain_key(ev, KEY_ESCAPE))
		l->rewinds = false;
	if (!is_ctrl(ev, 'c') && !is_ctrl(ev, 'd') &&
	    !is_plain_key(ev, KEY_ENTER))
		l->leaves = false;
	if (settle_letter(l, ev) || (l->confirms && answer_yolo(l, ev)))
		return;
	if (live_has_question(l))
		on_question(l, ev);
	else
		on_draft(l, ev);
}
