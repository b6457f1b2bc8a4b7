/* choice.c - a question of the program's own in either chat.
 * SPDX-License-Identifier: MIT
 */
#include "cmd/chat/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "term/rows.h"

enum { MOST_REPLY = 256 /* bytes */ };

static const struct style strong = { ATTR_BOLD, STYLE_WARN };
static const struct style plain = { 0, STYLE_PLAIN };

/* The index of what was typed, or CHOICE_OPEN. A terminal's late answer to what
 * a screen has asked it may stand before the user's: it is cut out. */
static int parse_answer(const struct app_question *q, struct str line)
{
	struct buf clean = BUF_INIT(4 * MOST_REPLY);
	int answer = CHOICE_OPEN;
	struct str word;

	sanitize_line(line, &clean);
	word = str_trim(buf_str(&clean));
	if (!word.len && !clean.over)
		answer = (int)q->usual;
	for (size_t i = 0; answer == CHOICE_OPEN && i < q->n; i++) {
		struct str name = str_of(q->answers[i]);

		if (str_is_nocase(word, q->answers[i]))
			answer = (int)i;
		name.len = 1;
		if (word.len == 1 && (word.ptr[0] | 0x20) == name.ptr[0])
			answer = (int)i;
	}
	buf_release(&clean);
	return answer;
}

/* "Please answer y or n." */
static void add_advice(const struct app_question *q, struct buf *out)
{
	buf_adds(out, "Please answer ");
	for (size_t i = 0; i < q->n; i++)
		buf_addf(out, "%s%c",
			 !i             ? ""
			 : i + 1 < q->n ? ", "
					: " or ",
			 q->answers[i][0]);
	buf_adds(out, ".");
}

int choice_ask_lines(void *arg, const struct app_question *q, struct error *err)
{
	const struct choice_lines *c = arg;
	struct stop stop = app_stop(c->app);
	char *prompt = xasprintf("%s [%s] ", q->text, q->choices);
	int64_t until = c->input->until;
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	struct buf advice = BUF_INIT(256);
	struct buf early;
	int answer = CHOICE_OPEN;
	int rc;

	c->input->until = 0;
	add_advice(q, &advice);
	chat_set_aside(c->input, &early);
	do {
		buf_clear(&line);
		rc = chat_read_answer(c->input, &early, prompt, &line);
		if (rc > 0)
			answer = parse_answer(q, buf_str(&line));
		if (rc > 0 && answer == CHOICE_OPEN && q->drafts) {
			buf_addf(&early, "%s\n", line.ptr);
			fputs("Kept as your message. ", stderr);
		}
		if (rc > 0 && answer == CHOICE_OPEN)
			fprintf(stderr, "%s\n", advice.ptr);
	} while (rc > 0 && answer == CHOICE_OPEN);
	chat_put_back(c->input, &early);
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

void choice_open(struct choice_dialog *d, const struct app_question *q)
{
	*d = (struct choice_dialog){ .asked = q,
				     .reply = BUF_INIT(MOST_REPLY) };
	for (size_t i = 0; i < q->n && i < ANSWER_ROW_MOST; i++)
		d->row.labels[d->row.n++] = q->answers[i];
	d->row.selected = q->safe;
}

void choice_close(struct choice_dialog *d)
{
	buf_release(&d->reply);
	*d = (struct choice_dialog){ 0 };
}

static int submit(struct choice_dialog *d)
{
	int answer = parse_answer(d->asked, buf_str(&d->reply));

	d->wrong = answer == CHOICE_OPEN;
	buf_clear(&d->reply);
	return answer;
}

static int on_key(struct choice_dialog *d, const struct key *key)
{
	bool ctrl = key->name == KEY_CHAR && key->mods == KEY_CTRL;

	if (ctrl && key->c == 'd')
		return d->reply.len ? CHOICE_OPEN : CHOICE_ENDED;
	if (key->name == KEY_ESCAPE && !d->reply.len)
		return d->asked->escapes ? (int)d->asked->safe : CHOICE_OPEN;
	if (key->name == KEY_ENTER)
		return d->keys == QUESTION_SELECTED && !d->reply.len
			       ? (int)d->row.selected
			       : submit(d);
	if (key->name == KEY_ESCAPE || (ctrl && key->c == 'u'))
		buf_clear(&d->reply);
	else if (key->name == KEY_BACKSPACE)
		width_drop_last(&d->reply);
	else if (d->keys == QUESTION_SELECTED)
		(void)answer_row_move(&d->row, key);
	return CHOICE_OPEN;
}

static bool begins_answer(const struct choice_dialog *d)
{
	struct str reply = buf_str(&d->reply);

	for (size_t i = 0; i < d->asked->n; i++) {
		struct str name = str_of(d->asked->answers[i]);

		if (reply.len > name.len)
			continue;
		name.len = reply.len;
		if (!strncasecmp(reply.ptr, name.ptr, name.len))
			return true;
	}
	return false;
}

int choice_event(struct choice_dialog *d, const struct key_event *ev)
{
	d->wrong = false;
	if (ev->kind == KEY_EVENT_KEY)
		return on_key(d, &ev->key);
	if (ev->kind == KEY_EVENT_TEXT) {
		struct buf clean = BUF_INIT(MOST_REPLY);

		sanitize_line(ev->text, &clean);
		if (d->reply.len + clean.len < MOST_REPLY)
			buf_addstr(&d->reply, buf_str(&clean));
		buf_release(&clean);
		if (d->asked->drafts && d->reply.len && !begins_answer(d))
			return CHOICE_DRAFT;
	}
	return CHOICE_OPEN;
}

void choice_render(const struct choice_dialog *d, size_t columns,
		   struct rows *out, size_t caret[2])
{
	struct wrap w = { .columns = columns > 1 ? columns - 1 : 1,
			  .words = true };
	bool takes = d->keys == QUESTION_LETTERS || d->reply.len;
	struct buf text = BUF_INIT(1 << 12);
	struct rows line = { 0 };
	struct rows wrapped = { 0 };
	struct buf advice = BUF_INIT(256);

	add_advice(d->asked, &advice);
	if (d->wrong) {
		rows_adds(&line, plain, advice.ptr);
		rows_end(&line);
	}
	buf_adds(&text, d->asked->text);
	if (takes)
		buf_addf(&text, " [%s] %.*s", d->asked->choices,
			 (int)d->reply.len, d->reply.len ? d->reply.ptr : "");
	rows_add(&line, strong, buf_str(&text));
	rows_close(&line);
	wrap_rows(&line, &w, &wrapped);
	rows_append(out, &wrapped, 0, wrapped.n);
	if (takes) {
		caret[0] = out->n - 1;
		caret[1] = rows_cells(&wrapped, wrapped.n - 1);
	} else if (d->keys == QUESTION_DRAFT) {
		answer_row_hint(columns, out);
	} else if (d->keys == QUESTION_SELECTED) {
		answer_row_render(&d->row, columns, out);
	}
	rows_release(&line);
	rows_release(&wrapped);
	buf_release(&text);
	buf_release(&advice);
}
