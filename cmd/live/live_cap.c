/* live_cap.c - a sandbox that costs while nothing happens in the chat. */
/* SPDX-License-Identifier: MIT */
#include "cmd/live/live_impl.h"
#include "cmd/money/run_money.h"

/* The meter is made while the chat opens, and counts to the confirmed end; what
 * works watches the cap itself. */
static bool is_waiting(const struct live *l)
{
	return !l->over && !l->unopened &&
	       (l->state == LIVE_IDLE ||
		(l->state == LIVE_WORKING && live_is_asked(l)));
}

int64_t live_cap_at(const struct live *l)
{
	if (!is_waiting(l))
		return INT64_MAX;
	return l->state == LIVE_IDLE ? run_money_asks_at(l->run)
				     : run_money_ends_at(l->run);
}

void live_end_at_cap(struct live *l)
{
	l->over = true;
	l->status = SLASH_CAP_STATUS;
}

void live_watch_cap(struct live *l)
{
	if (live_cap_at(l) > clock_ms())
		return;
	if (l->state == LIVE_IDLE) {
		live_ask_cap(l);
		return;
	}
	/* nobody has answered */
	if (l->now.kind != JOB_CAP)
		live_say(l, (struct style){ 0, STYLE_WARN },
			 "The sandbox has used up the cap (--max-usd), and "
			 "the question was not answered: the chat ends.");
	live_end_at_cap(l);
	live_stop_job(l);
}
