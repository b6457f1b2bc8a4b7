/* live_wait.c - what is waited for, since when, and how to stop it. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/live/live_impl.h"
#include "term/rows.h"

enum {
	MOVES_MS = 120, /* between two frames of the sign of waiting */
	MOST_LINE = 512,
	LEAST_WHAT = 24, /* cells for what is waited for, before how to stop */
};

void live_set_wait(struct live *l, const char *what)
{
	snprintf(l->wait, sizeof(l->wait), "%s", what);
	l->since = clock_ms();
	l->retries_at = 0;
}

/* Of the sandbox, while it is also the model that is waited for. */
static void set_step(struct live *l, const char *what)
{
	if (l->ahead.sent)
		snprintf(l->ahead.step, sizeof(l->ahead.step), "%s", what);
	else
		live_set_wait(l, what);
}

static void follow_line(struct live *l, struct str line)
{
	struct buf step = BUF_INIT(MOST_LINE);

	sanitize_line(line, &step);
	if (str_ends(buf_str(&step), "...")) {
		step.ptr[step.len - 3] = '\0';
		set_step(l, step.ptr);
	} else if (l->state != LIVE_CLOSING &&
		   (str_starts(buf_str(&step), "\u2713 ") ||
		    (l->theme.ascii && str_starts(buf_str(&step), "+ ")))) {
		set_step(l, "getting ready");
	}
	buf_release(&step);
}

void live_follow_lines(struct live *l, struct str lines)
{
	struct str line;
	bool steps = l->state == LIVE_OPENING || l->state == LIVE_CLOSING ||
		     (l->state == LIVE_WORKING && l->now.kind == JOB_SLASH);

	if (!steps)
		return;
	while (str_split(&lines, '\n', &line))
		follow_line(l, line);
}

static const char *way_out(const struct live *l)
{
	if (l->state == LIVE_CLOSING)
		return ", Ctrl-C twice leaves at once";
	return l->stopping ? "" : ", Esc stops it";
}

/* What is waited for in so many cells. */
static void add_what(const struct live *l, size_t room, struct rows *out)
{
	const char *more = theme_glyph(&l->theme, GLYPH_ELLIPSIS);
	const struct style muted = { 0, STYLE_MUTED };
	struct buf what = BUF_INIT(MOST_LINE);
	struct str shown;

	sanitize_line(buf_str(&l->text), &what);
	if (!what.len)
		buf_adds(&what, l->wait);
	if (l->ahead.sent)
		buf_addf(&what, "; %s", l->ahead.step);
	shown = buf_str(&what);
	if (width_cells(shown) > room) {
		shown.len = width_prefix(
			shown, room - width_cells(str_of(more)) % room);
		rows_add(out, muted, shown);
		rows_adds(out, muted, more);
	} else {
		rows_add(out, muted, shown);
	}
	buf_release(&what);
}

/* Since it began; before another try of the model, until then. */
static int64_t shown_seconds(const struct live *l)
{
	int64_t now = clock_ms();

	if (!l->retries_at)
		return (now - l->since) / 1000;
	return l->retries_at > now ? (l->retries_at - now + 999) / 1000 : 0;
}

void live_add_wait(const struct live *l, struct rows *out)
{
	const struct style muted = { 0, STYLE_MUTED };
	size_t room = screen_columns(&l->screen);
	int64_t ms = clock_ms() - l->since;
	char rest[64];

	if (l->state == LIVE_IDLE || live_is_asked(l))
		return;
	rows_adds(out, (struct style){ 0, STYLE_ACCENT },
		  theme_spinner(&l->theme, (size_t)(ms / MOVES_MS)));
	rows_add(out, muted, STR(" "));
	snprintf(rest, sizeof(rest), "  %" PRId64 " s%s%s", shown_seconds(l),
		 l->retries_at ? " left" : "", way_out(l));
	if (room < LEAST_WHAT + width_cells(str_of(rest)))
		snprintf(rest, sizeof(rest), "  %" PRId64 " s",
			 shown_seconds(l));
	room -= room > 2 ? 2 : 0;
	if (width_cells(str_of(rest)) + 4 < room) {
		add_what(l, room - width_cells(str_of(rest)), out);
		rows_adds(out, muted, rest);
	} else {
		add_what(l, room, out);
	}
	rows_end(out);
}

int64_t live_wait_moves_at(const struct live *l)
{
	int64_t now = clock_ms();

	return now + MOVES_MS - (now - l->since) % MOVES_MS;
}
