/* tty.h - the terminal as a device: raw mode, restoring it, bounded writes. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_TTY_H
#define TERM_TTY_H

/*
 * For the chat with a screen: changes the terminal's modes and restores them,
 * however the program ends. screen.h draws on it. Begin reading at tty_open().
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Only one terminal can be open at a time, because signal handlers restore it.
 */
struct tty {
	int out;    /* separate non-blocking descriptor of the terminal */
	bool owned; /* out was opened here and must be closed */
	bool plain; /* supports only ECMA-48: no queries, no xterm modes */
	int wake;   /* readable after SIGWINCH and SIGCONT */
	struct buf unsent;
};

enum {
	TTY_MAX_UNSENT = 16 << 20,
	TTY_TITLE_MOST = 256, /* bytes of a window's title */
};

/*
 * Sets raw mode on the terminal of in and turns on bracketed paste, focus
 * reports and flag 1 of the kitty keyboard protocol. Queries the kitty flags,
 * the background colour and, last, the device attributes; the replies arrive as
 * input. From now on exit(), fatal signals, abort() and SIGTSTP restore the
 * terminal, and SIGCONT sets the modes again. SIGTERM and similar signals that
 * already have a handler keep it. -1 if in or out is not a terminal.
 */
int tty_open(struct tty *t, int in, int out, struct error *err);
/*
 * Like tty_open(), but only sets raw mode, for a program that draws on the
 * terminal itself, through the filter of guest.h. At the end the filter's modes
 * are reset. A chat must have called tty_leave() before, and its terminal is
 * usable again after tty_close().
 */
int tty_open_guest(struct tty *t, int in, int out, struct error *err);
/* Call before the guest's alternate screen is turned on, and after it is turned
 * off, so that tty_restore() can leave it. */
void tty_set_alternate(bool is_on);
/* Restores the state before tty_open(). The signal handlers remain but do
 * nothing. */
void tty_close(struct tty *t);
/* tty_leave() sets cooked mode for another program; tty_enter() sets raw mode
 * again. */
void tty_leave(struct tty *t);
void tty_enter(struct tty *t);
/* Returns false, with 80 and 24, if the terminal does not report its size. */
bool tty_size(const struct tty *t, size_t *columns, size_t *lines);
/*
 * Sends the rest of earlier frames and then this one, as far as possible
 * without blocking; stores the remainder. Returns 0 if everything was sent; 1
 * if not: call again when out is writable; -1 if the terminal is gone.
 */
int tty_write(struct tty *t, struct str frame);
/* Sends until everything is out or ms have passed. Returns the same values as
 * tty_write(). */
int tty_drain(struct tty *t, int ms);
/* Sets modifyOtherKeys 2. For a terminal that answered CSI c but not CSI ? u.
 */
void tty_use_modify_other_keys(struct tty *t);
/* Sets the window's title until the terminal is restored, which brings the
 * earlier title back. title: one line without control characters. Does nothing
 * if it is longer than TTY_TITLE_MOST, or on a terminal without titles. */
void tty_set_title(struct tty *t, struct str title);
/* Sets the state in the taskbar or tab: OSC 9;4. tty_shows_progress() says
 * whether the terminal is known to support it. */
enum tty_progress { TTY_PROGRESS_NONE, TTY_PROGRESS_BUSY, TTY_PROGRESS_WAITS };
void tty_set_progress(struct tty *t, enum tty_progress progress);
bool tty_shows_progress(void);
/* Returns true once after the process was stopped and has the terminal again.
 * The screen's contents are unknown then. */
bool tty_was_stopped(void);
/* Empties wake after poll() has reported it as readable. */
void tty_woken(const struct tty *t);
/* Sets how many rows the cursor is below the first row that tty_restore()
 * erases. Negative: unknown, so nothing is erased. */
void tty_set_above(int rows);
/* Restores the terminal, if that has not been done. Async-signal-safe; takes at
 * most half a second. */
void tty_restore(void);

enum notify_way { NOTIFY_OFF, NOTIFY_BELL, NOTIFY_DESKTOP, N_NOTIFY_WAYS };

/* Parses "off", "bell" or "desktop". Returns false for any other name. */
bool notify_parse(struct str name, enum notify_way *found);
/*
 * Appends the bytes to send to the terminal; what: the text of a notification,
 * of which control characters are removed. NOTIFY_DESKTOP is OSC 777 of rxvt if
 * TERM or VTE_VERSION indicate support, else OSC 9 of iTerm2, which most
 * terminals support. In tmux OSC 9 follows a bell and is passed through, if
 * allow-passthrough is on.
 */
void notify_add(enum notify_way way, struct str what, struct buf *out);

#endif
