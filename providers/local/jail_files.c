/* jail_files.c - moves one file in or out, with the sandbox's own view. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "providers/local/jail.h"

static int make_parents(const char *path)
{
	char *copy = xstrdup(path);
	int rc = 0;

	for (char *p = copy + 1; *p && rc == 0; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			rc = -1;
		*p = '/';
	}
	free(copy);
	return rc;
}

/* A regular file to write, empty; *made says that it is new. */
static int open_target(const char *path, int mode, bool *made)
{
	const int how = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	int saved;
	int fd;

	*made = false;
	if (make_parents(path) < 0)
		return -1;
	fd = open(path, how);
	if (fd < 0 && errno == ENOENT) {
		fd = open(path, how | O_CREAT, 0600);
		*made = fd >= 0;
	}
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		errno = EINVAL;
	else if (ftruncate(fd, 0) == 0 &&
		 (!*made || fchmod(fd, (mode_t)(mode ? mode : 0644)) == 0))
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static int write_file(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

void jail_upload(int control, const struct jail_job *job, const char *path)
{
	char *room = xcalloc(1, JAIL_DATA_MAX);
	uint64_t left = job->size;
	bool made;
	/* jail_filter.c refuses the setuid and setgid bits. */
	int fd = open_target(path, (int)(job->mode & 01777), &made);
	int number = fd < 0 ? errno : 0;

	while (number == 0 && left > 0) {
		size_t n = left < JAIL_DATA_MAX ? (size_t)left : JAIL_DATA_MAX;

		if (jail_read(control, room, n) < 0)
			number = ECANCELED;
		else if (write_file(fd, room, n) < 0)
			number = errno;
		left -= n;
	}
	if (fd >= 0 && close(fd) < 0 && !number)
		number = errno;
	if (number && made)
		unlink(path);
	jail_reply(control, number ? REPLY_ERRNO : REPLY_DONE, number);
	free(room);
}

static int open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	close(fd);
	return -1;
}

void jail_download(int control, const char *path)
{
	char *room = xcalloc(1, JAIL_DATA_MAX);
	int fd = open_source(path);
	int number = fd < 0 ? errno : 0;

	while (!number) {
		ssize_t n = read(fd, room, JAIL_DATA_MAX);

		if (n < 0)
			number = errno;
		if (n <= 0)
			break;
		if (jail_reply(control, REPLY_DATA, (int32_t)n) < 0 ||
		    jail_write(control, room, (size_t)n) < 0)
			break; /* nobody listens any more */
	}
	if (fd >= 0)
		close(fd);
	jail_reply(control, number ? REPLY_ERRNO : REPLY_DONE, number);
	free(room);
}
