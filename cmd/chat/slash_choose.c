/* slash_choose.c - choosing one of many in a chat of lines. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/slash_choose.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

enum { SHOWN_MOST = 30 };

static void print_item(const struct pick *p, size_t i)
{
	const struct fuzzy_item *item = &p->items[i];

	fprintf(stderr, "%3zu  %.*s  %.*s\n", i + 1, (int)item->name.len,
		item->name.len ? item->name.ptr : "", (int)item->summary.len,
		item->summary.len ? item->summary.ptr : "");
}

/* The only item, or -1 after printing all that match. */
static int narrow(const struct pick *p, struct str letters)
{
	size_t *order = xcalloc(p->n, sizeof(*order));
	size_t n = fuzzy_rank(letters, p->items, p->n, order, p->n);
	int only = n == 1 ? (int)order[0] : -1;

	if (only < 0 && !n)
		fputs("Nothing matches.\n", stderr);
	for (size_t i = 0; only < 0 && i < n && i < SHOWN_MOST; i++)
		print_item(p, order[i]);
	if (only < 0 && n > SHOWN_MOST)
		fprintf(stderr, "     ... and %zu more\n", n - SHOWN_MOST);
	free(order);
	return only;
}

/* 1 chosen, 0 ask again, -1 none. */
static int read_choice(const struct pick *p, struct chat_input *in,
		       struct buf *early, int *chosen)
{
	char *prompt =
		xasprintf("%s: number or letters, Enter for none: ", p->title);
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	struct str word;
	int64_t number;
	int rc = -1;

	if (chat_read_answer(in, early, prompt, &line) == 1) {
		word = str_trim(buf_str(&line));
		rc = word.len ? 0 : -1;
		if (str_to_int(word, &number) && number >= 1 &&
		    number <= (int64_t)p->n)
			*chosen = (int)number - 1;
		else if (word.len)
			*chosen = narrow(p, word);
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

	chat_set_aside_now(in, &early);
	if (p->n)
		(void)narrow(p, (struct str){ 0 });
	if (p->n == 1)
		print_item(p, 0);
	do
		rc = p->n ? read_choice(p, in, &early, &chosen) : -1;
	while (rc == 0);
	chat_put_back(in, &early);
	return rc == 1 ? chosen : -1;
}
