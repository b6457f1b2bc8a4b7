/* output.c - writes to a stream that nobody may be reading. */
/* SPDX-License-Identifier: MIT */
#include "ui/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRACE_MS = 1000 };

/* 1 when fd takes something, 0 after an interruption, -1 with errno. */
static int wait_room(int fd, const struct stop *stop)
{
	struct error ignored = { 0 };
	bool ended = stop && stop_check(stop, &ignored) < 0;
	struct pollfd p[2] = {
		{ .fd = fd, .events = POLLOUT },
		{ .fd = stop && !ended ? stop_fd(stop) : -1, .events = POLLIN },
	};
	int ms = stop && !ended ? stop_poll_ms(stop, -1) : -1;
	int n = poll(p, 2, ended ? GRACE_MS : ms);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	if (p[0].revents)
		return 1;
	if (!ended)
		return 0;
	errno = ECANCELED;
	return -1;
}

int output_write(int fd, struct str data, const struct stop *stop)
{
	while (data.len) {
		/* What a pipe takes without blocking once it takes anything. */
		size_t most = data.len < PIPE_BUF ? data.len : PIPE_BUF;
		int rc = wait_room(fd, stop);
		ssize_t n;

		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		n = write(fd, data.ptr, most);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (n > 0)
			data = str_skip(data, (size_t)n);
	}
	return 0;
}

static ssize_t write_guarded(void *cookie, const char *text, size_t len)
{
	struct output_guard *g = cookie;
	struct str data = { text, len };

	if (g->shared && atomic_exchange(&g->mid_line, false) && !g->given_up &&
	    len && text[0] != '\n' &&
	    output_write(STDERR_FILENO, STR("\n"), g->stop) < 0)
		g->given_up = true;
	if (!g->given_up && output_write(STDERR_FILENO, data, g->stop) < 0)
		g->given_up = true;
	return (ssize_t)len;
}

static bool is_shared(void)
{
	struct stat out;
	struct stat err;

	return fstat(STDOUT_FILENO, &out) == 0 &&
	       fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
	       out.st_ino == err.st_ino;
}

void output_guard(struct output_guard *g, const struct stop *stop)
{
	const cookie_io_functions_t io = { .write = write_guarded };
	FILE *guarded = fopencookie(g, "w", io);

	*g = (struct output_guard){ .stop = stop,
				    .shared = is_shared(),
				    .plain = stderr };
	if (!guarded)
		return;
	setvbuf(guarded, NULL, _IONBF, 0);
	stderr = guarded;
}

void output_release(struct output_guard *g)
{
	if (stderr == g->plain)
		return;
	fclose(stderr);
	stderr = g->plain;
}
