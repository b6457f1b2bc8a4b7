/* cost.c - what the chat has cost, and whether it goes on beyond its cap. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd/run/run_money.h"
#include "cmd/slash/slash_cmd.h"
#include "model/money/money.h"

bool slash_raise_cap(void *arg)
{
	struct run *r = arg;
	struct meter_total t;
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];
	char more[MONEY_SIZE];
	char title[200];
	char go_on[64];
	int64_t next;
	struct fuzzy_item shown[2];
	struct pick pick = { .title = title, .items = shown, .n = 2 };

	if (!r->pick)
		return false;
	meter_total(r->app->meter, &t);
	if (t.most && t.cap >= t.most) {
		fprintf(stderr,
			"The policy of this machine allows no more than %s in "
			"one run.\n",
			money_exact(t.most, cap));
		return false;
	}
	next = t.cap + (r->cap_step ? r->cap_step : t.cap);
	if (t.most && next > t.most)
		next = t.most;
	if (!r->cap_step)
		r->cap_step = t.cap;
	snprintf(title, sizeof(title), "Spent %s of %s",
		 money_exact(t.model + t.sandbox, spent),
		 money_exact(t.cap, cap));
	snprintf(go_on, sizeof(go_on), "go on to %s", money_exact(next, more));
	shown[0] = (struct fuzzy_item){ .name = str_of(go_on) };
	shown[1] = (struct fuzzy_item){ .name = str_of("stop here") };
	if (r->pick(r->ui.arg, &pick) != 0)
		return false;
	meter_set_cap(r->app->meter, next);
	return true;
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
