/* tty.c - the terminal as a device: raw mode, restoring it, bounded writes. */
/* SPDX-License-Identifier: MIT */
/*
 * The static struct guard contains what signal handlers need. Begin reading at
 * tty_open(), and at tty_restore(), which runs on exit() and on fatal signals.
 */
#include "term/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "term/guest.h"

enum { RESTORE_TRIES = 5, RESTORE_WAIT_MS = 100, MOST_STOPS = 100 };
enum { NOTIFY_BYTES = 512 };

#define PASTE_ON "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"
/* Focus reports: xterm, ctlseqs, "FocusIn/FocusOut". */
#define FOCUS_ON "\x1b[?1004h"
#define FOCUS_OFF "\x1b[?1004l"
/* https://sw.kovidgoyal.net/kitty/keyboard-protocol/: KITTY_ON pushes flag 1,
 * KITTY_OFF pops it. */
#define KITTY_ON "\x1b[>1u"
#define KITTY_OFF "\x1b[<u"
#define OTHER_KEYS_ON "\x1b[>4;2m"
#define OTHER_KEYS_OFF "\x1b[>4m"
/* Query the kitty flags, the background colour (OSC 11) and the device
 * attributes. */
#define QUERIES "\x1b[?u\x1b]11;?\x1b\\\x1b[c"
/* Ends an unfinished sequence, links, synchronized updates and styles; turns on
 * autowrap and shows the cursor. */
#define SANE "\x1b\\\x1b]8;;\x1b\\\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h"
#define SANE_PLAIN "\x1b[0m\x1b[?7h\x1b[?25h"
/* xterm, ctlseqs, "Window manipulation": push and pop the window's title. A
 * terminal without that stack keeps the empty title. */
#define TITLE_PUSH "\x1b[22;2t"
#define TITLE_POP "\x1b]2;\x1b\\\x1b[23;2t"
#define TITLE_BEGIN "\x1b]2;"
#define TITLE_END "\x1b\\"
/* ConEmu's progress of a task: 0 none, 3 of unknown length, 4 paused.
 * https://conemu.github.io/en/AnsiEscapeCodes.html, read on 2026-11-27. */
#define PROGRESS_NONE "\x1b]9;4;0\x1b\\"
#define PROGRESS_BUSY "\x1b]9;4;3\x1b\\"
#define PROGRESS_WAITS "\x1b]9;4;4\x1b\\"

/* State for the signal handlers. Written only while no handler is installed, or
 * in fields whose type a handler may read at any time. */
static struct terminal_guard {
	volatile sig_atomic_t active; /* raw mode is set */
	volatile sig_atomic_t open;   /* between tty_open() and tty_close(),
					 and not lent to another program */
	volatile sig_atomic_t stopped;
	volatile sig_atomic_t above;
	volatile sig_atomic_t other_keys;
	volatile sig_atomic_t title;     /* index of titles; 0: none is set */
	volatile sig_atomic_t progress;  /* enum tty_progress */
	volatile sig_atomic_t guest;     /* see tty_open_guest() */
	volatile sig_atomic_t alternate; /* the guest's alternate screen */
	/* Only the one that is not set is written to. */
	struct {
		size_t len;
		char text[TTY_TITLE_MOST];
	} titles[3];
	int in, out, wake;
	bool plain;
	struct termios cooked, raw;
} guard;
/* The chat's guard, while a guest has the terminal. */
static struct terminal_guard lent;

static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT,
			     SIGTERM, SIGHUP, SIGINT, SIGQUIT };
enum { N_FATAL = sizeof(fatal) / sizeof(*fatal) };
static struct sigaction before[N_FATAL];

/* Writes to the terminal within a limited time. Async-signal-safe. */
static void write_limited(const char *text, size_t len)
{
	struct pollfd p = { .fd = guard.out, .events = POLLOUT };

	for (int tries = 0; len && tries < RESTORE_TRIES;) {
		ssize_t n = write(guard.out, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			(void)poll(&p, 1, RESTORE_WAIT_MS);
			tries++;
		} else if (n < 0 && errno != EINTR) {
			return;
		}
	}
}

#define EMIT(literal) write_limited(literal, sizeof(literal) - 1)

/* A background process must not change the terminal's modes. */
static bool in_background(void)
{
	pid_t front = tcgetpgrp(guard.in);

	return front > 0 && front != getpgrp();
}

/* After the shell's bg, stops the process again until fg: otherwise it would
 * use the terminal at the same time as the shell. Without a shell SIGTTOU may
 * not stop the process, so the number of attempts is limited. */
static void wait_for_front(void)
{
	for (int i = 0; i < MOST_STOPS && in_background(); i++)
		(void)raise(SIGTTOU);
}

/* Erases the live part, or begins a new line if the cursor's position is
 * unknown. */
static void erase_live_part(void)
{
	int above = guard.above;

	if (above < 0) {
		EMIT("\r\n");
		return;
	}
	while (above-- > 0)
		EMIT("\x1b[A");
	EMIT("\r\x1b[K\x1b[C\x1b[J\r"); /* see ERASE_BELOW in screen.c */
}

void tty_restore(void)
{
	int saved = errno;

	if (!guard.active)
		return;
	guard.active = 0;
	if (!in_background()) {
		if (guard.alternate)
			EMIT(GUEST_ALTERNATE_OFF);
		if (guard.guest)
			EMIT(GUEST_MODES_OFF);
		if (guard.guest && !guard.plain)
			EMIT(GUEST_CURSOR_SHAPE);
		else if (guard.plain)
			EMIT(SANE_PLAIN);
		else
			EMIT(SANE PASTE_OFF FOCUS_OFF KITTY_OFF);
		if (guard.other_keys)
			EMIT(OTHER_KEYS_OFF);
		if (guard.title)
			EMIT(TITLE_POP);
		if (guard.progress)
			EMIT(PROGRESS_NONE);
		if (!guard.guest)
			erase_live_part();
		/* TCSANOW, because draining could wait for a stuck terminal. */
		(void)tcsetattr(guard.in, TCSANOW, &guard.cooked);
	}
	guard.above = 0;
	errno = saved;
}

static void enter_raw_mode(void)
{
	if (guard.active || in_background())
		return;
	(void)tcsetattr(guard.in, TCSANOW, &guard.raw);
	guard.active = 1;
	if (guard.alternate)
		EMIT(GUEST_ALTERNATE_ON);
	if (!guard.plain && !guard.guest)
		EMIT(PASTE_ON FOCUS_ON KITTY_ON);
	if (guard.other_keys)
		EMIT(OTHER_KEYS_ON);
	if (guard.title) {
		EMIT(TITLE_PUSH TITLE_BEGIN);
		write_limited(guard.titles[guard.title].text,
			      guard.titles[guard.title].len);
		EMIT(TITLE_END);
	}
	if (guard.progress == TTY_PROGRESS_BUSY)
		EMIT(PROGRESS_BUSY);
	else if (guard.progress)
		EMIT(PROGRESS_WAITS);
}

static void wake_reader(void)
{
	uint64_t one = 1;

	if (guard.open)
		(void)!io_write(guard.wake, &one, sizeof(one));
}

/* Restores the terminal, then runs the signal's previous action. */
static void on_fatal(int number)
{
	tty_restore();
	for (size_t i = 0; i < N_FATAL; i++)
		if (fatal[i] == number)
			(void)sigaction(number, &before[i], NULL);
	(void)raise(number); /* delivered when this handler returns */
}

/* Handles SIGTSTP: restores the terminal, then stops the process. */
static void on_stop(int number)
{
	struct sigaction ours;
	struct sigaction stop = { .sa_handler = SIG_DFL };
	sigset_t set;
	int saved = errno;

	tty_restore();
	sigemptyset(&stop.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, number);
	(void)sigaction(number, &stop, &ours);
	(void)raise(number);
	/* The process stops here until SIGCONT. */
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)sigaction(number, &ours, NULL);
	errno = saved;
}

/* Sets the terminal's modes again: while the process was stopped (SIGTSTP or
 * SIGSTOP), the shell changed them. */
static void on_continue(int number)
{
	int saved = errno;

	(void)number;
	if (guard.open) {
		guard.active = 0;
		wait_for_front();
		enter_raw_mode();
		guard.stopped = 1;
		wake_reader();
	}
	errno = saved;
}

static void on_resize(int number)
{
	int saved = errno;

	(void)number;
	wake_reader();
	errno = saved;
}

static void set_handler(int number, void (*handler)(int))
{
	struct sigaction act = { .sa_handler = handler,
				 .sa_flags = SA_RESTART };

	sigemptyset(&act.sa_mask);
	(void)sigaction(number, &act, NULL);
}

/* Runs once per process. Existing handlers of SIGTERM and similar signals are
 * not replaced, because they lead to exit(). Existing handlers of SIGSEGV and
 * similar signals are replaced, and on_fatal() runs them afterwards. */
static void install_handlers(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	for (size_t i = 0; i < N_FATAL; i++) {
		bool ends = fatal[i] == SIGTERM || fatal[i] == SIGHUP ||
			    fatal[i] == SIGINT || fatal[i] == SIGQUIT;

		if (sigaction(fatal[i], NULL, &before[i]) == 0 &&
		    (!ends || before[i].sa_handler == SIG_DFL))
			set_handler(fatal[i], on_fatal);
	}
	set_handler(SIGTSTP, on_stop);
	set_handler(SIGCONT, on_continue);
	set_handler(SIGWINCH, on_resize);
	mem_on_exhausted(tty_restore);
	(void)atexit(tty_restore);
}

/* True if TERM names a terminal without xterm's extensions. */
static bool is_plain(void)
{
	static const char *const names[] = { "linux", "vt", "ansi", "cons",
					     "dumb" };
	const char *term = getenv("TERM");

	if (!term || !*term)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_starts(str_of(term), names[i]))
			return true;
	return false;
}

/* O_NONBLOCK belongs to the open file description, which the shell shares. So
 * the terminal is opened a second time. */
static void open_own(struct tty *t, int out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	t->out = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	t->owned = t->out >= 0;
	if (!t->owned)
		t->out = out;
}

static void make_raw(struct termios *mode)
{
	mode->c_iflag &= (tcflag_t) ~(BRKINT | ICRNL | INLCR | IGNCR | INPCK |
				      ISTRIP | IXON);
	mode->c_lflag &= (tcflag_t) ~(ECHO | ICANON | ISIG | IEXTEN);
	mode->c_cc[VMIN] = 1;
	mode->c_cc[VTIME] = 0;
}

/* Implements tty_open() and tty_open_guest(). */
static int open_as(struct tty *t, int in, int out, bool guest,
		   struct error *err)
{
	struct termios mode;

	*t = (struct tty){ .plain = is_plain(),
			   .unsent = BUF_INIT(TTY_MAX_UNSENT) };
	if (!isatty(out) || tcgetattr(in, &mode) < 0)
		return error_errno(err, "cannot use the terminal");
	t->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->wake < 0)
		return error_errno(err, "cannot use the terminal");
	open_own(t, out);
	guard.in = in;
	guard.out = t->out;
	guard.wake = t->wake;
	guard.plain = t->plain;
	guard.cooked = mode;
	make_raw(&mode);
	if (guest) /* its own terminal adds the carriage returns */
		mode.c_oflag &= (tcflag_t)~OPOST;
	guard.raw = mode;
	guard.above = 0;
	guard.other_keys = 0;
	guard.title = guard.progress = guard.alternate = 0;
	guard.guest = guest;
	install_handlers();
	tty_enter(t);
	if (!t->plain && !guest)
		EMIT(QUERIES);
	return 0;
}

int tty_open(struct tty *t, int in, int out, struct error *err)
{
	return open_as(t, in, out, false, err);
}

int tty_open_guest(struct tty *t, int in, int out, struct error *err)
{
	lent = guard;
	return open_as(t, in, out, true, err);
}

void tty_set_alternate(bool is_on)
{
	guard.alternate = is_on;
}

void tty_enter(struct tty *t)
{
	(void)t;
	wait_for_front();
	guard.open = 1;
	enter_raw_mode();
}

void tty_leave(struct tty *t)
{
	(void)tty_drain(t, RESTORE_TRIES * RESTORE_WAIT_MS);
	buf_clear(&t->unsent);
	guard.open = 0;
	tty_restore();
}

void tty_close(struct tty *t)
{
	tty_leave(t);
	if (guard.guest)
		guard = lent;
	if (t->owned)
		close(t->out);
	close(t->wake);
	buf_release(&t->unsent);
}

bool tty_size(const struct tty *t, size_t *columns, size_t *lines)
{
	struct winsize size = { 0 };
	bool known = ioctl(t->out, TIOCGWINSZ, &size) == 0 && size.ws_col &&
		     size.ws_row;

	*columns = known ? size.ws_col : 80;
	*lines = known ? size.ws_row : 24;
	return known;
}

/* Sends as much as possible. Returns the same values as tty_write(). */
static int flush_unsent(struct tty *t, int ms)
{
	struct pollfd p = { .fd = t->out, .events = POLLOUT };

	if (io_poll(&p, 1, ms) <= 0)
		return 1;
	for (;;) {
		ssize_t n = write(t->out, t->unsent.ptr, t->unsent.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n > 0)
			buf_consume(&t->unsent, (size_t)n);
		return t->unsent.len ? 1 : 0;
	}
}

int tty_write(struct tty *t, struct str frame)
{
	buf_addstr(&t->unsent, frame);
	return t->unsent.len ? flush_unsent(t, 0) : 0;
}

int tty_drain(struct tty *t, int ms)
{
	int64_t end = clock_ms() + ms;
	int rc;

	if (!t->unsent.len)
		return 0;
	do {
		int64_t left = end - clock_ms();

		rc = flush_unsent(t, left > 0 ? (int)left : 0);
	} while (rc > 0 && clock_ms() < end);
	return rc;
}

void tty_use_modify_other_keys(struct tty *t)
{
	guard.other_keys = 1;
	(void)tty_write(t, STR(OTHER_KEYS_ON));
}

void tty_set_title(struct tty *t, struct str title)
{
	struct buf text = BUF_INIT(TTY_TITLE_MOST + 32);
	int next = guard.title == 1 ? 2 : 1;

	if (t->plain || title.len > TTY_TITLE_MOST)
		return;
	/* A signal at any moment finds a whole title, and restores the
	 * terminal's own if it was pushed. */
	memcpy(guard.titles[next].text, title.ptr, title.len);
	guard.titles[next].len = title.len;
	if (!guard.title)
		(void)tty_write(t, STR(TITLE_PUSH));
	guard.title = next;
	buf_adds(&text, TITLE_BEGIN);
	buf_addstr(&text, title);
	buf_adds(&text, TITLE_END);
	(void)tty_write(t, buf_str(&text));
	buf_release(&text);
}

void tty_set_progress(struct tty *t, enum tty_progress progress)
{
	static const char *const texts[] = {
		[TTY_PROGRESS_NONE] = PROGRESS_NONE,
		[TTY_PROGRESS_BUSY] = PROGRESS_BUSY,
		[TTY_PROGRESS_WAITS] = PROGRESS_WAITS,
	};

	guard.progress = (sig_atomic_t)progress;
	(void)tty_write(t, str_of(texts[progress]));
}

bool tty_shows_progress(void)
{
	const char *program = getenv("TERM_PROGRAM");

	/* tmux does not pass it on. Elsewhere OSC 9 is a notification, which
	 * would show "4;3". */
	if (getenv("TMUX"))
		return false;
	return getenv("WT_SESSION") ||
	       str_is(str_of(getenv("ConEmuANSI")), "ON") ||
	       str_is(str_of(program), "ghostty");
}

bool tty_was_stopped(void)
{
	bool was = guard.stopped && guard.active;

	if (was)
		guard.stopped = 0;
	return was;
}

void tty_woken(const struct tty *t)
{
	uint64_t count;

	(void)!io_read(t->wake, &count, sizeof(count));
}

void tty_set_above(int rows)
{
	guard.above = rows;
}

bool notify_parse(struct str name, enum notify_way *found)
{
	static const char *const names[] = { "off", "bell", "desktop" };

	for (size_t i = 0; i < N_NOTIFY_WAYS; i++) {
		if (str_is(name, names[i])) {
			*found = (enum notify_way)i;
			return true;
		}
	}
	return false;
}

static bool has_osc_777(void)
{
	const char *vte = getenv("VTE_VERSION");

	return (vte && vte[0]) || str_starts(str_of(getenv("TERM")), "rxvt") ||
	       str_starts(str_of(getenv("TERM")), "foot");
}

void notify_add(enum notify_way way, struct str what, struct buf *out)
{
	struct buf clean = BUF_INIT(NOTIFY_BYTES);

	sanitize_line(what, &clean);
	buf_adds(&clean, "");
	if (way == NOTIFY_BELL)
		buf_adds(out, "\a");
	else if (way == NOTIFY_DESKTOP && getenv("TMUX"))
		/* tmux(1), allow-passthrough: ESC must be doubled. */
		buf_addf(out, "\a\x1bPtmux;\x1b\x1b]9;dcode %s\a\x1b\\",
			 clean.ptr);
	else if (way == NOTIFY_DESKTOP && has_osc_777())
		buf_addf(out, "\x1b]777;notify;dcode;%s\x1b\\", clean.ptr);
	else if (way == NOTIFY_DESKTOP)
		buf_addf(out, "\x1b]9;dcode %s\x1b\\", clean.ptr);
	buf_release(&clean);
}
