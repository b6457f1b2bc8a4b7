/* doctor_terminal.c - what the chat with a screen has of this terminal. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/commands/doctor.h"
#include "term/keys.h"
#include "term/theme.h"
#include "term/tty.h"

enum {
	ANSWER_MS = 500,
	TMUX_MS = 2000,
	MODE_SYNCHRONIZED = 2026,
	MOST_ANSWER = 256, /* bytes of tmux's */
};

static const char section[] = "terminal";

/* What a terminal has told. */
struct told {
	bool kitty, device, background, synchronized;
	uint32_t rgb;
};

static void on_reply(void *arg, const struct key_event *ev)
{
	struct told *t = arg;

	switch (ev->kind) {
	case KEY_EVENT_KITTY_FLAGS:
		t->kitty = true;
		break;
	case KEY_EVENT_DEVICE:
		t->device = true;
		break;
	case KEY_EVENT_BACKGROUND:
		t->background = true;
		t->rgb = ev->value;
		break;
	case KEY_EVENT_MODE:
		t->synchronized |=
			ev->value == MODE_SYNCHRONIZED && ev->state != 0;
		break;
	default:
		break;
	}
}

/* Until it has answered the request that every terminal answers. */
static void read_answers(struct told *t)
{
	const struct key_sink sink = { on_reply, t };
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct key_reader keys = { 0 };
	int64_t end = clock_ms() + ANSWER_MS;
	char chunk[1024];

	for (int64_t left = ANSWER_MS; left > 0 && !t->device;
	     left = end - clock_ms()) {
		ssize_t n =
			poll(&p, 1, (int)left) > 0
				? io_read(STDIN_FILENO, chunk, sizeof(chunk))
				: -1;

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		if (n > 0)
			keys_feed(&keys, (struct str){ chunk, (size_t)n },
				  clock_ms(), sink);
	}
}

/* DECRQM (xterm, ctlseqs) of a mode. Apple's Terminal prints its last byte, so
 * it is not asked. */
static bool knows_requests(void)
{
	const char *program = getenv("TERM_PROGRAM");

	return !program || strcmp(program, "Apple_Terminal") != 0;
}

/* Asks; false: it cannot be asked. */
static bool ask(struct told *t)
{
	struct error ignored = { 0 };
	struct tty tty;

	fflush(stdout);
	if (tty_open(&tty, STDIN_FILENO, STDOUT_FILENO, &ignored) < 0)
		return false;
	if (!tty.plain) {
		read_answers(t);
		if (t->device && knows_requests()) {
			t->device = false;
			(void)tty_write(&tty, STR("\x1b[?2026$p\x1b[c"));
			read_answers(t);
		}
	}
	tty_close(&tty);
	return !tty.plain;
}

static void report_keys(struct report *r, const struct told *t)
{
	if (t->kitty)
		doctor_add(r, section, "keys", FINE,
			   "kitty keyboard protocol: Shift+Enter is a new "
			   "line");
	else
		doctor_add(r, section, "keys", FINE,
			   "no kitty keyboard protocol: Shift+Enter needs "
			   "modifyOtherKeys; Alt+Enter and Ctrl+J always make "
			   "a new line");
}

static void report_colours(struct report *r, const struct told *t)
{
	struct theme theme;
	const char *why = "";

	theme_init(&theme);
	if (t->background)
		theme_background(&theme, t->rgb);
	if (theme.name == THEME_NONE)
		why = "none: NO_COLOR is set";
	else if (theme.name == THEME_LIGHT)
		why = t->background ? "light, like the terminal's background"
				    : "light, according to COLORFGBG";
	else
		why = t->background ? "dark, like the terminal's background"
				    : "dark: the terminal does not report its "
				      "background (/theme light changes it)";
	doctor_add(r, section, "colours", FINE, why);
	doctor_add(
		r, section, "links", FINE,
		theme.links
			? "sent as OSC 8; terminals that do not know it "
			  "show the text"
			: "not sent: the Linux console does not support them");
	if (theme.ascii)
		doctor_add(r, section, "locale", REMARK,
			   "not UTF-8: symbols are ASCII (export LANG=C.UTF-8, "
			   "or [ui] glyphs = \"unicode\")");
	else
		doctor_add(r, section, "locale", FINE, "UTF-8");
}

static void report_answers(struct report *r, const struct told *t)
{
	report_keys(r, t);
	doctor_add(r, section, "updates", FINE,
		   t->synchronized ? "synchronized (mode 2026): no flicker"
				   : "not synchronized (the terminal does not "
				     "know mode 2026)");
}

/* Its standard output, at most out->max; -1: it failed, or took too long. */
static int run_tmux(const char *path, struct buf *out)
{
	extern char **environ;
	char *argv[] = { (char *)"tmux", (char *)"show", (char *)"-gv",
			 (char *)"extended-keys", NULL };
	int ends[2] = { -1, -1 };
	int fds[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = path,
				  .argv = argv,
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	struct error ignored = { 0 };
	int64_t end = clock_ms() + TMUX_MS;
	bool whole = false;
	int status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fds[1] = ends[1];
	if (proc_spawn(&spec, &pid, &ignored) < 0)
		pid = -1;
	close(ends[1]);
	while (pid > 0 && !whole && clock_ms() < end) {
		struct pollfd p = { .fd = ends[0], .events = POLLIN };
		char chunk[128];
		ssize_t n;

		if (poll(&p, 1, (int)(end - clock_ms())) <= 0)
			continue;
		n = io_read(ends[0], chunk, sizeof(chunk));
		whole = n <= 0;
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	}
	close(ends[0]);
	if (pid > 0) {
		if (!whole)
			(void)kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return whole && status == 0 ? 0 : -1;
}

static void check_tmux(struct report *r)
{
	struct buf value = BUF_INIT(MOST_ANSWER);
	char *path = proc_find("tmux", getenv("PATH"));
	struct str text;

	if (!path || run_tmux(path, &value) < 0) {
		doctor_add(
			r, section, "tmux", REMARK,
			path ? "does not report extended-keys (older than "
			       "3.2?): use Alt+Enter or Ctrl+J for a new line"
			     : "is not on PATH: extended-keys cannot be "
			       "checked");
	} else {
		text = str_trim(buf_str(&value));
		if (str_is(text, "on") || str_is(text, "always"))
			doctor_add(r, section, "tmux", FINE,
				   "extended-keys is on: Shift+Enter works if "
				   "the outer terminal reports it");
		else
			doctor_add(r, section, "tmux", REMARK,
				   "extended-keys is off: Shift+Enter is "
				   "Enter. In ~/.tmux.conf: set -s "
				   "extended-keys on; set -as "
				   "terminal-features ',*:extkeys'");
	}
	buf_release(&value);
	free(path);
}

void doctor_check_terminal(struct report *r)
{
	const char *term = getenv("TERM");
	const char *tmux = getenv("TMUX");
	struct told told = { 0 };
	char text[128];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp()) {
		doctor_add(
			r, section, "screen", FINE,
			"not checked, because this is not run in a terminal");
		return;
	}
	if (!term || !term[0] || !strcmp(term, "dumb")) {
		doctor_add(r, section, "screen", REMARK,
			   "TERM says that it has none: the chat runs line by "
			   "line");
		return;
	}
	if (ask(&told) && !told.device)
		snprintf(text, sizeof(text),
			 "%.64s, which does not answer queries", term);
	else
		snprintf(text, sizeof(text), "%.64s", term);
	doctor_add(r, section, "type", FINE, text);
	if (told.device)
		report_answers(r, &told);
	report_colours(r, &told);
	if (tmux && tmux[0])
		check_tmux(r);
}
