/* input.c - lines that are typed into the chat. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/input.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sanitize.h"
#include "base/str.h"

enum { NOTICED_MS = 250 /* nobody answers a question sooner */ };

/* For poll(2). */
static int time_left(const struct chat_input *in)
{
	int64_t ms = in->until - clock_ms();

	if (!in->until)
		return -1;
	return ms < 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int chat_read_line(struct chat_input *in, struct buf *line)
{
	char chunk[4096];

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = in->cancel->fd[0], .events = POLLIN },
		};
		size_t at = str_find(buf_str(&in->typed), '\n');
		ssize_t n;

		if (at < in->typed.len || (in->ended && in->typed.len)) {
			size_t begin = line->len;

			buf_add(line, in->typed.ptr, at);
			buf_drop_nul(line, begin);
			buf_consume(&in->typed, at + (at < in->typed.len));
			return 1;
		}
		if (in->ended)
			return 0;
		if (poll(p, 2, time_left(in)) < 0 && errno != EINTR)
			return 0;
		if (p[1].revents || (!p[0].revents && !time_left(in)))
			return -1;
		if (!p[0].revents)
			continue;
		n = io_read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&in->typed, chunk, (size_t)n);
		else if (n == 0 || errno != EINTR)
			in->ended = true;
	}
}

bool chat_more_typed(const struct chat_input *in, int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return isatty(STDIN_FILENO) && !in->ended &&
	       (in->typed.len || io_poll(&p, 1, ms) > 0);
}

/* What is at the terminal, up to the last line's end. */
static void read_lines(struct chat_input *in)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char chunk[4096];

	while (!in->ended && io_poll(&p, 1, 0) > 0) {
		ssize_t n = io_read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n <= 0)
			break; /* chat_read_line() will see it again */
		buf_add(&in->typed, chunk, (size_t)n);
	}
}

/* The terminal keeps an unfinished line to itself: without its line mode, for a
 * moment, it gives that too. Not in the background, where that would stop
 * dcode. */
static void read_begun_line(struct chat_input *in)
{
	struct termios was;
	struct termios now;
	char chunk[4096];
	ssize_t n;

	if (tcgetattr(STDIN_FILENO, &was) < 0 || !(was.c_lflag & ICANON) ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp())
		return;
	now = was;
	now.c_lflag &= ~(tcflag_t)ICANON;
	now.c_cc[VMIN] = now.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &now) < 0)
		return;
	while ((n = io_read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (chunk[i]) /* stands for Ctrl+D */
				buf_addc(&in->typed, chunk[i]);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

void chat_set_aside(struct chat_input *in, struct buf *early)
{
	struct pollfd stopped = { .fd = in->cancel->fd[0], .events = POLLIN };

	if (isatty(STDIN_FILENO))
		(void)poll(&stopped, 1, NOTICED_MS);
	chat_set_aside_now(in, early);
}

void chat_set_aside_now(struct chat_input *in, struct buf *early)
{
	if (isatty(STDIN_FILENO)) {
		read_lines(in);
		read_begun_line(in);
	}
	*early = in->typed;
	in->typed = BUF_INIT(CHAT_MAX_LINE);
	in->begun = early->len && early->ptr[early->len - 1] != '\n';
}

/* The message that the user is in the middle of: shown again, since the
 * question stands between its halves. */
static int end_begun_line(struct chat_input *in, struct buf *early)
{
	struct buf shown = BUF_INIT(4 * CHAT_MAX_LINE);
	struct str begun = buf_str(early);
	const char *end = memrchr(begun.ptr, '\n', begun.len);
	int rc;

	if (end)
		begun = str_skip(begun, (size_t)(end - begun.ptr) + 1);
	sanitize_line(begun, &shown);
	fprintf(stderr, "(continue your message) > %s",
		shown.len ? shown.ptr : "");
	buf_release(&shown);
	rc = chat_read_line(in, early);
	if (rc > 0) {
		buf_addc(early, '\n');
		in->begun = false;
	}
	return rc;
}

int chat_read_answer(struct chat_input *in, struct buf *early,
		     const char *prompt, struct buf *line)
{
	while (in->begun) {
		struct buf more;
		int rc = end_begun_line(in, early);

		if (rc <= 0)
			return rc;
		/* lines that were pasted with its end are messages, too */
		chat_set_aside(in, &more);
		buf_addstr(early, buf_str(&more));
		buf_release(&more);
	}
	fputs(prompt, stderr);
	return chat_read_line(in, line);
}

void chat_put_back(struct chat_input *in, struct buf *early)
{
	in->begun = false;
	buf_addstr(early, buf_str(&in->typed));
	buf_release(&in->typed);
	in->typed = *early;
}
