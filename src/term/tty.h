/* tty.h - the terminal as a device: raw mode, its way back, bounded writes. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_TTY_H
#define TERM_TTY_H

/*
 * For the chat with a screen: changes the modes of the terminal, and puts them
 * back whatever ends the program. screen.h draws on it. Begin reading at
 * tty_open().
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* One terminal of the process can be open at a time: signal handlers put it
 * back. */
struct tty {
	int out;    /* own non-blocking description of the terminal */
	bool owned; /* out was opened here, it is not the caller's */
	bool plain; /* knows ECMA-48 only: no queries, no modes of xterm */
	int wake;   /* readable after SIGWINCH and SIGCONT */
	struct buf unsent;
};

enum { TTY_MAX_UNSENT = 16 << 20 };

/*
 * Makes the terminal of in raw and turns on bracketed paste, reports of the
 * focus and the kitty keyboard's flag 1. Asks for the kitty flags, the
 * background colour and, last, the device attributes: the answers come as
 * input. From here on exit(), fatal signals, abort() and SIGTSTP put the
 * terminal back, SIGCONT takes it again; signals that somebody handles already
 * stay theirs. -1 when in or out is no terminal.
 */
int tty_open(struct tty *t, int in, int out, struct error *err);
/* Back as it was before tty_open(); the handlers stay and do nothing. */
void tty_close(struct tty *t);
/* Cooked mode for somebody else, and ours again. */
void tty_leave(struct tty *t);
void tty_enter(struct tty *t);
/* False when the terminal does not tell; 80 and 24 then. */
bool tty_size(const struct tty *t, size_t *columns, size_t *lines);
/*
 * Sends what is left of earlier frames, then this one, as far as the terminal
 * takes it without blocking; the rest is kept. 0 all is out; 1 not yet: again
 * when out is writable; -1 the terminal is gone.
 */
int tty_write(struct tty *t, struct str frame);
/* The same until all is out or so many milliseconds have passed. */
int tty_drain(struct tty *t, int ms);
/* For a terminal that answered CSI c but not CSI ? u: modifyOtherKeys 2. */
void tty_use_modify_other_keys(struct tty *t);
/* True once after the process was stopped and the terminal is ours again. What
 * was on the screen is unknown then. */
bool tty_was_stopped(void);
/* Empties wake. */
void tty_woken(const struct tty *t);
/* How many rows the cursor is below the first of what tty_restore() erases;
 * negative: unknown, nothing is erased. */
void tty_set_above(int rows);
/* Puts the terminal back; does nothing when it is. Async-signal-safe, takes at
 * most half a second. */
void tty_restore(void);

enum notify_way { NOTIFY_OFF, NOTIFY_BELL, NOTIFY_DESKTOP, N_NOTIFY_WAYS };
enum notify_event { NOTIFY_TURN, NOTIFY_QUESTION };

/* "off", "bell", "desktop"; false when it is none. */
bool notify_parse(struct str name, enum notify_way *found);
/*
 * What to send to the terminal: constants. NOTIFY_DESKTOP is OSC 777 of rxvt
 * where TERM or VTE_VERSION say that it is known, else OSC 9 of iTerm2, which
 * most others have; in tmux both are passed through, where its
 * allow-passthrough lets them, behind a bell.
 */
struct str notify_text(enum notify_way way, enum notify_event event);

#endif
