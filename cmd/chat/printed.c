/* printed.c - what the program prints while a screen is up. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void close_all(struct printed *p)
{
	const int fds[] = { p->real[0], p->real[1], p->fd, p->in };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] > STDERR_FILENO)
			close(fds[i]);
	*p = (struct printed){ { -1, -1 }, -1, -1 };
}

int printed_open(struct printed *p, struct error *err)
{
	int ends[2];

	*p = (struct printed){ { -1, -1 }, -1, -1 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "making a pipe");
	p->fd = ends[0];
	p->in = ends[1];
	for (int i = 0; i < 2; i++)
		p->real[i] = fcntl(i + STDOUT_FILENO, F_DUPFD_CLOEXEC,
				   STDERR_FILENO + 1);
	if (p->real[0] < 0 || p->real[1] < 0 ||
	    fcntl(p->fd, F_SETFL, O_NONBLOCK) < 0) {
		error_errno(err, "keeping the terminal");
		close_all(p);
		return -1;
	}
	printed_resume(p);
	return 0;
}

void printed_read(struct printed *p, struct buf *out)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(p->fd, chunk, sizeof(chunk))) > 0 ||
	       (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
}

void printed_suspend(struct printed *p)
{
	fflush(stdout);
	(void)dup2(p->real[0], STDOUT_FILENO);
	(void)dup2(p->real[1], STDERR_FILENO);
}

void printed_resume(struct printed *p)
{
	fflush(stdout);
	(void)dup2(p->in, STDOUT_FILENO);
	(void)dup2(p->in, STDERR_FILENO);
}

void printed_close(struct printed *p)
{
	if (p->fd <= STDERR_FILENO)
		return;
	printed_suspend(p);
	close_all(p);
}
