/* io.c - system calls that are repeated after EINTR. */
/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

ssize_t io_read(int fd, void *room, size_t len)
{
	ssize_t n;

	do
		n = read(fd, room, len);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t io_pread(int fd, void *room, size_t len, off_t at)
{
	ssize_t n;

	do
		n = pread(fd, room, len, at);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t io_write(int fd, const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = write(fd, bytes, len);
	while (n < 0 && errno == EINTR);
	return n;
}

int io_fsync(int fd)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc < 0 && errno == EINTR);
	return rc;
}

int io_truncate(int fd, off_t len)
{
	int rc;

	do
		rc = ftruncate(fd, len);
	while (rc < 0 && errno == EINTR);
	return rc;
}

int io_flock(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how);
	while (rc < 0 && errno == EINTR);
	return rc;
}

int io_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = io_write(fd, at, len);

		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_pwrite_all(int fd, const void *bytes, size_t len, off_t at)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = pwrite(fd, from, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		from += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t io_pread_all(int fd, void *room, size_t len, off_t at)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = io_pread(fd, (char *)room + done, len - done,
				     at + (off_t)done);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int io_poll(struct pollfd *set, nfds_t n, int ms)
{
	int64_t end = ms > 0 ? now_ms() + ms : 0;
	int rc;

	while ((rc = poll(set, n, ms)) < 0 && errno == EINTR) {
		int64_t left = end - now_ms();

		if (ms > 0)
			ms = left > 0 ? (int)left : 0;
	}
	return rc;
}

void io_reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
