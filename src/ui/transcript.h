/* transcript.h - agent events as rows: finished ones and live ones. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_TRANSCRIPT_H
#define UI_TRANSCRIPT_H

/*
 * The chat with a screen feeds it the agent's events, prints the finished rows,
 * and draws the rows that transcript_live() appends. Begin reading at
 * transcript_event().
 */
#include "agent/agent.h"
#include "markup/markdown.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"
#include "ui/calls/call_log.h"
#include "ui/calls/toolview.h"

enum transcript_part {
	TRANSCRIPT_NOTHING = 0,
	TRANSCRIPT_USER,
	TRANSCRIPT_TEXT,
	TRANSCRIPT_TOOL,
	TRANSCRIPT_NOTE,
	TRANSCRIPT_END, /* end of an answer */
};

/* The transcript of one thread. Times are in ms of the caller's clock. */
struct transcript { /* initialise with transcript_init() */
	struct toolview_look look;
	struct rows done;   /* the caller prints these and clears them */
	bool show_thinking; /* show all of the thinking; otherwise only its
			       beginning */
	/* private */
	struct markdown markdown;
	bool answering;         /* this answer has begun to arrive */
	struct buf thinking;    /* the beginning of this answer's thinking */
	size_t thought;         /* bytes of this answer's thinking */
	struct buf retried;     /* cause of the retry shown last; empty: other
				   events have followed */
	struct toolview *views; /* unfinished calls */
	struct todos todos;     /* as set in this turn, or empty */
	size_t n_views;
	enum transcript_part last; /* kind of the last part in done */
	struct call_log log;       /* finished calls; the caller may read
				      and clear it */
};

enum {
	TRANSCRIPT_THINKING = 64 << 10, /* bytes stored of the thinking */
};

void transcript_init(struct transcript *t, const struct theme *theme,
		     size_t columns);
/* Sets the width for everything that follows. */
void transcript_width(struct transcript *t, size_t columns);
/* Adds a message of the user. */
void transcript_user(struct transcript *t, struct str text);
void transcript_event(struct transcript *t, const struct agent_event *ev,
		      int64_t now);
/* Subtracts ms from the duration of all unfinished calls, because the user was
 * being asked. No call runs during a question. */
void transcript_waited(struct transcript *t, int64_t ms);
/* If the error of a turn begins with the cause of the retries that was shown
 * last, returns what it says beyond that; else a NULL text. */
struct str transcript_beyond_retries(const struct transcript *t,
				     struct str error);
/* Ends the turn, also after an error or an interrupt, and finishes all parts.
 */
void transcript_end_turn(struct transcript *t, int64_t now);
/* Appends the unfinished parts, at most their last max rows. now may be
 * TOOLVIEW_ASKED. asked: id of a call that is left out, because a question
 * shows it; or NULL. */
void transcript_live(struct transcript *t, size_t max, int64_t now,
		     const char *asked, struct rows *out);
/* Copies the unfinished call with this number, from 0, the newest; false: there
 * is none. The caller releases it. */
bool transcript_running_call(const struct transcript *t, size_t number,
			     int64_t now, struct call_record *out);
/* Appends an unfinished call with the last rows of its output, at most max rows
 * together. False if it has finished. */
bool transcript_follow(const struct transcript *t, const struct part *call,
		       size_t max, int64_t now, struct rows *out);
void transcript_release(struct transcript *t);

#endif
