/* ask_lines.c - reads typed lines, and asks questions without a screen. */
/* SPDX-License-Identifier: MIT */
/*
 * Text that was typed before a question was shown never answers it. The text is
 * set aside and put back for the next prompt. Begin reading at chat_read_line()
 * and chat_approve().
 */
#include "cmd/chat/ask_lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/ask.h"
#include "cmd/chat/slash.h"
#include "cmd/external.h"
#include "term/rows.h"

static void save_typed_text_now(struct chat_input *in, struct buf *early);

/* Input this soon after a question was shown does not answer it. */
enum { NOTICED_MS = 250 };

/* Returns the timeout for poll(2) in milliseconds. */
static int time_left(const struct chat_input *in)
{
	int64_t ms = in->until - clock_ms();

	if (!in->until)
		return -1;
	return ms < 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int chat_read_line(struct chat_input *in, struct buf *line)
{
	char chunk[4096];

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = in->cancel->fd[0], .events = POLLIN },
		};
		size_t at = str_find(buf_str(&in->typed), '\n');
		ssize_t n;

		if (at < in->typed.len || (in->ended && in->typed.len)) {
			size_t begin = line->len;

			buf_add(line, in->typed.ptr, at);
			buf_drop_nul(line, begin);
			buf_consume(&in->typed, at + (at < in->typed.len));
			return 1;
		}
		if (in->ended)
			return 0;
		if (poll(p, 2, time_left(in)) < 0 && errno != EINTR)
			return 0;
		if (p[1].revents || (!p[0].revents && !time_left(in)))
			return -1;
		if (!p[0].revents)
			continue;
		n = io_read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&in->typed, chunk, (size_t)n);
		else if (n == 0 || errno != EINTR)
			in->ended = true;
	}
}

bool chat_more_typed(const struct chat_input *in, int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return isatty(STDIN_FILENO) && !in->ended &&
	       (in->typed.len || io_poll(&p, 1, ms) > 0);
}

/* Reads the complete lines that are already waiting at the terminal. */
static void read_lines(struct chat_input *in)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char chunk[4096];

	while (!in->ended && io_poll(&p, 1, 0) > 0) {
		ssize_t n = io_read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n <= 0)
			break; /* chat_read_line() will get the same result */
		buf_add(&in->typed, chunk, (size_t)n);
	}
}

/* Reads a line that the user has not finished yet. The terminal holds it back
 * in line mode, so canonical mode is switched off briefly. A background process
 * must not do that: it would be stopped. */
static void read_partial_line(struct chat_input *in)
{
	struct termios was;
	struct termios now;
	char chunk[4096];
	ssize_t n;

	if (tcgetattr(STDIN_FILENO, &was) < 0 || !(was.c_lflag & ICANON) ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp())
		return;
	now = was;
	now.c_lflag &= ~(tcflag_t)ICANON;
	now.c_cc[VMIN] = now.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &now) < 0)
		return;
	while ((n = io_read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (chunk[i]) /* Ctrl+D is read as NUL */
				buf_addc(&in->typed, chunk[i]);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* Call after showing a question, before its prompt. Waits 0.25 s, then moves
 * everything typed so far into early, unfinished lines included, so that it
 * answers nothing. restore_typed_text() restores it for the next prompt. */
static void save_typed_text(struct chat_input *in, struct buf *early)
{
	struct pollfd stopped = { .fd = in->cancel->fd[0], .events = POLLIN };

	if (isatty(STDIN_FILENO))
		(void)poll(&stopped, 1, NOTICED_MS);
	save_typed_text_now(in, early);
}

/* Like save_typed_text() without the wait; used before a list is shown. */
static void save_typed_text_now(struct chat_input *in, struct buf *early)
{
	pthread_mutex_lock(&in->lock);
	in->asks = true;
	pthread_mutex_unlock(&in->lock);
	if (isatty(STDIN_FILENO)) {
		read_lines(in);
		read_partial_line(in);
	}
	*early = in->typed;
	in->typed = BUF_INIT(CHAT_MAX_LINE);
	in->begun = early->len && early->ptr[early->len - 1] != '\n';
}

/* Shows the unfinished message again and reads the rest of its line, because
 * the question was printed in the middle of it. */
static int finish_partial_line(struct chat_input *in, struct buf *early)
{
	struct buf shown = BUF_INIT(4 * CHAT_MAX_LINE);
	struct str begun = buf_str(early);
	const char *end = memrchr(begun.ptr, '\n', begun.len);
	int rc;

	if (end)
		begun = str_skip(begun, (size_t)(end - begun.ptr) + 1);
	sanitize_line(begun, &shown);
	fprintf(stderr, "(continue your message) > %s",
		shown.len ? shown.ptr : "");
	buf_release(&shown);
	rc = chat_read_line(in, early);
	if (rc > 0) {
		buf_addc(early, '\n');
		in->begun = false;
	}
	return rc;
}

/* Prints the question's prompt and appends the typed line to line. An
 * unfinished earlier message is completed first. Returns the same values as
 * chat_read_line(). */
static int chat_read_answer(struct chat_input *in, struct buf *early,
			    const char *prompt, struct buf *line)
{
	while (in->begun) {
		struct buf more;
		int rc = finish_partial_line(in, early);

		if (rc <= 0)
			return rc;
		/* lines pasted together with the end of the message are
		 * messages, too */
		save_typed_text(in, &more);
		buf_addstr(early, buf_str(&more));
		buf_release(&more);
	}
	fputs(prompt, stderr);
	return chat_read_line(in, line);
}

static void restore_typed_text(struct chat_input *in, struct buf *early)
{
	pthread_mutex_lock(&in->lock);
	in->begun = false;
	buf_addstr(early, buf_str(&in->typed));
	buf_release(&in->typed);
	in->typed = *early;
	in->asks = false;
	pthread_mutex_unlock(&in->lock);
}

enum {
	USUAL_ROWS = 24, /* assumed if the terminal does not report its size */
	USUAL_COLUMNS = 80,
	LEAST_ROWS = 8,
};

static const char question[] = "Allow it? [y/N] ";

static const char not_all[] =
	"This is only part of the call. Answer v to see the rest.\n";

/* Returns the terminal's size, or the usual one if it is unknown. */
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

/* Returns the rows left for the items below the title, the note and the
 * answers. */
static size_t rows_left(const struct call_view *v, struct question_screen s)
{
	size_t taken = question_rows(v->title, s.columns) +
		       question_rows(not_all, s.columns) +
		       question_rows(question, s.columns) + 1;

	return s.rows > taken + LEAST_ROWS ? s.rows - taken : LEAST_ROWS;
}

/* Prints the call. Returns -1 if it is too large to show. */
static int print_call(const struct call_view *v, struct question_screen s,
		      bool whole)
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

/* Prints every call of the question in full. */
static int show_all(const struct question *q, struct question_screen s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < q->n; i++) {
		struct call_view view;

		call_view_open(&view, q->list[i]);
		rc = print_call(&view, s, true);
		call_view_close(&view);
	}
	return rc;
}

/* Shows the question. Returns -1 if it is too large to show. */
static int show_question(const struct question *q, struct question_screen s)
{
	struct call_view view;
	int rc;

	if (q->n > 1)
		return show_all(q, s);
	call_view_open(&view, q->list[0]);
	rc = print_call(&view, s, false);
	call_view_close(&view);
	return rc;
}

/* Parses "n REASON" and declines the call with that reason. */
static bool read_reason(const struct question *q, struct str line)
{
	struct str words = str_trim(str_skip(line, 2));

	if (!str_starts(line, "n ") || !words.len)
		return false;
	approval_decline(q->list[0], words);
	return true;
}

/* Parses a typed line. Returns DIALOG_OPEN if it is not an answer. */
static enum dialog_answer parse_answer(const struct question *q,
				       struct str line)
{
	static const struct {
		const char *word;
		enum dialog_answer answer;
		bool single; /* only for a question about one call */
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
		    ((said == DIALOG_ALWAYS || said == DIALOG_CONFIG) &&
		     !ask_may_last(q)) ||
		    (said == DIALOG_ONE && q->n == 1) ||
		    (said == DIALOG_TOGETHER && !ask_has_more(q)) ||
		    (said == DIALOG_ELSEWHERE && !ask_editable(q, &ignored)))
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
		"Answers: y, n, \"n WHY\" (tell the model why), %sv (view "
		"all)%s%s.\n",
		ask_may_last(q) ? "a (always allow this call, until dcode "
				  "ends),\nA (always, stored in config.toml), "
				: "",
		ask_editable(q, &ignored) ? ", e (edit)" : "",
		ask_has_more(q) ? ", all (answer all remaining calls together)"
				: "");
}

/* Reads one answer. At the end of input nobody can answer, so the turn is
 * stopped. *stopped: the user interrupted. */
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

/* Opens the call in the user's own editor. Returns false if it is unchanged. */
static bool edit_call_text(struct approve *p, struct question *q)
{
	struct external x = { p->app, STDOUT_FILENO, STDERR_FILENO };
	struct str text;

	(void)ask_editable(q, &text);
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

/* Prints what the user needs to try again, after a line that was not an answer.
 */
static void explain_retry(const struct question *q, enum dialog_answer said,
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

/* Shows the question and reads lines until one of them decides. A call that is
 * too long to show is declined. */
static enum dialog_answer prompt_approval(struct approve *p, struct question *q,
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
	save_typed_text(p->input, early);
	for (;;) {
		bool stopped;
		enum dialog_answer said = read_answer(p, q, early, &stopped);
		struct question_screen now = screen_size();

		if (stopped || said == DIALOG_NO || said == DIALOG_REASON)
			return said;
		if (said != DIALOG_OPEN && said != DIALOG_SHOW &&
		    is_smaller(now, size)) {
			/* Part of the question may have scrolled off the
			 * screen. */
			fputs("The terminal became smaller; here is the "
			      "question again.\n",
			      stderr);
			(void)show_question(q, now);
		} else if (said == DIALOG_ELSEWHERE) {
			if (edit_call_text(p, q))
				return DIALOG_EDITED;
			(void)show_question(q, now);
		} else if (said == DIALOG_OPEN || said == DIALOG_SHOW) {
			explain_retry(q, said, now);
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

	(void)stop; /* not needed: the read itself notices Ctrl-C */
	if (!p->explained && q->n == 1)
		explain_answers(q);
	p->explained = true;
	said = prompt_approval(p, q, &early);
	restore_typed_text(p->input, &early);
	return said;
}

enum { SHOWN_BYTES = 16 << 10 };

/* Prints the model's text with each line indented, so that no line can pass for
 * one of dcode's. */
static void print_text(const char *text, const char *indent)
{
	struct buf clean = BUF_INIT(SHOWN_BYTES);
	struct str rest;
	struct str line;

	sanitize_text(str_trim(str_of(text)), &clean);
	rest = buf_str(&clean);
	while (str_split(&rest, '\n', &line))
		fprintf(stderr, "%s%.*s\n", indent, (int)line.len, line.ptr);
	buf_release(&clean);
}

/* Prints one question of the model and its numbered choices. */
static void print_item(const struct inquiry *q, size_t at)
{
	const struct inquiry_item *item = &q->items[at];

	fprintf(stderr, "The model asks (%zu of %zu):\n", at + 1, q->n);
	print_text(item->question, "    ");
	for (size_t i = 0; i < item->n_choices; i++) {
		char number[32];

		snprintf(number, sizeof(number), "  %3zu ", i + 1);
		print_text(item->choices[i], number);
	}
}

static void format_prompt(const struct inquiry_item *item, char *out,
			  size_t size)
{
	static const char *const how[] = {
		[INQUIRY_TEXT] = "Your answer",
		[INQUIRY_CHOICE] = "A number, or your own words",
		[INQUIRY_SEVERAL] = "Numbers like 1,3, or your own words",
	};

	snprintf(out, size, "%s (Enter %s): ", how[item->kind],
		 item->required ? "declines" : "skips it");
}

/* Marks the choices that line lists by number. False: line is not a list of
 * numbers. *bad: a number is out of range. */
static bool mark_numbers(struct inquiry_item *item, struct str line, bool *bad)
{
	struct str word;
	size_t n = 0;

	*bad = false;
	memset(item->chosen, 0, sizeof(item->chosen));
	while (str_split(&line, ',', &word)) {
		int64_t number;

		if (!str_to_int(str_trim(word), &number))
			return false;
		if (number < 1 || number > (int64_t)item->n_choices)
			*bad = true;
		else
			item->chosen[number - 1] = true;
		n++;
	}
	return n == 1 || item->kind == INQUIRY_SEVERAL;
}

/* Stores the line as the item's answer. False: ask again. */
static bool store_answer(struct inquiry_item *item, struct str line)
{
	bool bad = false;

	if (item->n_choices && mark_numbers(item, line, &bad)) {
		if (bad)
			fprintf(stderr, "Choose 1 to %zu.\n", item->n_choices);
		return !bad;
	}
	memset(item->chosen, 0, sizeof(item->chosen));
	if (line.len > INQUIRY_ANSWER_BYTES) {
		fputs("The answer is too long.\n", stderr);
		return false;
	}
	sanitize_text(line, &item->answer);
	return true;
}

/* Reads one answer. Returns the same values as chat_read_line(); 1 with
 * *declined means that nothing was typed. */
static int read_answer_inquire(struct chat_input *in, struct inquiry_item *item,
			       struct buf *early, bool *declined)
{
	char prompt[128];
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	struct str text;
	bool taken = false;
	int rc;

	format_prompt(item, prompt, sizeof(prompt));
	do {
		buf_clear(&line);
		rc = chat_read_answer(in, early, prompt, &line);
		text = str_trim(buf_str(&line));
		*declined = rc > 0 && !text.len;
		if (rc > 0 && text.len)
			taken = store_answer(item, text);
	} while (rc > 0 && !*declined && !taken);
	buf_release(&line);
	return rc;
}

int chat_inquire(struct chat_input *in, struct inquiry *q,
		 enum inquiry_end *end, const struct stop *stop,
		 struct error *err)
{
	struct buf early = BUF_INIT(CHAT_MAX_LINE);
	bool declined = false;
	int rc = 1;

	*end = INQUIRY_NOBODY;
	if (!isatty(STDIN_FILENO))
		return 0;
	for (size_t i = 0; rc > 0 && i < q->n; i++) {
		print_item(q, i);
		if (!i)
			save_typed_text(in, &early);
		rc = read_answer_inquire(in, &q->items[i], &early, &declined);
		if (rc > 0 && declined && q->items[i].required)
			break;
		declined = false;
	}
	restore_typed_text(in, &early);
	if (rc > 0)
		*end = declined ? INQUIRY_DECLINED : INQUIRY_ANSWERED;
	return rc < 0 ? stop_check(stop, err) : 0;
}

enum {
	SHOWN_MOST = 18, /* rows: with the question, a screen of 24 lines */
	CELL_MOST = 16,  /* width of a column */
};

/* Returns a cell of an item of a list with columns; empty for NULL. */
static struct str cell_of(const struct fuzzy_item *item, size_t column)
{
	struct str rest = item ? item->cells : (struct str){ 0 };
	struct str cell = { 0 };

	for (size_t i = 0; i <= column; i++)
		if (!str_split(&rest, '\t', &cell))
			return (struct str){ 0 };
	cell.len = width_prefix(cell, CELL_MOST);
	return cell;
}

static size_t measure_column(const struct pick *p, size_t column)
{
	size_t width = strlen(p->view->columns[column].title);

	for (size_t i = 0; i < p->n; i++) {
		size_t cells = width_cells(cell_of(&p->items[i], column));

		width = cells > width ? cells : width;
	}
	return width;
}

/* Prints the cells of an item; NULL: the titles of the columns. */
static void print_cells(const struct pick *p, const struct fuzzy_item *item)
{
	for (size_t c = 0; p->view && c < p->view->n_columns; c++) {
		struct str cell = item ? cell_of(item, c)
				       : str_of(p->view->columns[c].title);
		int pad = (int)(measure_column(p, c) - width_cells(cell));
		bool right = p->view->columns[c].right;

		fprintf(stderr, "%*s%.*s%*s  ", right ? pad : 0, "",
			(int)cell.len, cell.len ? cell.ptr : "",
			right ? 0 : pad, "");
	}
}

static void print_titles(const struct pick *p)
{
	if (!p->view)
		return;
	fputs("     ", stderr);
	print_cells(p, NULL);
	fprintf(stderr, "%s\n", p->view->name);
}

/* Prints the title of the group that begins at order[at], if one does. */
static void print_group(const struct pick *p, const size_t *order, size_t at)
{
	unsigned group = p->items[order[at]].group;

	if (p->view && p->view->groups[group] &&
	    (!at || p->items[order[at - 1]].group != group))
		fprintf(stderr, "     %s\n", p->view->groups[group]);
}

static void print_item_choose(const struct pick *p, size_t i)
{
	const struct fuzzy_item *item = &p->items[i];

	fprintf(stderr, "%3zu  ", i + 1);
	print_cells(p, item);
	fprintf(stderr, "%.*s  %.*s\n", (int)item->name.len,
		item->name.len ? item->name.ptr : "", (int)item->summary.len,
		item->summary.len ? item->summary.ptr : "");
}

static bool is_hidden(const struct pick *p, size_t i)
{
	return p->view && p->items[i].group == LIST_GROUPS - 1 &&
	       p->items[0].group != LIST_GROUPS - 1;
}

/* Returns the index of the only match, or prints all matches and returns -1.
 * Items of the hidden group are printed if "*" or letters were typed. */
static int find_only_match(const struct pick *p, struct str letters)
{
	bool all = str_is(letters, "*");
	size_t *order = xcalloc(p->n, sizeof(*order));
	size_t n = fuzzy_rank(all ? STR("") : letters, p->items, p->n, order,
			      p->n);
	int only = n == 1 ? (int)order[0] : -1;
	size_t hidden = 0;

	while (!letters.len && n && is_hidden(p, order[n - 1])) {
		n--;
		hidden++;
	}
	if (n && letters.len && str_eq(p->items[order[0]].name, letters))
		only = (int)order[0];
	if (only < 0 && !n)
		fputs("Nothing matches.\n", stderr);
	if (only < 0 && n)
		print_titles(p);
	for (size_t i = 0; only < 0 && i < n && i < SHOWN_MOST; i++) {
		if (all || !letters.len)
			print_group(p, order, i);
		print_item_choose(p, order[i]);
	}
	if (only < 0 && n > SHOWN_MOST)
		fprintf(stderr, "     ... and %zu more\n", n - SHOWN_MOST);
	if (only < 0 && hidden)
		fprintf(stderr, "     ... and %zu %s; * lists them\n", hidden,
			p->view->hidden);
	if (only < 0 && letters.len && p->typed)
		fprintf(stderr, "%3zu  %.*s  use it as typed\n", p->n + 1,
			(int)letters.len, letters.ptr);
	free(order);
	return only;
}

/* Reads a line and finds the item that it means. Returns 1 if an item was
 * chosen, 0 to ask again, -1 for no choice. */
static int read_choice(const struct pick *p, struct chat_input *in,
		       struct buf *early, int *chosen)
{
	char *prompt = xasprintf(
		"%s: type a number, or letters to search (Enter cancels): ",
		p->title);
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	struct str word;
	int64_t number;
	int rc = -1;

	if (chat_read_answer(in, early, prompt, &line) == 1) {
		word = str_trim(buf_str(&line));
		rc = word.len ? 0 : -1;
		if (str_to_int(word, &number) && number >= 1 &&
		    number <= (int64_t)(p->n + (p->typed && p->typed->len)))
			*chosen = (int)number - 1;
		else if (word.len)
			*chosen = find_only_match(p, word);
		/* Offered again as the item after the last one. */
		if (p->typed && *chosen < (int)p->n) {
			buf_clear(p->typed);
			if (*chosen < 0)
				buf_addstr(p->typed, word);
		}
		rc = *chosen >= 0 ? 1 : rc;
	}
	free(prompt);
	buf_release(&line);
	return rc;
}

int choose_line(const struct pick *p, struct chat_input *in)
{
	struct buf early;
	int chosen = -1;
	int rc;

	save_typed_text_now(in, &early);
	if (p->n)
		(void)find_only_match(p, (struct str){ 0 });
	if (p->n == 1)
		print_item_choose(p, 0);
	do
		rc = p->n ? read_choice(p, in, &early, &chosen) : -1;
	while (rc == 0);
	restore_typed_text(in, &early);
	return rc == 1 ? chosen : -1;
}

int choice_ask_lines(void *arg, const struct app_question *q, struct error *err)
{
	const struct choice_lines *c = arg;
	struct stop stop = app_stop(c->app);
	char *prompt = xasprintf("%s [%s] ", q->text, q->choices);
	const struct cancel *cancel = c->input->cancel;
	int64_t until = c->input->until;
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	struct buf advice = BUF_INIT(CHAT_MAX_LINE + 1024);
	struct buf early;
	int answer = ASK_NO_CHOICE;
	int rc;

	c->input->until = 0;
	if (q->stop) {
		c->input->cancel = q->stop->cancel;
		c->input->until = q->stop->deadline;
	}
	save_typed_text(c->input, &early);
	do {
		buf_clear(&line);
		rc = chat_read_answer(c->input, &early, prompt, &line);
		if (rc > 0)
			answer = ask_parse_choice(q, buf_str(&line));
		if (rc > 0 && answer == ASK_NO_CHOICE && q->drafts &&
		    slash_is(c->app, buf_str(&line), "/quit")) {
			c->input->quits = true;
			rc = 0;
		}
		/* A line that is not an answer was meant as a message. */
		if (rc > 0 && answer == ASK_NO_CHOICE && q->gives_way) {
			buf_addf(&early, "%s\n", line.ptr);
			answer = (int)q->safe;
		} else if (rc > 0 && answer == ASK_NO_CHOICE && q->drafts) {
			buf_addf(&early, "%s\n", line.ptr);
			fputs("Saved as your next message. ", stderr);
		}
		if (rc > 0 && answer == ASK_NO_CHOICE) {
			buf_clear(&advice);
			ask_add_advice(q, q->drafts ? STR("") : buf_str(&line),
				       &advice);
			fprintf(stderr, "%s\n", advice.ptr);
		}
	} while (rc > 0 && answer == ASK_NO_CHOICE);
	restore_typed_text(c->input, &early);
	c->input->cancel = cancel;
	c->input->until = until;
	if (rc <= 0)
		fputc('\n', stderr);
	if (rc <= 0 && stop_check(&stop, err) == 0)
		error_set(err, ERR_CANCELLED, "no answer");
	free(prompt);
	buf_release(&line);
	buf_release(&advice);
	return rc > 0 ? answer : -1;
}
