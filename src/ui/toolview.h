/* toolview.h - a call of a tool as rows: while it runs, and when it is done. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_TOOLVIEW_H
#define UI_TOOLVIEW_H

#include "agent/agent.h"
#include "term/rows.h"
#include "term/theme.h"

struct toolview {
	char *id; /* owned */
	char *name;
	const struct tool *tool; /* NULL: the model made it up */
	struct buf summary;      /* what matters of the arguments */
	int64_t started;         /* ms, of the caller's clock */
	struct buf tail;         /* the last output */
	struct buf rest;         /* what follows it, and may still change */
	size_t lines;            /* ended lines of output */
	size_t bytes;
	bool mid_line;
};

enum {
	TOOLVIEW_TAIL = 64 << 10, /* bytes of output that are kept */
	TOOLVIEW_ROWS = 5,        /* rows of it that are seen */
	TOOLVIEW_DIFF = 40,       /* rows of an edit that are shown */
};

struct toolview_look {
	const struct theme *theme; /* borrowed */
	size_t columns;
};

void toolview_begin(struct toolview *v, const struct part *call, int64_t now);
/* rest: in the place of what was the rest so far. */
void toolview_output(struct toolview *v, struct str text, struct str rest);
/* The line of the call and the end of its output. */
void toolview_live(const struct toolview *v, const struct toolview_look *look,
		   int64_t now, struct rows *out);
/* The line of the call and how it ended; ev: EVENT_TOOL_RESULT, or NULL: it was
 * stopped. */
void toolview_done(const struct toolview *v, const struct agent_event *ev,
		   const struct toolview_look *look, int64_t now,
		   struct rows *out);
/* The line alone. */
void toolview_line(const struct toolview *v, const struct toolview_look *look,
		   struct rows *out);
/*
 * Appends what a call changes in a file; false: it is no such tool. change:
 * what it did there, whose lines are numbered then; NULL: it is not known, and
 * the arguments tell.
 */
bool toolview_diff(const struct part *call, const struct tool_change *change,
		   const struct toolview_look *look, struct rows *out);
void toolview_release(struct toolview *v);

#endif
