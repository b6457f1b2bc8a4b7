/* stop.c - ends blocking calls early: by a cancel or at a deadline. */
/* SPDX-License-Identifier: MIT */
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

static int64_t read_clock(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_ms(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_unix_ms(void)
{
	return read_clock(CLOCK_REALTIME);
}

int cancel_init(struct cancel *c, struct error *err)
{
	if (pipe2(c->fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		c->fd[0] = c->fd[1] = -1;
		return error_errno(err, "creating a pipe");
	}
	return 0;
}

void cancel_release(struct cancel *c)
{
	for (int i = 0; i < 2; i++) {
		if (c->fd[i] >= 0)
			close(c->fd[i]);
		c->fd[i] = -1;
	}
}

static int watch_fd(int epoll, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return fd < 0 ? 0 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev);
}

int cancel_chain_init(struct cancel_chain *c, const struct cancel *outer,
		      struct error *err)
{
	int epoll;

	c->own = -1;
	if (cancel_init(&c->cancel, err) < 0)
		return -1;
	epoll = epoll_create1(EPOLL_CLOEXEC);
	c->own = c->cancel.fd[0];
	/* epoll: readable if the chain's own pipe or the outer one is */
	c->cancel.fd[0] = epoll;
	if (epoll >= 0 && watch_fd(epoll, c->own) == 0 &&
	    watch_fd(epoll, outer ? outer->fd[0] : -1) == 0)
		return 0;
	error_errno(err, "waiting for a cancel");
	cancel_chain_release(c);
	return -1;
}

void cancel_chain_release(struct cancel_chain *c)
{
	cancel_release(&c->cancel);
	if (c->own >= 0)
		close(c->own);
	c->own = -1;
}

void cancel_trigger(const struct cancel *c)
{
	int saved = errno;

	(void)!io_write(c->fd[1], "x", 1);
	errno = saved;
}

void cancel_reset(const struct cancel *c)
{
	char drop[64];

	while (io_read(c->fd[0], drop, sizeof(drop)) > 0)
		;
}

bool cancel_triggered(const struct cancel *c)
{
	struct pollfd p = { .fd = c->fd[0], .events = POLLIN };

	return io_poll(&p, 1, 0) > 0;
}

struct stop stop_on(const struct cancel *c)
{
	return (struct stop){ .cancel = c, .deadline = INT64_MAX };
}

struct stop stop_within(const struct stop *s, int64_t ms)
{
	struct stop nearer = *s;
	int64_t now = clock_ms();

	if (ms < INT64_MAX - now && now + ms < nearer.deadline)
		nearer.deadline = now + ms;
	return nearer;
}

struct stop stop_cleanup(int64_t ms)
{
	return (struct stop){ .deadline = clock_ms() + ms };
}

int stop_poll_ms(const struct stop *s, int max)
{
	int64_t left;

	if (s->deadline == INT64_MAX)
		return max;
	left = s->deadline - clock_ms();
	if (left < 0)
		left = 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return max >= 0 && left > max ? max : (int)left;
}

int stop_fd(const struct stop *s)
{
	return s->cancel ? s->cancel->fd[0] : -1;
}

int stop_check(const struct stop *s, struct error *err)
{
	if (s->cancel && cancel_triggered(s->cancel))
		return error_set(err, ERR_CANCELLED, "cancelled");
	if (s->deadline != INT64_MAX && clock_ms() >= s->deadline)
		return error_set(err, ERR_TIMEOUT, "timed out");
	return 0;
}

int stop_sleep(const struct stop *s, int64_t ms, struct error *err)
{
	int64_t until = clock_ms() + ms;

	for (;;) {
		struct pollfd p = { .fd = stop_fd(s), .events = POLLIN };
		int64_t left = until - clock_ms();

		if (stop_check(s, err) < 0)
			return -1;
		if (left <= 0)
			return 0;
		if (left > INT_MAX)
			left = INT_MAX;
		poll(&p, 1, stop_poll_ms(s, (int)left));
	}
}

int stop_send(const struct stop *s, int fd, const char *bytes, size_t len,
	      struct error *err)
{
	while (len) {
		struct pollfd set[2] = {
			{ .fd = fd, .events = POLLOUT },
			{ .fd = stop_fd(s), .events = POLLIN },
		};
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, "sending");
		if (io_poll(set, 2, stop_poll_ms(s, -1)) < 0)
			return error_errno(err, "waiting for a socket");
		if (stop_check(s, err) < 0)
			return -1;
	}
	return 0;
}

int stop_await(const struct stop *s, int fd, struct error *err)
{
	struct pollfd set[] = { { .fd = fd, .events = POLLIN },
				{ .fd = stop_fd(s), .events = POLLIN } };

	while (!set[0].revents) {
		if (stop_check(s, err) < 0)
			return -1;
		(void)poll(set, 2, stop_poll_ms(s, -1));
	}
	return 0;
}

int cancel_await(const struct cancel *c, const struct stop *stop,
		 struct error *err)
{
	return cancel_triggered(c) ? 0 : stop_await(stop, c->fd[0], err);
}
