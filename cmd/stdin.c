/* stdin.c - reads all of standard input. */
/* SPDX-License-Identifier: MIT */
#include "cmd/stdin.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Uses poll(), so that stop ends the wait. */
int stdin_read(struct buf *text, const struct stop *stop, struct error *err)
{
	char chunk[65536];
	ssize_t n;

	while (!text->over) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		(void)poll(p, 2, stop_poll_ms(stop, -1));
		if (stop_check(stop, err) < 0)
			return -1;
		if (!p[0].revents)
			continue;
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return error_errno(err, "reading standard input");
		if (n == 0)
			break;
		buf_add(text, chunk, (size_t)n);
	}
	return 0;
}
