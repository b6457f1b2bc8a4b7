/* approve.c - asks the user before a tool acts on this machine. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/approve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ui/question.h"

enum {
	MAX_SHOWN = 16 << 20, /* bytes of a question */
	MOST_ITEMS = 10,      /* arguments of a tool and what is added */
	USUAL_ROWS = 24,      /* of a terminal that does not tell */
	USUAL_COLUMNS = 80,
	LEAST_ROWS = 8,
};

static const char question[] = "Allow it? [y/N] ";
static const char not_all[] =
	"Not all of it is shown. To see the rest answer v.\n";

/* What is shown: borrowed from the call, texts made here are owned. */
struct view {
	struct question_item items[MOST_ITEMS];
	size_t n;
	char *owned[MOST_ITEMS];
	size_t n_owned;
	struct buf unused; /* members that the tool does not read */
	char title[128];
};

static void add_item(struct view *v, const char *label, struct str text)
{
	if (v->n < MOST_ITEMS)
		v->items[v->n++] =
			(struct question_item){ .label = label, .text = text };
}

static struct str text_of(struct view *v, const cJSON *item)
{
	char *text;

	if (cJSON_IsString(item))
		return str_of(item->valuestring);
	text = cJSON_PrintUnformatted(item);
	v->owned[v->n_owned++] = text;
	return str_of(text);
}

/* The tool reads the first member of a name. */
static bool is_read(const struct approval *a, const cJSON *item)
{
	for (const struct tool_arg *arg = a->tool->args; arg->name; arg++)
		if (json_get(a->args, arg->name) == item)
			return true;
	return false;
}

static void add_unused(struct view *v, const cJSON *item)
{
	char *text = cJSON_IsString(item) ? xstrdup(item->valuestring)
					  : cJSON_PrintUnformatted(item);

	if (v->unused.len)
		buf_addc(&v->unused, '\n');
	buf_addf(&v->unused, "%s: %s", item->string, text);
	free(text);
}

/* What the tool will read comes first, in the tool's own order: other members
 * could push it into the part that is left out. */
static void view_open(struct view *v, const struct approval *a)
{
	const cJSON *item;

	*v = (struct view){ .unused = BUF_INIT(MAX_SHOWN) };
	snprintf(v->title, sizeof(v->title), "%s wants to %s:\n",
		 a->tool->spec.name,
		 a->tool->flags & TOOL_ASKS
			 ? "run on this machine"
			 : "read outside the working directory");
	for (const struct tool_arg *arg = a->tool->args; arg->name; arg++) {
		item = json_get(a->args, arg->name);
		if (item)
			add_item(v, arg->name, text_of(v, item));
	}
	if (a->place.len)
		add_item(v, "acts on", buf_str(&a->place));
	cJSON_ArrayForEach (item, a->args)
		if (!is_read(a, item))
			add_unused(v, item);
	if (v->unused.len)
		add_item(v, "not used by the tool", buf_str(&v->unused));
}

static void view_close(struct view *v)
{
	for (size_t i = 0; i < v->n_owned; i++)
		cJSON_free(v->owned[i]);
	buf_release(&v->unused);
}

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
static size_t rows_left(const struct view *v, struct question_screen s)
{
	size_t taken = question_rows(v->title, s.columns) +
		       question_rows(not_all, s.columns) +
		       question_rows(question, s.columns) + 1;

	return s.rows > taken + LEAST_ROWS ? s.rows - taken : LEAST_ROWS;
}

/* -1 when it is too much to show. */
static int show(const struct view *v, struct question_screen s, bool whole)
{
	struct buf text = BUF_INIT(MAX_SHOWN);
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
static int ask(struct chat_input *in, const struct view *v)
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
	struct view view;
	int said;

	view_open(&view, a);
	chat_set_aside(in, &early);
	said = ask(in, &view);
	chat_put_back(in, &early);
	view_close(&view);
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
