/* turn.c - what a turn has taken so far: time, calls, tokens and cost. */
/* SPDX-License-Identifier: MIT */
#include "ui/progress/turn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ui/summary.h"

enum {
	BYTES_PER_TOKEN = 4, /* of an answer whose usage is not known yet */
};

/* meter_each() callback: adds the tokens of one model. What a model reads from
 * its cache again for each call is not counted. */
static void add_tokens(void *arg, const struct meter_line *l)
{
	int64_t *tokens = arg;

	*tokens += l->usage.input + l->usage.cache_write + l->usage.output;
}

static int64_t count_tokens(struct meter *m)
{
	int64_t tokens = 0;

	if (m)
		meter_each(m, add_tokens, &tokens);
	return tokens;
}

static struct meter_total read_total(struct meter *m)
{
	struct meter_total total = { 0 };

	if (m)
		meter_total(m, &total);
	return total;
}

void turn_begin(struct turn *t, struct meter *m, int64_t now)
{
	*t = (struct turn){ .began = now,
			    .tokens = count_tokens(m),
			    .cost = read_total(m).model };
}

/* Sets the step. Returns false if it is the same as before. */
static bool set_step(struct turn *t, const char *doing)
{
	if (!strcmp(t->doing, doing))
		return false;
	snprintf(t->doing, sizeof(t->doing), "%s", doing);
	return true;
}

static bool begin_call(struct turn *t, const struct agent_event *ev)
{
	t->running += !ev->edited;
	t->calls += !ev->edited;
	snprintf(t->doing, sizeof(t->doing), "running %.40s",
		 ev->call && ev->call->name ? ev->call->name : "a tool");
	return true;
}

enum { MINUTE_MS = 60000 };

/* Writes "attempt 2 of 5", or "attempt 2 (for up to 9 min)". */
static void name_retry(const struct model_wait *w, char *out, size_t size)
{
	if (w->left_ms > 0)
		snprintf(out, size, "attempt %d (for up to %d %s)",
			 w->attempt + 1,
			 (int)(w->left_ms < 2 * MINUTE_MS
				       ? (w->left_ms + 999) / 1000
				       : (w->left_ms + MINUTE_MS - 1) /
						 MINUTE_MS),
			 w->left_ms < 2 * MINUTE_MS ? "s" : "min");
	else if (w->of)
		snprintf(out, size, "attempt %d of %d", w->attempt + 1,
			 w->of + 1);
	else if (w->attempt)
		snprintf(out, size, "attempt %d", w->attempt + 1);
	else
		snprintf(out, size, "trying again");
}

bool turn_event(struct turn *t, const struct agent_event *ev)
{
	switch (ev->kind) {
	case EVENT_TEXT:
		t->arrived += ev->text.len;
		return set_step(t, "answering");
	case EVENT_THINKING:
		t->arrived += ev->text.len;
		return set_step(t, "thinking");
	case EVENT_TURN:
		t->arrived = 0; /* the meter has counted it */
		return false;
	case EVENT_RESTART:
		t->arrived = 0;
		if (!ev->thought)
			name_retry(&ev->wait, t->doing, sizeof(t->doing));
		return true;
	case EVENT_TOOL_CALL:
		return begin_call(t, ev);
	case EVENT_TOOL_RESULT:
		t->running -= t->running > 0;
		return !t->running && set_step(t, "waiting for the model");
	case EVENT_COMPACT:
		return set_step(t, ev->compact.over ? "waiting for the model"
						    : "compacting");
	default:
		return false;
	}
}

/* Returns the tokens of the turn so far. Those of an answer that is being
 * received, or was cut, are estimated. */
static int64_t turn_tokens(const struct turn *t, struct meter *m)
{
	return count_tokens(m) - t->tokens +
	       (int64_t)t->arrived / BYTES_PER_TOKEN;
}

void turn_add_progress(const struct turn *t, struct meter *m, int64_t now,
		       struct buf *out)
{
	int64_t ms = now - t->began - t->waited;

	if (ms < 60000) /* tenths of a second would only distract */
		buf_addf(out, "%" PRId64 " s", ms / 1000);
	else
		summary_add_time(ms, out);
	summary_add_tokens(turn_tokens(t, m), out);
}

void turn_add_end(const struct turn *t, struct meter *m, int64_t now,
		  const char *what, bool cost, struct buf *out)
{
	struct meter_total total = read_total(m);
	char room[MONEY_SIZE];

	buf_addf(out, "%s ", what);
	summary_add_time(now - t->began - t->waited, out);
	if (t->calls)
		buf_addf(out, ", %zu call%s", t->calls,
			 t->calls == 1 ? "" : "s");
	summary_add_tokens(turn_tokens(t, m), out);
	if (cost && total.model > t->cost && !total.model_unpriced)
		buf_addf(out, ", %s", money_short(total.model - t->cost, room));
}
