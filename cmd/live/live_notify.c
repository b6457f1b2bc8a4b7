/* live_notify.c - a bell for a user who does not look at the chat. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "cmd/live/live_impl.h"

enum { MOST_S = 86400 };

void live_notify_load(struct live *l)
{
	const struct settings *set = l->run->app->settings;
	const char *way = NULL;
	int64_t seconds = 0;
	struct error err = { 0 };

	if (settings_string(set, NULL, "ui.notify", &way, &err) < 0 ||
	    settings_int(set, NULL, "ui.notify_after", &seconds, &err) < 0)
		(void)app_fail(l->run->app, &err);
	else if (!notify_parse(str_of(way), &l->notify.way))
		app_warn("[ui] notify = \"%s\": use bell, desktop or off", way);
	if (seconds < 0 || seconds > MOST_S) {
		app_warn("[ui] notify_after = %lld: use seconds, 0 to %d",
			 (long long)seconds, MOST_S);
		l->notify.way = NOTIFY_OFF;
	}
	l->notify.after_ms = seconds * 1000;
}

void live_notify_focus(struct live *l, bool has)
{
	l->notify.focus = has ? LIVE_FOCUS_HERE : LIVE_FOCUS_ELSEWHERE;
}

/* When the user counts as away. */
static int64_t away_at(const struct live *l)
{
	int64_t last = l->typed > l->began ? l->typed : l->began;

	return last + l->notify.after_ms;
}

static void ring(struct live *l, enum notify_event event)
{
	if (l->notify.focus != LIVE_FOCUS_HERE && !l->lent && !l->gone)
		(void)tty_write(&l->screen.tty,
				notify_text(l->notify.way, event));
}

void live_notify_turn(struct live *l)
{
	bool listed = l->now.kind == JOB_FILES || l->now.kind == JOB_ARGUMENTS;

	if (l->notify.way != NOTIFY_OFF && !listed && clock_ms() >= away_at(l))
		ring(l, NOTIFY_TURN);
}

int64_t live_notify_at(const struct live *l)
{
	return live_has_question(l) && l->notify.rang != l->opened &&
			       l->notify.way != NOTIFY_OFF
		       ? away_at(l)
		       : INT64_MAX;
}

void live_notify_question(struct live *l, int64_t now)
{
	if (now < live_notify_at(l))
		return;
	l->notify.rang = l->opened;
	ring(l, NOTIFY_QUESTION);
}
