/* toolview.h - one tool call as rows: while it runs, when it is done, in full.
 */
/* SPDX-License-Identifier: MIT */
#ifndef UI_CALLS_TOOLVIEW_H
#define UI_CALLS_TOOLVIEW_H

/*
 * The transcript has a view for each unfinished call. Begin reading at
 * toolview_done(), which adds the rows that stay on the screen.
 */
#include "agent/agent.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/tool.h"
#include "ui/calls/call_log.h"

/* The display of one tool call. */
struct toolview {
	char *id; /* owned */
	char *name;
	char *args; /* NULL: unknown, or too long to store */
	bool bad_args;
	const struct tool *tool; /* NULL: a tool that does not exist */
	char *workdir;           /* where the tools run, or NULL */
	struct buf summary;      /* the most important arguments */
	char size[48];           /* of an edit: " +3 -1"; or empty */
	int64_t started;         /* ms, of the caller's clock */
	struct buf tail;         /* the end of the output */
	struct buf rest;         /* unfinished end of the output, may change */
	struct buf output;       /* the beginning of the output */
	size_t cut;              /* bytes of output after that */
	size_t lines;            /* complete lines of output */
	size_t bytes;
	bool mid_line;
	struct buf doing;    /* of a subagent: its newest call, or the like */
	int64_t doing_since; /* ms, of the caller's clock */
	struct subagent_progress progress;
};

enum {
	TOOLVIEW_ASKED = -1,      /* the time while a question is open */
	TOOLVIEW_TAIL = 64 << 10, /* bytes of output that are stored */
	TOOLVIEW_ROWS = 5,        /* rows of output shown while the call runs */
	TOOLVIEW_DIFF = 40,       /* rows of an edit that are shown */
	TOOLVIEW_FILE = 10,       /* of a file that the call has created */
	/* lines of output that stay on the screen, see toolview_look.lines */
	TOOLVIEW_LINES = 5,
	TOOLVIEW_FAILED = 12,      /* of a command that failed, at least */
	TOOLVIEW_MOST_LINES = 200, /* highest value of toolview_look.lines */
};

struct toolview_look {
	const struct theme *theme; /* borrowed */
	size_t columns;
	size_t lines; /* last lines of a command's output that stay */
	/* of toolview_full(): where the tools run now; borrowed, or NULL */
	const char *workdir;
};

/* Initialises the view of a call that begins now. Times are in ms of the
 * caller's clock. workdir: where the tools run, as in tool_summary_add(). */
void toolview_begin(struct toolview *v, const struct part *call,
		    const char *workdir, int64_t now);
void toolview_release(struct toolview *v);
/* Appends text to the output. rest replaces the unfinished end from the
 * previous call. */
void toolview_output(struct toolview *v, struct str text, struct str rest);
/* Sets what the subagent that the call started is doing. ev:
 * EVENT_SUBAGENT. */
void toolview_activity(struct toolview *v, const struct agent_event *ev,
		       int64_t now);
/* Adds ms to the times at which the call, and what its subagent is doing, have
 * begun. */
void toolview_postpone(struct toolview *v, int64_t ms);
/* Adds the call's line and the last rows of its output so far. now:
 * TOOLVIEW_ASKED while the user is asked, because then no call runs. */
void toolview_live(const struct toolview *v, const struct toolview_look *look,
		   size_t rows, int64_t now, struct rows *out);
/* Copies what is stored of the call. Of a call that printed nothing, and of a
 * subagent, result is added to the output. */
void toolview_record(const struct toolview *v, struct str result, int64_t now,
		     struct call_record *out);
/* Adds the call's line and its result. ev: EVENT_TOOL_RESULT, or NULL if the
 * call was stopped. */
void toolview_done(const struct toolview *v, const struct agent_event *ev,
		   const struct toolview_look *look, int64_t now,
		   struct rows *out);

/*
 * Appends the edit that a call makes in a file. Returns false if the tool does
 * not edit. change: the edit that was made, shown with line numbers; NULL:
 * unknown, so it is derived from the arguments.
 */
bool toolview_diff(const struct part *call, const struct tool_change *change,
		   const struct toolview_look *look, struct rows *out);

/* Appends the call, its arguments or its whole edit, and its whole output. */
void toolview_full(const struct call_record *r,
		   const struct toolview_look *look, struct rows *out);
/* Appends the call's title, and so many lines of its edit or of the end of its
 * output. */
void toolview_preview(const struct call_record *r,
		      const struct toolview_look *look, size_t lines,
		      struct buf *out);

#endif
