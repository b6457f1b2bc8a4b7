/* approve.c - asks whether a call may run, in the chat of lines. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/approve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/chat/call_view.h"
#include "cmd/chat/external.h"

enum {
	USUAL_ROWS = 24, /* of a terminal that does not tell */
	USUAL_COLUMNS = 80,
	LEAST_ROWS = 8,
};

static const char question[] = "Allow it? [y/N] ";
static const char not_all[] =
	"This is only a part of it. Answer v to see the rest.\n";

static struct question_screen screen_size(void)
{
	struct winsize size = { 0 };
	struct question_screen s = { USUAL_ROWS, USUAL_COLUMNS };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row)
		(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
	if (size.ws_row && size.ws_col)
		s = (struct question_screen){ size.ws_row, size.ws_col };
	return s;
}

/* Rows for the items, so that the title and the answer fit beside them. */
static size_t rows_left(const struct call_view *v, struct question_screen s)
{
	size_t taken = question_rows(v->title, s.columns) +
		       question_rows(not_all, s.columns) +
		       question_rows(question, s.columns) + 1;

	return s.rows > taken + LEAST_ROWS ? s.rows - taken : LEAST_ROWS;
}

/* -1 when it is too much to show. */
static int show(const struct call_view *v, struct question_screen s, bool whole)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	struct question_screen room = {
		.rows = whole ? 0 : rows_left(v, s),
		.columns = s.columns,
	};
	size_t hidden = question_render(v->items, v->n, room, &text);
	int rc = text.over ? -1 : 0;

	if (rc == 0)
		fprintf(stderr, "%s%s%s", v->title, text.len ? text.ptr : "",
			hidden ? not_all : "");
	buf_release(&text);
	return rc;
}

/* All calls of a question for several, in full. */
static int show_all(const struct question *q, struct question_screen s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < q->n; i++) {
		struct call_view view;

		call_view_open(&view, q->list[i]);
		rc = show(&view, s, true);
		call_view_close(&view);
	}
	return rc;
}

/* -1 when it is too much to show. */
static int show_question(const struct question *q, struct question_screen s)
{
	struct call_view view;
	int rc;

	if (q->n > 1)
		return show_all(q, s);
	call_view_open(&view, q->list[0]);
	rc = show(&view, s, false);
	call_view_close(&view);
	return rc;
}

/* "n because ..." */
static bool read_reason(const struct question *q, struct str line)
{
	struct str words = str_trim(str_skip(line, 2));

	if (!str_starts(line, "n ") || !words.len)
		return false;
	approval_decline(q->list[0], words);
	return true;
}

/* DIALOG_OPEN: it is no answer. */
static enum dialog_answer parse_answer(const struct question *q,
				       struct str line)
{
	static const struct {
		const char *word;
		enum dialog_answer answer;
		bool single; /* about one call */
	} words[] = {
		{ "y", DIALOG_YES, false },
		{ "Y", DIALOG_YES, false },
		{ "n", DIALOG_NO, false },
		{ "N", DIALOG_NO, false },
		{ "no", DIALOG_NO, false },
		{ "v", DIALOG_SHOW, false },
		{ "yes", DIALOG_YES, false },
		{ "V", DIALOG_SHOW, false },
		{ "a", DIALOG_ALWAYS, true },
		{ "always", DIALOG_ALWAYS, true },
		{ "A", DIALOG_CONFIG, true },
		{ "e", DIALOG_ELSEWHERE, true },
		{ "all", DIALOG_TOGETHER, true },
		{ "one", DIALOG_ONE, false },
	};
	struct str ignored;

	if (!line.len)
		return DIALOG_NO;
	if (read_reason(q, line))
		return DIALOG_REASON;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		enum dialog_answer said = words[i].answer;

		if (!str_is(line, words[i].word) &&
		    !(words[i].word[1] && str_is_nocase(line, words[i].word)))
			continue;
		if ((words[i].single && q->n > 1) ||
		    (said == DIALOG_ONE && q->n == 1) ||
		    (said == DIALOG_TOGETHER && !dialog_has_more(q)) ||
		    (said == DIALOG_ELSEWHERE && !dialog_editable(q, &ignored)))
			return DIALOG_OPEN;
		return said;
	}
	return DIALOG_OPEN;
}

static void explain_answers(const struct question *q)
{
	struct str ignored;

	if (q->n > 1) {
		fputs("Answers: y (allow all of these), n, \"n WHY\" (tell the "
		      "model why), one (one by one), v (view).\n",
		      stderr);
		return;
	}
	fprintf(stderr,
		"Answers: y, n, \"n WHY\" (tell the model why), a (always "
		"allow this call, until dcode ends),\nA (always, stored in "
		"config.toml), v (view all)%s%s.\n",
		dialog_editable(q, &ignored) ? ", e (edit)" : "",
		dialog_has_more(q) ? ", all (the rest of this answer)" : "");
}

/* At the end of input nobody can be asked: the turn is stopped. *stopped: by
 * the user. */
static enum dialog_answer read_answer(struct approve *p,
				      const struct question *q,
				      struct buf *early, bool *stopped)
{
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	enum dialog_answer answer;
	int rc;

	rc = chat_read_answer(p->input, early, question, &line);
	answer = parse_answer(q, str_trim(buf_str(&line)));
	buf_release(&line);
	*stopped = rc < 0;
	if (rc != 0)
		return rc > 0 ? answer : DIALOG_OPEN;
	cancel_trigger(&p->app->cancel);
	return DIALOG_NO;
}

static bool is_smaller(struct question_screen now, struct question_screen was)
{
	return now.rows < was.rows || now.columns < was.columns;
}

/* The call in the user's own editor; false: it is as it was. */
static bool edit(struct approve *p, struct question *q)
{
	struct external x = { p->app, STDOUT_FILENO, STDERR_FILENO };
	struct str text;

	(void)dialog_editable(q, &text);
	if (!isatty(STDIN_FILENO)) {
		fputs("An editor needs a terminal.\n", stderr);
		return false;
	}
	buf_addstr(&q->edited, text);
	if (external_edit_text(&x, &q->edited))
		return true;
	buf_clear(&q->edited);
	return false;
}

/* What is shown again before the next answer. */
static void go_on(const struct question *q, enum dialog_answer said,
		  struct question_screen now)
{
	if (said == DIALOG_OPEN) {
		fputs("Please answer y or n.\n", stderr);
		explain_answers(q);
		return;
	}
	if (said == DIALOG_SHOW)
		(void)show_all(q, now);
	if (q->n == 1)
		(void)show_question(q, now);
}

static enum dialog_answer ask(struct approve *p, struct question *q,
			      struct buf *early)
{
	struct question_screen size = screen_size();

	if (show_question(q, size) < 0) {
		fputs("(too long to show, so it is not allowed)\n", stderr);
		buf_addf(&q->list[0]->reason,
			 "The call of %s is too long to be shown to the user, "
			 "who has to approve it.",
			 q->list[0]->tool->spec.name);
		return DIALOG_REASON;
	}
	chat_set_aside(p->input, early);
	for (;;) {
		bool stopped;
		enum dialog_answer said = read_answer(p, q, early, &stopped);
		struct question_screen now = screen_size();

		if (stopped || said == DIALOG_NO || said == DIALOG_REASON)
			return said;
		if (said != DIALOG_OPEN && said != DIALOG_SHOW &&
		    is_smaller(now, size)) {
			/* The terminal may have moved some of it away. */
			fputs("The terminal became smaller; here is the "
			      "question again.\n",
			      stderr);
			(void)show_question(q, now);
		} else if (said == DIALOG_ELSEWHERE) {
			if (edit(p, q))
				return DIALOG_EDITED;
			(void)show_question(q, now);
		} else if (said == DIALOG_OPEN || said == DIALOG_SHOW) {
			go_on(q, said, now);
		} else {
			return said;
		}
		size = now;
	}
}

enum dialog_answer chat_approve(void *arg, struct question *q,
				const struct stop *stop)
{
	struct approve *p = arg;
	enum dialog_answer said;
	struct buf early = BUF_INIT(CHAT_MAX_LINE);

	(void)stop; /* Ctrl-C is all that can be typed besides */
	if (!p->explained && q->n == 1)
		explain_answers(q);
	p->explained = true;
	said = ask(p, q, &early);
	chat_put_back(p->input, &early);
	return said;
}
