/* screen.h - a transcript that scrolls, and a live part below it. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_SCREEN_H
#define TERM_SCREEN_H

/*
 * The transcript belongs to the terminal once it is printed; the live part is
 * erased and drawn again. Begin reading at screen_flush(): it makes one frame
 * of what has changed. tty.h is the device below.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "term/rows.h"
#include "term/theme.h"
#include "term/tty.h"

/* What a terminal does to rows that are wider than it has become. */
enum screen_reflow {
	REFLOW_NONE,    /* cuts them: xterm, the Linux console, GNU screen */
	REFLOW_ALL,     /* wraps them: tmux, VTE, kitty, foot, iTerm2, ... */
	REFLOW_XTERMJS, /* wraps all but one, and moves the cursor down by the
			   rows that this adds below it, too: VS Code, ... */
};

/* The screen of one thread; the fields are its own. */
struct screen {
	struct tty tty;
	const struct theme *theme; /* borrowed */
	enum screen_reflow reflow;
	bool in_tmux;
	size_t columns, lines; /* of the terminal */
	struct rows printed;   /* not out yet */
	struct rows live;      /* as it should be */
	size_t caret_row, caret_column;
	struct rows drawn; /* as it stands, at columns drawn_columns */
	size_t drawn_columns, drawn_lines;
	size_t at_row, at_column; /* where the cursor is in drawn */
	size_t room;              /* rows from the first of drawn down to the
				     last of the terminal, at most */
	bool caret_shown;
	bool fresh;         /* all is to be drawn anew */
	bool away;          /* suspended */
	int64_t hold_until; /* CLOCK_MONOTONIC ms; no frame before */
	struct buf frame;
};

/*
 * Takes the terminal of in: tty_open(). The theme may change later: see
 * screen_redraw(). The cursor has to be in the first column. Owned by the
 * caller until screen_close().
 */
int screen_open(struct screen *s, int in, int out, const struct theme *theme,
		struct error *err);
/* Prints what is left, erases the live part and gives the terminal back; at
 * most two seconds. */
void screen_close(struct screen *s);

/* Prints rows above the live part, for good. They should be no wider than
 * screen_columns(). */
void screen_print(struct screen *s, const struct rows *rows, size_t first,
		  size_t n);
/* Bytes that were printed and are not out: let the producer wait above some
 * megabytes. */
size_t screen_backlog(const struct screen *s);
/*
 * Replaces the live part. Of more than screen_live_rows() rows the last ones
 * are shown, or those from the caret's on. caret_row SIZE_MAX: hidden.
 */
void screen_live(struct screen *s, const struct rows *rows, size_t caret_row,
		 size_t caret_column);
/* All of the live part is drawn again with the next frame: after a change of
 * the theme. */
void screen_redraw(struct screen *s);
size_t screen_columns(const struct screen *s);
size_t screen_live_rows(const struct screen *s);

/*
 * Sends one frame: one write() in a synchronized update, of what differs;
 * nothing when nothing does. Looks for a new size first: true of *resized (may
 * be NULL) asks for live rows of the new width. 0 all is out; 1 not yet: again
 * when screen_wait() says so; -1 the terminal is gone.
 */
int screen_flush(struct screen *s, bool *resized);
/*
 * What a loop has to wait for on behalf of the screen, besides input: fds[0]
 * is readable after a resize and when the process continues; fds[1] is the
 * terminal when it takes more output, else its fd is -1. Returns when to call
 * screen_flush() at the latest, CLOCK_MONOTONIC ms; INT64_MAX: no need.
 */
int64_t screen_wait(const struct screen *s, struct pollfd fds[2]);

/* Lends the terminal, cooked, with the cursor below the transcript and the live
 * part erased; and takes it again, with the cursor in the first column. */
void screen_suspend(struct screen *s);
void screen_resume(struct screen *s);
/* Stops the processes of the terminal as Ctrl-Z does; returns when they
 * continue. */
void screen_stop(struct screen *s);

#endif
