/* slash_copy.c - /copy: the last answer into the clipboard. */
/* SPDX-License-Identifier: MIT */
/*
 * A program of the desktop (wl-copy, xclip, pbcopy) sets the clipboard; without
 * one the terminal is asked to (OSC 52). Begin reading at slash_cmd_copy().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "session/history.h"

enum {
	ANSWER_MOST = 64 << 20,
	PROGRAM_MOST = 16 << 20, /* bytes passed to a clipboard program */
	/* The base64 must fit into 100,000 characters, which terminals accept
	   (xterm and tmux accept more). */
	TERMINAL_MOST = 74994,
	WAIT_MS = 5000,
};

/* A program that sets the desktop's clipboard. */
struct clip_program {
	const char *needs; /* the program works only if this variable is set; or
			      NULL */
	const char *argv[4];
};

static const struct clip_program programs[] = {
	{ "WAYLAND_DISPLAY", { "wl-copy", NULL } },
	{ "DISPLAY", { "xclip", "-selection", "clipboard", NULL } },
	{ NULL, { "pbcopy", NULL } },
};

/* Returns the text of an answer; the caller owns it. NULL if the message is not
 * the model's or has no text, only tool calls. */
static char *answer_of(const struct message *m)
{
	char *text = m->role == ROLE_ASSISTANT ? message_text(m) : NULL;

	if (text && str_trim(str_of(text)).len)
		return text;
	free(text);
	return NULL;
}

/* Returns the newest answer stored in the thread, or NULL. The caller owns the
 * result. */
static char *read_stored(struct run *r)
{
	struct conversation c = { 0 };
	struct error ignored = { 0 };
	struct thread t = { 0 };
	struct store *store;
	char *text = NULL;

	if (!session_is_stored(r->session) ||
	    app_store(r->app, &store, &ignored) < 0 ||
	    thread_find(store, session_id(r->session), NULL, &t, &ignored) < 0)
		return NULL;
	if (history_load(&c, store, t.no, &ignored) == 0)
		for (size_t i = c.n; i > 0 && !text; i--)
			text = answer_of(&c.list[i - 1]);
	history_release(&c);
	thread_release(&t);
	return text;
}

/* Reads the last answer as it is shown: without control characters and secrets.
 */
static void read_answer(struct run *r, struct buf *out)
{
	char *stored = r->agent.answer.len ? NULL : read_stored(r);

	app_clean(r->app, CLEAN_TEXT,
		  str_trim(stored ? str_of(stored) : buf_str(&r->agent.answer)),
		  out);
	free(stored);
}

/* Writes the whole text. Returns false on failure or timeout. */
static bool write_text(int fd, struct str text)
{
	int64_t end = clock_ms() + WAIT_MS;

	while (text.len) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t n;

		if (clock_ms() > end || io_poll(&p, 1, WAIT_MS) <= 0)
			return false;
		n = write(fd, text.ptr, text.len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (n > 0)
			text = str_skip(text, (size_t)n);
	}
	return true;
}

/* Waits for the program and returns its status. Kills it and returns -1 on a
 * timeout. */
static int wait_for_end(pid_t pid)
{
	struct error ignored = { 0 };
	struct pollfd p = { .fd = proc_fd(pid, &ignored), .events = POLLIN };
	int status = -1;

	if (p.fd < 0 || io_poll(&p, 1, WAIT_MS) <= 0)
		(void)kill(pid, SIGKILL);
	if (p.fd >= 0)
		close(p.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return proc_exit_code(status);
}

/* Runs a clipboard program with text as its input. Returns 0 if it exited with
 * status 0. */
static int run_program(const char *path, const struct clip_program *program,
		       struct str text)
{
	extern char **environ;
	struct error ignored = { 0 };
	int ends[2];
	int fds[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = path,
				  .argv = (char *const *)program->argv,
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	pid_t pid;
	bool fed;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fds[0] = ends[0];
	if (proc_spawn(&spec, &pid, &ignored) < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[0]);
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fed = write_text(ends[1], text);
	close(ends[1]);
	return wait_for_end(pid) == 0 && fed ? 0 : -1;
}

/* Copies text with the first clipboard program that accepts it. Returns the
 * program's name, or NULL. */
static const char *copy_by_program(struct str text)
{
	const char *taken = NULL;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct clip_program *p = &programs[i];
		const char *can = p->needs ? getenv(p->needs) : "";
		char *path;

		if (!can || (p->needs && !can[0]))
			continue;
		path = proc_find(p->argv[0], getenv("PATH"));
		if (path && run_program(path, p, text) == 0)
			taken = p->argv[0];
		free(path);
		if (taken)
			break;
	}
	return taken;
}

/* Copies with the escape sequence OSC 52: the terminal fills the clipboard,
 * also over ssh. */
static int copy_by_terminal(struct run *r, struct str text, struct error *err)
{
	size_t size = sodium_base64_ENCODED_LEN(text.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *coded = xcalloc(size, 1);
	int rc = -1;

	sodium_bin2base64(coded, size, (const unsigned char *)text.ptr,
			  text.len, sodium_base64_VARIANT_ORIGINAL);
	app_borrow_terminal(r->app);
	if (!isatty(STDERR_FILENO))
		error_set(err, ERR_USAGE, "cannot copy: no terminal");
	else if (fprintf(stderr, "\033]52;c;%s\a", coded) < 0)
		error_errno(err, "writing to the terminal");
	else
		rc = 0;
	app_return_terminal(r->app);
	free(coded);
	return rc;
}

/* Copies text with a clipboard program, else with the terminal. */
static int copy_to_clipboard(struct run *r, struct str text, struct error *err)
{
	const char *taken =
		text.len <= PROGRAM_MOST ? copy_by_program(text) : NULL;

	if (taken) {
		fprintf(stderr, "Copied latest response to clipboard (%s).\n",
			taken);
		return 0;
	}
	if (text.len > TERMINAL_MOST) {
		error_set(err, ERR_LIMIT,
			  "the latest response is too large for the terminal's "
			  "clipboard: %zu bytes (limit %d)",
			  text.len, TERMINAL_MOST);
		return error_hint(err, "Install wl-copy (Wayland) or xclip "
				       "(X11), or use dcode threads show.");
	}
	if (copy_by_terminal(r, text, err) < 0)
		return -1;
	fputs("Copied latest response to clipboard, if the terminal allows it "
	      "(OSC 52).\n",
	      stderr);
	if (getenv("TMUX"))
		fputs("In tmux this needs: set -g set-clipboard on\n", stderr);
	else if (getenv("STY"))
		fputs("GNU screen does not support this.\n", stderr);
	return 0;
}

bool slash_cmd_copy(struct run *r, int n, char **words)
{
	struct buf text = BUF_INIT(ANSWER_MOST);
	struct error err = { 0 };

	(void)n;
	(void)words;
	read_answer(r, &text);
	if (!text.len)
		fputs("No message to copy yet.\n", stderr);
	else if (copy_to_clipboard(r, buf_str(&text), &err) < 0)
		(void)app_fail(r->app, &err);
	buf_release(&text);
	return true;
}
