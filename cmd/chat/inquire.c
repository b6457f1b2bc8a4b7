/* inquire.c - what the model asks the user, in the chat of lines. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/inquire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/str.h"

enum { SHOWN_BYTES = 16 << 10 };

/* Lines of the model's, each behind an indent: none looks like one of ours. */
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

/* Marks the choices whose numbers stand in line; false: it is no list of
 * numbers. *bad: one of them is no choice. */
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

/* False: ask again. */
static bool take_line(struct inquiry_item *item, struct str line)
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

/* As chat_read_line(); 1 with *declined: nothing was typed. */
static int read_answer(struct chat_input *in, struct inquiry_item *item,
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
			taken = take_line(item, text);
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
			chat_set_aside(in, &early);
		rc = read_answer(in, &q->items[i], &early, &declined);
		if (rc > 0 && declined && q->items[i].required)
			break;
		declined = false;
	}
	chat_put_back(in, &early);
	if (rc > 0)
		*end = declined ? INQUIRY_DECLINED : INQUIRY_ANSWERED;
	return rc < 0 ? stop_check(stop, err) : 0;
}
