/* live_question.c - questions on the screen, their answers, and the bell. */
/* SPDX-License-Identifier: MIT */
/*
 * Three kinds of question come from the worker's thread, which waits for the
 * answer: may a call run (live.asked), a choice that dcode itself asks for
 * (live.asked_choice), and the model's questions (live.asked_inquiry). Each
 * kind has a function that opens it, one that gets its keys from live_keys.c,
 * and one that drops it when the turn is stopped. An answered question becomes
 * one line on the screen. Begin reading at live_answer_call().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/live_state.h"
#include "cmd/session/policy.h"
#include "ui/summary.h"

enum {
	MOST_LINE = 8 << 10, /* bytes of the line for an answered question */
	MOST_CHARS = 160,    /* characters of the question in that line */
	MOST_DRAFT = 64 << 20,
	LONG_QUESTION = 400, /* bytes; a longer question is also printed in full
				above the live part */
	MOST_S = 86400,      /* largest [ui] notify_after, in seconds */
};

/* Ends the wait for an answer: that time counts neither for calls nor for the
 * turn. */
static void end_wait(struct live *l)
{
	int64_t ms = clock_ms() - l->asked_at;

	transcript_waited(&l->transcript, ms);
	l->turn.waited += ms;
}

/* Prints the one line that remains of an answered question. */
static void print_answer_line(struct live *l, const char *said, struct str what)
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

/* Prints the answer with the call ("execute: make test") or the number of
 * calls. A call's own row follows and says what it is, so that the answer is
 * printed only if it is about more. Calls of a subagent have no rows. */
static void print_answer(struct live *l, enum dialog_answer a)
{
	static const struct {
		const char *said;  /* about a subagent's call, or several */
		const char *alone; /* about one call with a row; NULL: nothing
				    */
	} texts[] = {
		[DIALOG_YES] = { "Allowed", NULL },
		[DIALOG_ALWAYS] = { "Allowed, and always from now on",
				    "This call is allowed until dcode ends" },
		/* ask.c has printed where it is stored */
		[DIALOG_CONFIG] = { "Allowed, and always from now on", NULL },
		[DIALOG_NO] = { "Declined", NULL },
		[DIALOG_REASON] = { "Declined", NULL },
		[DIALOG_EDITED] = { "Changed", NULL },
		[DIALOG_EDITS] = { "Allowed, and all edits from now on",
				   "Edits are allowed from now on "
				   "(auto-edit)" },
	};
	const struct question *q = l->asked;
	const struct approval *call = q->list[0];
	bool declined = a == DIALOG_NO || a == DIALOG_REASON;
	struct buf what = BUF_INIT(MOST_LINE);
	struct buf masked = BUF_INIT(MOST_LINE);

	if (a >= sizeof(texts) / sizeof(*texts) || !texts[a].said)
		return;
	if (!call->subagent && (q->n == 1 || declined)) {
		live_print(l);
		if (texts[a].alone)
			live_say(l, (struct style){ 0, STYLE_MUTED },
				 texts[a].alone);
		return;
	}
	if (q->n > 1)
		buf_addf(&what, "%zu calls", q->n);
	else
		summary_of_call(call->call, call->acts_in->workdir, &what);
	if (l->theme.ascii)
		summary_to_ascii(&what);
	app_clean(l->run->app, CLEAN_LATER, buf_str(&what), &masked);
	print_answer_line(l, texts[a].said, buf_str(&masked));
	buf_release(&what);
	buf_release(&masked);
}

/* Ends the question about calls and passes the answer to the worker. */
static void answer_call(struct live *l, enum dialog_answer a)
{
	const struct question *q = l->asked;
	char text[64] = "running";

	if (q->n == 1)
		snprintf(text, sizeof(text), "running %.40s",
			 q->list[0]->call->name);
	print_answer(l, a);
	dialog_close(&l->dialog);
	l->asked = NULL;
	l->focused = false;
	end_wait(l);
	worker_answer(&l->worker, a == DIALOG_EDITS ? DIALOG_YES : (int)a);
	live_set_wait(l, text);
}

static void withdraw_question(struct live *l)
{
	end_wait(l);
	dialog_close(&l->dialog);
	l->asked = NULL;
	l->focused = false;
	worker_answer(&l->worker, DIALOG_OPEN);
}

/* A no without a reason ends the turn, so that the user can say what to do
 * instead. */
static void decline_and_stop(struct live *l)
{
	l->refused = true;
	l->stopping = true;
	l->held = l->n_queue > 0;
	cancel_trigger(&l->run->app->cancel);
	answer_call(l, DIALOG_NO);
}

/* Prints all of the calls that are asked about above the live part, or shows
 * them in the pager. */
static void show_question(struct live *l, bool pages)
{
	struct rows whole = { 0 };

	if (!dialog_render_whole(&l->dialog, screen_columns(&l->screen),
				 &whole))
		l->note = "Too long to show";
	else if (pages)
		elsewhere_show_rows(l, &whole);
	else
		screen_print(&l->screen, &whole, 0, whole.n);
	rows_release(&whole);
}

/* Opens the call in the user's own editor. If it is unchanged, the question
 * stays open. */
static void run_external_editor(struct live *l)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	struct str before;

	if (l->dialog.edits)
		editor_text(&l->dialog.editor, &text);
	else if (ask_editable(l->asked, &before))
		buf_addstr(&text, before);
	if (elsewhere_edit_text(l, &text)) {
		buf_addstr(&l->asked->edited, buf_str(&text));
		answer_call(l, DIALOG_EDITED);
	}
	buf_release(&text);
}

static void submit_edited_call(struct live *l)
{
	editor_text(&l->dialog.editor, &l->asked->edited);
	answer_call(l, DIALOG_EDITED);
}

/* Returns why Shift+Tab does not answer this question, or NULL if it does. */
static const char *find_edit_obstacle(const struct live *l)
{
	const struct question *q = l->asked;
	struct error ignored = { 0 };

	if (run_check_mode(l->run, RUN_AUTO_EDIT, &ignored) < 0)
		return "This machine's policy requires dcode to ask about "
		       "every edit";
	for (size_t i = 0; i < q->n; i++) {
		/* In auto-edit mode too a hook that asks is obeyed. */
		if (q->list[i]->hook_asks)
			return "A hook requires your answer to this call";
		if (!q->list[i]->auto_edit)
			return "Shift+Tab allows edits in the working "
			       "directory only";
	}
	return NULL;
}

/* Shift+Tab: allows the edits that auto-edit mode allows, and switches to that
 * mode. */
static void accept_edits(struct live *l)
{
	l->dialog.note = find_edit_obstacle(l);
	if (l->dialog.note)
		return;
	l->run->mode = RUN_AUTO_EDIT;
	answer_call(l, DIALOG_EDITS);
}

/* Handles a key while a question about calls is shown. */
void live_answer_call(struct live *l, const struct key_event *ev)
{
	enum dialog_answer said = dialog_event(&l->dialog, ev);

	switch (said) {
	case DIALOG_OPEN:
		break;
	case DIALOG_SHOW:
		show_question(l, true);
		break;
	case DIALOG_NO:
		decline_and_stop(l);
		break;
	case DIALOG_EDITS:
		accept_edits(l);
		break;
	case DIALOG_REASON:
		approval_decline(l->asked->list[0], buf_str(&l->dialog.reason));
		answer_call(l, said);
		break;
	case DIALOG_EDITED:
		submit_edited_call(l);
		break;
	case DIALOG_ELSEWHERE:
		run_external_editor(l);
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
	int answer = worker_choose(&l->worker, q, q->stop ? q->stop : &stop);

	if (answer < 0 && stop_check(q->stop ? q->stop : &stop, err) == 0)
		error_set(err, ERR_CANCELLED, "no answer");
	return answer;
}

/* Prints the question with its answer: "Allow it? [y/N] yes". */
static void print_choice(struct live *l, const char *answer)
{
	const struct app_question *q = l->asked_choice;
	char *line =
		q->keys ? xasprintf("%s %s", q->text, answer)
			: xasprintf("%s [%s] %s", q->text, q->choices, answer);

	live_print(l);
	live_say(l, (struct style){ 0, STYLE_MUTED }, line);
	free(line);
}

/* Ends a question of dcode itself and passes the answer to the worker. */
static void answer_choice(struct live *l, int answer)
{
	const struct app_question *q = l->asked_choice;

	if (answer >= 0)
		print_choice(l, q->answers[answer]);
	l->choice = (struct choice_dialog){ 0 };
	l->asked_choice = NULL;
	l->focused = false;
	end_wait(l);
	worker_answer(&l->worker, answer);
}

void live_answer_choice(struct live *l, const struct key_event *ev)
{
	int answer = choice_event(&l->choice, ev);

	if (answer != CHOICE_OPEN)
		answer_choice(l, answer);
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

void live_open_dialog(struct live *l)
{
	if (l->asked) {
		dialog_open(&l->dialog, l->asked);
		l->dialog.edits_allowed = !find_edit_obstacle(l);
		if (l->asked->n > 1)
			show_question(l, false);
	} else if (l->asked_inquiry) {
		print_long_questions(l);
		inquiry_dialog_open(&l->inquiry, l->asked_inquiry);
	} else if (l->asked_choice) {
		choice_open(&l->choice, l->asked_choice);
	}
}

static void answer_inquiry(struct live *l, int end)
{
	inquiry_dialog_close(&l->inquiry);
	l->asked_inquiry = NULL;
	end_wait(l);
	worker_answer(&l->worker, end);
	live_set_wait(l, "running");
}

void live_drop_question(struct live *l, const void *which)
{
	if (l->asked && (!which || which == l->asked))
		withdraw_question(l);
	if (l->asked_inquiry && (!which || which == l->asked_inquiry))
		answer_inquiry(l, -1);
	if (l->asked_choice && (!which || which == l->asked_choice))
		answer_choice(l, CHOICE_ENDED);
}

void live_answer_inquiry(struct live *l, const struct key_event *ev)
{
	enum inquiry_end end;

	if (inquiry_dialog_event(&l->inquiry, ev, &end))
		answer_inquiry(l, (int)end);
}

/* Reads the name of the working directory. */
static void load_name(struct live *l)
{
	const char *cwd = settings_cwd(l->run->app->settings);
	const char *slash = strrchr(cwd, '/');
	struct buf name = BUF_INIT(1 << 12);
	struct str shown;

	sanitize_line(str_of(slash && slash[1] ? slash + 1 : cwd), &name);
	shown = buf_str(&name);
	shown.len = str_char_offset(shown, LIVE_NAME_CHARS);
	snprintf(l->notify.name, sizeof(l->notify.name), "%.*s", (int)shown.len,
		 shown.len ? shown.ptr : "");
	buf_release(&name);
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
	else if (settings_bool(set, NULL, "ui.title", &l->notify.titles, &err) <
		 0)
		(void)app_fail(l->run->app, &err);
	else if (!notify_parse(str_of(way), &l->notify.way))
		app_warn("[ui] notify = \"%s\": use bell, desktop or off", way);
	if (seconds < 0 || seconds > MOST_S) {
		app_warn("[ui] notify_after = %lld: use seconds, 0 to %d",
			 (long long)seconds, MOST_S);
		l->notify.way = NOTIFY_OFF;
	}
	l->notify.after_ms = seconds * 1000;
	load_name(l);
	l->notify.shows_progress = l->notify.titles && tty_shows_progress();
}

/* Returns the time, as clock_ms(), from which the user counts as away. */
static int64_t compute_away_time(const struct live *l)
{
	int64_t last = l->typed > l->began ? l->typed : l->began;

	return last + l->notify.after_ms;
}

/* Notifies with the name of the directory and what has happened: "repo:
 * question about execute". */
static void notify_user(struct live *l, const char *what, const char *about)
{
	struct buf text = BUF_INIT(MOST_LINE);
	struct buf bytes = BUF_INIT(MOST_LINE);

	if (l->notify.focus == LIVE_FOCUS_HERE || l->lent || l->gone)
		return;
	buf_addf(&text, "%s: %s%.40s", l->notify.name, what, about);
	notify_add(l->notify.way, buf_str(&text), &bytes);
	(void)tty_write(&l->screen.tty, buf_str(&bytes));
	buf_release(&text);
	buf_release(&bytes);
}

void live_notify_turn(struct live *l)
{
	bool listed = l->now.kind == JOB_ARGUMENTS;

	if (l->notify.way != NOTIFY_OFF && !listed &&
	    clock_ms() >= compute_away_time(l))
		notify_user(l, "the turn has ended", "");
}

int64_t live_notify_at(const struct live *l)
{
	return live_has_question(l) && l->notify.rang != l->opened &&
			       l->notify.way != NOTIFY_OFF
		       ? compute_away_time(l)
		       : INT64_MAX;
}

void live_notify_question(struct live *l, int64_t now)
{
	if (now < live_notify_at(l))
		return;
	l->notify.rang = l->opened;
	if (l->asked && l->asked->n == 1)
		notify_user(l, "question about ",
			    l->asked->list[0]->call->name);
	else
		notify_user(l,
			    l->asked ? "question about several calls"
				     : "a question waits",
			    "");
}
