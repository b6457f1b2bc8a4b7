/* approve.c - asks the user before a tool acts on this machine. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/approve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/chat/call_view.h"

enum {
	USUAL_ROWS = 24, /* of a terminal that does not tell */
	USUAL_COLUMNS = 80,
	LEAST_ROWS = 8,
};

static const char question[] = "Allow it? [y/N] ";
static const char not_all[] =
	"Not all of it is shown. To see the rest answer v.\n";

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

enum answer { YES = 1, NO, ALL, OTHER, INTERRUPTED };

static enum answer read_answer(struct chat_input *in)
{
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	enum answer answer = OTHER;
	struct str word;
	int rc;

	fputs(question, stderr);
	rc = chat_read_line(in, &line);
	word = str_trim(buf_str(&line));
	if (rc < 0)
		answer = INTERRUPTED;
	else if (str_is_nocase(word, "y") || str_is_nocase(word, "yes"))
		answer = YES;
	else if (str_is_nocase(word, "v"))
		answer = ALL;
	else if (rc == 0 || !word.len || str_is_nocase(word, "n") ||
		 str_is_nocase(word, "no"))
		answer = NO;
	buf_release(&line);
	return answer;
}

static bool is_smaller(struct question_screen now, struct question_screen was)
{
	return now.rows < was.rows || now.columns < was.columns;
}

/* 1 yes, 0 no, -1 interrupted, -2 too long to be shown. */
static int ask(struct chat_input *in, const struct call_view *v)
{
	struct question_screen size = screen_size();

	if (show(v, size, false) < 0)
		return -2;
	for (;;) {
		enum answer answer = read_answer(in);
		struct question_screen now = screen_size();

		if (answer == INTERRUPTED)
			return -1;
		if (answer == NO)
			return 0;
		if (answer == ALL) {
			(void)show(v, now, true);
			(void)show(v, now, false);
		} else if (is_smaller(now, size)) {
			/* The terminal may have moved some of it away. */
			fputs("The terminal became smaller, so here it is "
			      "again.\n",
			      stderr);
			(void)show(v, now, false);
		} else if (answer == YES) {
			return 1;
		} else {
			fputs("Please answer y or n.\n", stderr);
		}
		size = now;
	}
}

int chat_approve(struct chat_input *in, struct approval *a,
		 const struct stop *stop, struct error *err)
{
	struct buf early;
	struct call_view view;
	int said;

	call_view_open(&view, a);
	chat_set_aside(in, &early);
	said = ask(in, &view);
	chat_put_back(in, &early);
	call_view_close(&view);
	if (said == -2) {
		fputs("(too long to be shown: not allowed)\n", stderr);
		buf_addf(&a->reason,
			 "The call of %s is too long to be shown to the user, "
			 "who has to approve it.",
			 a->tool->spec.name);
	}
	a->allowed = said > 0;
	return said == -1 ? stop_check(stop, err) : 0;
}
