/* secret.c - reads secrets and yes/no answers from a terminal or a pipe. */
/* SPDX-License-Identifier: MIT */
/*
 * secret_ask() reads a secret without echo, secret_confirm() asks a yes/no
 * question. Both read single bytes (next_byte()), so that Ctrl-C ends the wait
 * and nothing after the line is consumed. In a chat, the screen asks a yes/no
 * question instead (confirm_in_chat()).
 */
#include "cmd/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

#define SECRET_YES_NO " [y/N] " /* every question here must end in this ... */
#define SECRET_YES_NO_EDIT " [y/N/e] " /* ... or in this */

enum {
	BACKSPACE = 0x08,
	LINE_KILL = 0x15,
	END_OF_INPUT = 0x04,
	ESCAPE = 0x1B,
	ESCAPE_MS = 50,
	RUBOUT = 0x7F,
	ANSWER_MAX = 256, /* bytes of an answer to a yes/no question */
};

char *secret_room(size_t size)
{
	char *room = sodium_malloc(size);

	if (!room)
		abort();
	return room;
}

void secret_free(char *room)
{
	sodium_free(room);
}

bool secret_terminal(const struct app *app)
{
	return !app->unattended && isatty(STDIN_FILENO) &&
	       (app->terminal || isatty(STDERR_FILENO));
}

/* Reads one byte. Returns 1, 0 at the end of input, -1 with err. */
static int next_byte(struct app *app, int fd, char *c, struct error *err)
{
	struct stop stop = app_stop(app);
	struct pollfd p[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = stop_fd(&stop), .events = POLLIN },
	};
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return error_errno(err, "reading");
		if (stop_check(&stop, err) < 0)
			return -1;
		if (!p[0].revents)
			continue;
		n = read(fd, c, 1);
		if (n >= 0)
			return n > 0;
		if (errno != EINTR && errno != EAGAIN)
			return error_errno(err, "reading");
	}
}

/* Moves the trimmed text to the front of room and returns its length. */
static int trim_in_place(char *room, size_t len)
{
	struct str s = str_trim((struct str){ room, len });

	if (s.len)
		memmove(room, s.ptr, s.len);
	return (int)s.len;
}

static int fail_too_long(size_t size, struct error *err)
{
	return error_set(err, ERR_LIMIT, "the input is longer than %zu bytes",
			 size);
}

/* Call after an ESC byte was read. True if no byte follows: the user pressed
 * Esc. Otherwise it starts an escape sequence of the terminal: skips that and
 * returns false. */
static bool is_escape_key(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c = 0;

	if (io_poll(&p, 1, ESCAPE_MS) <= 0)
		return true;
	if (io_read(fd, &c, 1) != 1 || (c != '[' && c != 'O'))
		return false;
	while (io_poll(&p, 1, ESCAPE_MS) > 0 && io_read(fd, &c, 1) == 1)
		if (c >= 0x40 && c <= 0x7E)
			break;
	return false;
}

/* Reads a line without the terminal's line editing, which would cut it at 4095
 * bytes. leaves: returns SECRET_LEFT on Esc, and on Ctrl+D in an empty line. */
static int read_hidden(struct app *app, int fd, bool leaves, char *room,
		       size_t size, struct error *err)
{
	size_t len = 0;
	char c = 0;
	int rc;

	while ((rc = next_byte(app, fd, &c, err)) > 0) {
		if (leaves && c == ESCAPE) {
			if (is_escape_key(fd))
				return SECRET_LEFT;
			continue;
		}
		if (leaves && c == END_OF_INPUT && !len)
			return SECRET_LEFT;
		if (c == '\n' || c == '\r' || c == END_OF_INPUT)
			break;
		if (c == BACKSPACE || c == RUBOUT)
			len -= len > 0;
		else if (c == LINE_KILL)
			len = 0;
		else if (len == size)
			return fail_too_long(size, err);
		else
			room[len++] = c;
	}
	if (leaves && rc == 0 && !len)
		return SECRET_LEFT; /* the terminal is closed */
	return rc < 0 ? -1 : trim_in_place(room, len);
}

/* Reads a line from /dev/tty with echo switched off, then restores the
 * terminal. */
static int read_without_echo(struct app *app, const char *prompt, bool leaves,
			     char *room, size_t size, struct error *err)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	struct termios was;
	struct termios hidden;
	int rc;

	if (fd < 0 || tcgetattr(fd, &was) < 0) {
		if (fd >= 0)
			close(fd);
		return error_set(err, ERR_USAGE, "cannot ask: no terminal");
	}
	hidden = was;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON);
	hidden.c_iflag |= ICRNL;
	hidden.c_cc[VMIN] = 1;
	hidden.c_cc[VTIME] = 0;
	/* Disables Ctrl+Z: after "fg" the shell may have switched echo on. */
	hidden.c_cc[VSUSP] = _POSIX_VDISABLE;
	if (tcsetattr(fd, TCSAFLUSH, &hidden) < 0) {
		rc = error_errno(err, "hiding the input");
	} else {
		dprintf(fd, "%s", prompt);
		rc = read_hidden(app, fd, leaves, room, size, err);
		tcsetattr(fd, TCSAFLUSH, &was);
		dprintf(fd, "\n");
	}
	close(fd);
	return rc;
}

int secret_ask(struct app *app, const char *prompt, char *room, size_t size,
	       struct error *err)
{
	int rc;

	app_borrow_terminal(app);
	rc = read_without_echo(app, prompt, false, room, size, err);
	app_return_terminal(app);
	return rc;
}

int secret_ask_or_leave(struct app *app, const char *prompt, char *room,
			size_t size, struct error *err)
{
	int rc;

	app_borrow_terminal(app);
	rc = read_without_echo(app, prompt, true, room, size, err);
	app_return_terminal(app);
	return rc;
}

int secret_read(struct app *app, char *room, size_t size, struct error *err)
{
	size_t len = 0;
	char c = 0;
	int rc;

	while ((rc = next_byte(app, STDIN_FILENO, &c, err)) > 0) {
		if (len == size)
			return fail_too_long(size, err);
		room[len++] = c;
	}
	c = 0;
	return rc < 0 ? -1 : trim_in_place(room, len);
}

/* Returns 1 for y or yes, 2 for e or edit if that is an answer, else 0. Ignores
 * escape sequences: the terminal's late reply to a query may come before what
 * the user types. */
static int read_answer(struct str answer, bool edits)
{
	struct buf clean = BUF_INIT(4 * ANSWER_MAX);
	struct str word;
	int found = 0;

	sanitize_line(answer, &clean);
	word = str_trim(buf_str(&clean));
	if (str_is_nocase(word, "y") || str_is_nocase(word, "yes"))
		found = 1;
	else if (edits &&
		 (str_is_nocase(word, "e") || str_is_nocase(word, "edit")))
		found = 2;
	buf_release(&clean);
	return found;
}

/* Asks on stderr and reads the answer from stdin. */
static int prompt_answer(struct app *app, const char *question, bool edits,
			 struct error *err)
{
	char answer[ANSWER_MAX];
	size_t len = 0;
	char c = 0;
	int rc;

	fprintf(stderr, "%s", question);
	while ((rc = next_byte(app, STDIN_FILENO, &c, err)) > 0 && c != '\n')
		if (len < sizeof(answer))
			answer[len++] = c;
	if (rc <= 0)
		fputc('\n', stderr);
	if (rc < 0)
		return -1;
	if (rc == 0 && !len)
		return error_set(err, ERR_CANCELLED, "no answer");
	return read_answer((struct str){ answer, len }, edits);
}

/* Asks in the chat, which shows " [y/N] " itself. */
static int confirm_in_chat(const struct app *app, const char *question,
			   bool drafts, bool edits, struct error *err)
{
	static const char *const answers[] = { "yes", "no", "edit" };
	static const int values[] = { 1, 0, 2 };
	struct str text = str_of(question);
	struct app_question q = { .choices = edits ? "y/N/e" : "y/N",
				  .answers = answers,
				  .n = edits ? 3 : 2,
				  .usual = 1,
				  .safe = 1,
				  .escapes = true,
				  .drafts = drafts };
	const char *end = edits ? SECRET_YES_NO_EDIT : SECRET_YES_NO;
	char *alone;
	int answer;

	if (str_ends(text, end))
		text.len -= strlen(end);
	alone = xstrndup(text.ptr, text.len);
	q.text = alone;
	answer = app->asker->choose(app->asker->arg, &q, err);
	free(alone);
	return answer < 0 ? -1 : values[answer];
}

int secret_confirm_first(struct app *app, const char *question,
			 struct error *err)
{
	return app->asker ? confirm_in_chat(app, question, true, false, err)
			  : secret_confirm(app, question, err);
}

/* Asks in the chat or at the terminal. */
static int confirm(struct app *app, const char *question, bool edits,
		   struct error *err)
{
	int rc;

	if (app->asker)
		return confirm_in_chat(app, question, false, edits, err);
	app_borrow_terminal(app);
	tcflush(STDIN_FILENO, TCIFLUSH); /* drops what was typed before the
					    question was shown */
	rc = prompt_answer(app, question, edits, err);
	app_return_terminal(app);
	return rc;
}

int secret_confirm(struct app *app, const char *question, struct error *err)
{
	return confirm(app, question, false, err);
}

int secret_confirm_or_edit(struct app *app, const char *question,
			   struct error *err)
{
	return confirm(app, question, true, err);
}
