/* slash_cost.c - what the chat has cost, and whether it goes on beyond its cap.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd/chat/slash_cmd.h"
#include "cmd/session/money.h"
#include "model/money.h"

/* The least that the next cap is; 0: the policy allows no more. */
static int64_t next_cap(struct run *r, const struct meter_total *t)
{
	int64_t next = t->cap + (r->cap_step ? r->cap_step : t->cap);

	if (!r->cap_step)
		r->cap_step = t->cap;
	if (!t->most || next <= t->most)
		return next;
	return t->cap < t->most ? t->most : 0;
}

static bool ask(struct run *r, const char *title, const char *no,
		size_t selected)
{
	struct meter_total t;
	char room[2][MONEY_SIZE];
	char line[200];
	char go_on[64];
	struct fuzzy_item shown[2];
	struct pick pick = { .title = line,
			     .items = shown,
			     .n = 2,
			     .selected = selected,
			     .asks = true };
	int64_t next;

	if (!r->pick)
		return false;
	meter_total(r->app->meter, &t);
	next = next_cap(r, &t);
	if (!next) {
		fprintf(stderr,
			"This machine's policy allows at most %s in one run.\n",
			money_exact(t.most, room[0]));
		return false;
	}
	snprintf(line, sizeof(line), "%s %s of %s", title,
		 money_exact(t.model + t.sandbox, room[0]),
		 money_exact(t.cap, room[1]));
	snprintf(go_on, sizeof(go_on), "go on to %s",
		 money_exact(next, room[0]));
	shown[0] = (struct fuzzy_item){ .name = str_of(go_on) };
	shown[1] = (struct fuzzy_item){ .name = str_of(no) };
	if (r->pick(r->ui.arg, &pick) != 0)
		return false;
	meter_set_cap(r->app->meter, next);
	return true;
}

bool slash_raise_cap(void *arg)
{
	return ask(arg, "Spent", "stop here", 0);
}

int slash_raise_idle(struct run *r, struct error *err)
{
	struct meter_total t;
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];

	/* a key that was meant for a message must not cost money */
	if (ask(r, "The running sandbox reaches the cap: spent",
		"leave the chat and its sandbox", 1))
		return 0;
	meter_total(r->app->meter, &t);
	return error_set(err, ERR_BUDGET,
			 "spent %s of %s (--max-usd), idle sandbox included: "
			 "the chat ends",
			 money_exact(t.model + t.sandbox, spent),
			 money_exact(t.cap, cap));
}

bool slash_cmd_cost(struct run *r, int n, char **words)
{
	struct buf out = BUF_INIT(1 << 20);

	(void)n;
	(void)words;
	run_money_print(r, &out);
	fputs(out.len ? out.ptr : "", stderr);
	buf_release(&out);
	return true;
}
