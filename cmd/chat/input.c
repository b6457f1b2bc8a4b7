/* input.c - lines that are typed into the chat. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/input.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/str.h"

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
			buf_add(line, in->typed.ptr, at);
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
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
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
	       (in->typed.len || poll(&p, 1, ms) > 0);
}

void chat_set_aside(struct chat_input *in, struct buf *early)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char chunk[4096];

	while (isatty(STDIN_FILENO) && poll(&p, 1, 0) > 0) {
		ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n <= 0)
			break; /* chat_read_line() will see it again */
		buf_add(&in->typed, chunk, (size_t)n);
	}
	*early = in->typed;
	in->typed = BUF_INIT(CHAT_MAX_LINE);
}

void chat_put_back(struct chat_input *in, struct buf *early)
{
	buf_addstr(early, buf_str(&in->typed));
	buf_release(&in->typed);
	in->typed = *early;
}
