/* transcript.h - agent events as rows: finished ones, and those that move. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_TRANSCRIPT_H
#define UI_TRANSCRIPT_H

/*
 * The chat with a screen feeds it the events of the agent, prints the rows that
 * are done, and draws what transcript_live() adds. Begin reading at
 * transcript_event().
 */
#include "agent/agent.h"
#include "markup/markdown.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"

/* A call of a tool that is shown. */
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

enum transcript_part {
	TRANSCRIPT_NOTHING = 0,
	TRANSCRIPT_USER,
	TRANSCRIPT_TEXT,
	TRANSCRIPT_TOOL,
	TRANSCRIPT_NOTE,
	TRANSCRIPT_END, /* of an answer */
};

/* One thread's. Times are ms of the caller's clock. */
struct transcript { /* transcript_init() */
	struct toolview_look look;
	struct rows done;   /* the caller prints these and clears them */
	bool show_thinking; /* in full; else only how it begins */
	/* its own */
	struct markdown markdown;
	bool answering;         /* text of this answer has come */
	struct buf thinking;    /* of this answer, its beginning */
	size_t thought;         /* bytes of it */
	struct toolview *views; /* calls that are not done */
	struct todos todos;     /* as this turn set them, or none */
	size_t n_views;
	enum transcript_part last; /* what done ends in */
	/* The newest call. */
	struct toolview newest;   /* its line */
	struct part newest_call;  /* id, name and args: copies */
	struct buf newest_output; /* its beginning */
	struct buf newest_rest;   /* what follows it for now */
	struct tool_change newest_change;
	size_t newest_cut; /* bytes that found no room */
};

enum {
	TRANSCRIPT_FULL = 1 << 20,      /* bytes of a call's output kept */
	TRANSCRIPT_THINKING = 64 << 10, /* bytes of thinking kept */
};

void transcript_init(struct transcript *t, const struct theme *theme,
		     size_t columns);
/* For what comes from now on. */
void transcript_width(struct transcript *t, size_t columns);
/* What the user has sent. */
void transcript_user(struct transcript *t, struct str text);
void transcript_event(struct transcript *t, const struct agent_event *ev,
		      int64_t now);
/* Calls that are not done have waited for the user so long, ms: it is no part
 * of the time that they take. None runs while one is asked about. */
void transcript_waited(struct transcript *t, int64_t ms);
/* The turn is over, whether by its end, an error or the user: all is done. */
void transcript_end_turn(struct transcript *t, int64_t now);
/* Appends what is not done yet, at most the last max rows of it. */
void transcript_live(struct transcript *t, size_t max, int64_t now,
		     struct rows *out);
/* Appends the newest call in full: arguments, or what it changes, and output;
 * false: there was none. */
bool transcript_newest(const struct transcript *t, struct rows *out);
void transcript_release(struct transcript *t);

/*
 * Appends what a call changes in a file; false: it is no such tool. change:
 * what it did there, whose lines are numbered then; NULL: it is not known, and
 * the arguments tell.
 */
bool toolview_diff(const struct part *call, const struct tool_change *change,
		   const struct toolview_look *look, struct rows *out);

#endif
