/* screen.h - a transcript that scrolls, with a live part below it. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_SCREEN_H
#define TERM_SCREEN_H

/*
 * Printed rows of the transcript stay in the terminal; the live part below is
 * erased and redrawn. Begin reading at screen_flush(), which draws all changes
 * as one frame. tty.h is the layer below.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "term/rows.h"
#include "term/theme.h"
#include "term/tty.h"

/* What a terminal does when it becomes narrower than its rows. */
enum screen_reflow {
	REFLOW_NONE, /* cuts the rows: xterm, the Linux console, GNU screen */
	REFLOW_ALL,  /* wraps the rows: tmux, VTE, kitty, foot, iTerm2, ... */
	REFLOW_XTERMJS, /* wraps all rows but one, and also moves the cursor
			   down by the rows that this adds below it: VS Code,
			   ... */
};

/* The screen, used by a single thread; the fields are private. */
struct screen {
	struct tty tty;
	const struct theme *theme; /* borrowed */
	enum screen_reflow reflow;
	bool in_tmux;
	size_t columns, lines; /* size of the terminal */
	struct rows printed;   /* printed rows not yet sent */
	struct rows live;      /* live part to be shown */
	size_t caret_row, caret_column;
	struct rows drawn; /* live part on the screen, drawn at drawn_columns
			      columns */
	size_t drawn_columns, drawn_lines;
	size_t at_row, at_column; /* cursor position in drawn */
	size_t room; /* a lower bound of the number of rows from the first row
			of drawn to the terminal's last line */
	bool caret_shown;
	bool fresh;         /* redraw everything */
	unsigned choices;   /* theme->choices of the last frame */
	bool away;          /* suspended */
	int64_t hold_until; /* no frame before this CLOCK_MONOTONIC time in ms
			     */
	struct buf frame;
};

/*
 * Opens the terminal of in: see tty_open(). The theme may change later: see
 * screen_redraw(). The cursor must be in the first column. Owned by the caller
 * until screen_close().
 */
int screen_open(struct screen *s, int in, int out, const struct theme *theme,
		struct error *err);
/* Prints the remaining rows, erases the live part and restores the terminal;
 * takes at most two seconds. */
void screen_close(struct screen *s);

/* Prints rows permanently above the live part. They should be no wider than
 * screen_columns(). */
void screen_print(struct screen *s, const struct rows *rows, size_t first,
		  size_t n);
/* Returns the bytes printed but not yet sent. Above a few megabytes, the
 * producer should wait. */
size_t screen_backlog(const struct screen *s);
/*
 * Replaces the live part. If it has more than screen_live_rows() rows, the last
 * ones are shown, or those from the caret's row on. caret_row SIZE_MAX: the
 * caret is hidden.
 */
void screen_live(struct screen *s, const struct rows *rows, size_t caret_row,
		 size_t caret_column);
/* Redraws the whole live part with the next frame, after the theme changed. */
void screen_redraw(struct screen *s);
size_t screen_columns(const struct screen *s);
/* Returns the number of screen rows that rows first to first + n - 1 fill. The
 * terminal wraps those that are longer than the screen. */
size_t screen_height(const struct screen *s, const struct rows *rows,
		     size_t first, size_t n);
size_t screen_live_rows(const struct screen *s);

/*
 * Sends all changes as one frame, with one write() in a synchronized update;
 * nothing if there are none. First checks the size: if *resized (may be NULL)
 * is set, the caller should supply live rows of the new width. Returns 0 if
 * everything was sent; 1 if not: call again as screen_wait() says; -1 if the
 * terminal is gone.
 */
int screen_flush(struct screen *s, bool *resized);
/*
 * Returns what a loop must wait for, besides input: fds[0] is readable after a
 * resize and when a stopped process continues; fds[1] is the terminal if output
 * is pending, else its fd is -1. The result is the latest time to call
 * screen_flush(), in CLOCK_MONOTONIC ms; INT64_MAX: not needed.
 */
int64_t screen_wait(const struct screen *s, struct pollfd fds[2]);

/* screen_suspend() lends the terminal in cooked mode, with the live part erased
 * and the cursor below the transcript. screen_resume() takes it back; the
 * cursor must be in the first column. */
void screen_suspend(struct screen *s);
void screen_resume(struct screen *s);
/* Stops the terminal's processes as Ctrl-Z does. Returns when they continue. */
void screen_stop(struct screen *s);

#endif
