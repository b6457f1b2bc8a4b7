/* copy_pipe.c - sandbox cp from standard input and to standard output. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/copy_copy.h"
#include "ui/streams.h"

enum { CHUNK = 64 << 10, MODE = 0755 };

static const char *temporary_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

int copy_check_stdout(struct copy *c, struct error *err)
{
	struct stat st;

	if (isatty(STDOUT_FILENO)) {
		error_set(err, ERR_USAGE,
			  "sandbox cp: standard output is a terminal");
		return error_hint(err,
				  "Write to a file (> FILE) or into a pipe.");
	}
	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		c->disk = STDOUT_FILENO;
	return 0;
}

int copy_check_stdin(struct error *err)
{
	if (!isatty(STDIN_FILENO))
		return 0;
	error_set(err, ERR_USAGE, "sandbox cp: standard input is a terminal");
	return error_hint(err,
			  "Pipe something into it, or read a file (< FILE).");
}

static int write_stdout(struct copy *c, struct str data, struct error *err)
{
	if (output_write(STDOUT_FILENO, data, c->stop) == 0)
		return 0;
	c->unread = errno == EPIPE;
	return errno == ECANCELED ? stop_check(c->stop, err)
				  : error_errno(err, "standard output");
}

static int to_stdout(void *arg, struct str chunk, struct error *err)
{
	struct copy *c = arg;

	if (copy_store(c, (int64_t)chunk.len, err) < 0)
		return -1;
	return write_stdout(c, chunk, err);
}

static int received_to_stdout(void *arg, struct str chunk, struct error *err)
{
	return copy_receive(arg, chunk.len, err) < 0
		       ? -1
		       : to_stdout(arg, chunk, err);
}

int copy_file_out(struct copy *c, const char *remote, struct error *err)
{
	return copy_download(c, remote, received_to_stdout, c, err);
}

int copy_tree_out(struct copy *c, const char *remote, struct error *err)
{
	return copy_archive_out(c, remote, to_stdout, c, err);
}

/* archive_pull, and the source of a command's input. */
static int64_t read_stdin(void *arg, char *room, size_t len, struct error *err)
{
	struct copy *c = arg;

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(c->stop), .events = POLLIN },
		};
		ssize_t n;

		(void)poll(p, 2, stop_poll_ms(c->stop, -1));
		if (stop_check(c->stop, err) < 0)
			return -1;
		if (!p[0].revents)
			continue;
		n = read(STDIN_FILENO, room, len);
		if (n >= 0)
			return n;
		if (errno != EINTR && errno != EAGAIN)
			return error_errno(err, "standard input");
	}
}

int copy_tree_in(struct copy *c, const char *remote, struct error *err)
{
	return copy_archive_in(c, remote, MODE, read_stdin, c, err);
}

static int write_spool(struct copy *c, int fd, archive_pull *pull, void *arg,
		       struct error *err)
{
	char *chunk = xcalloc(1, CHUNK);
	int64_t n;
	int rc = 0;

	c->disk = fd;
	while (rc == 0 && (n = pull(arg, chunk, CHUNK, err)) != 0) {
		if (n < 0 || copy_store(c, n, err) < 0)
			rc = -1;
		else if (io_write_all(fd, chunk, (size_t)n) < 0)
			rc = error_errno(err, "storing the copy in %s",
					 temporary_dir());
	}
	free(chunk);
	return rc;
}

int copy_spool(struct copy *c, archive_pull *pull, void *arg, struct error *err)
{
	char *path = xasprintf("%s/dcode-cp-XXXXXX", temporary_dir());
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		(void)unlink(path);
	free(path);
	if (fd < 0)
		return error_errno(err, "storing the copy in %s",
				   temporary_dir());
	if (write_spool(c, fd, pull, arg, err) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A transfer says its size first: what comes is stored until its end. */
int copy_file_in(struct copy *c, const char *remote, struct error *err)
{
	int fd = copy_spool(c, read_stdin, c, err);
	int rc;

	if (fd < 0)
		return -1;
	rc = copy_file_up(c, fd, 0, remote, err);
	c->files += rc == 0;
	close(fd);
	return rc;
}
