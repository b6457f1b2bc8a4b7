/* pipe.c - sandbox cp from standard input and to standard output. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/sandbox/copy.h"
#include "ui/output.h"

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
		return error_hint(err, "write to a file (> FILE) or into a"
				       " pipe");
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
	return error_hint(err, "pipe something into it, or read a file"
			       " (< FILE)");
}

static int write_stdout(struct copy *c, struct str data, struct error *err)
{
	if (output_write(STDOUT_FILENO, data, c->stop) == 0)
		return 0;
	c->unread = errno == EPIPE;
	return errno == ECANCELED ? stop_check(c->stop, err)
				  : error_errno(err, "standard output");
}

int copy_to_stdout(struct copy *c, struct str chunk, struct error *err)
{
	if (copy_receive(c, chunk.len, err) < 0 ||
	    copy_store(c, (int64_t)chunk.len, err) < 0)
		return -1;
	return write_stdout(c, chunk, err);
}

static int on_chunk(void *arg, struct str chunk, struct error *err)
{
	return copy_to_stdout(arg, chunk, err);
}

int copy_file_out(struct copy *c, const char *remote, struct error *err)
{
	struct transfer t = { .path = remote, .write = on_chunk, .arg = c };

	if (sandbox_download(c->sb, &t, 1, c->stop, err) < 0)
		return -1;
	if (t.error != FILE_OK)
		return copy_failed(c, &t, err);
	c->files++;
	return 0;
}

/* Makes a directory that only we can read, and opens it. */
static int open_temporary(char **path, struct error *err)
{
	int dir;

	*path = xasprintf("%s/dcode-cp-XXXXXX", temporary_dir());
	if (!mkdtemp(*path)) {
		error_errno(err, "creating %s", *path);
		free(*path);
		*path = NULL;
		return -1;
	}
	dir = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? error_errno(err, "%s", *path) : dir;
}

static void remove_temporary(char *path)
{
	struct error err = { 0 };

	if (path && path_remove_tree(path, &err) < 0)
		app_warn("%s", err.message);
	free(path);
}

static void on_skipped(void *arg, struct str name, const char *why)
{
	(void)arg;
	app_warn("not copied: %.*s: %s", (int)name.len, name.ptr, why);
}

/* Takes dir over. */
static int pack(struct copy *c, int dir, struct error *err)
{
	struct archive_log log = { on_skipped, NULL };
	struct archive_writer *w = NULL;
	char *chunk = xcalloc(1, CHUNK);
	int64_t n = 0;
	int rc = archive_writer_open(&w, dir, &log, err);

	while (rc == 0 && (n = archive_writer_pull(w, chunk, CHUNK, err)) > 0) {
		struct str data = { chunk, (size_t)n };

		rc = write_stdout(c, data, err);
	}
	archive_writer_close(w);
	free(chunk);
	return n < 0 ? -1 : rc;
}

/* Without a tar in the sandbox, or a way to get its output as bytes: file by
 * file into a directory of ours, and from there. */
int copy_tree_out(struct copy *c, const char *remote, struct error *err)
{
	char *path = NULL;
	int rc;
	int dir;

	if (copy_by_tar(c))
		return copy_tar_out(c, remote, err);
	dir = open_temporary(&path, err);
	rc = dir < 0 ? -1 : 0;
	if (rc == 0) {
		c->disk = dir;
		rc = copy_files_down(c, remote, dir, err);
	}
	if (rc == 0)
		rc = pack(c, dir, err);
	else if (dir >= 0)
		close(dir);
	remove_temporary(path);
	return rc;
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

static int store_stdin(void *arg, int64_t bytes, struct error *err)
{
	return copy_store(arg, bytes, err);
}

int copy_tree_in(struct copy *c, const char *remote, struct error *err)
{
	struct archive_input from = { read_stdin, store_stdin, c };
	struct archive_log log = { on_skipped, NULL };
	struct archive_counts counts = { 0 };
	char *path = NULL;
	int rc;
	int dir;

	if (copy_by_tar(c))
		return copy_tar_in(c, remote, MODE, read_stdin, c, err);
	dir = open_temporary(&path, err);
	rc = dir < 0 ? -1 : 0;
	c->disk = dir;
	if (rc == 0)
		rc = archive_extract(&from, dir, &log, &counts, err);
	c->skipped += counts.skipped;
	if (rc == 0)
		rc = copy_files_up(c, dir, remote, err);
	else if (dir >= 0)
		close(dir);
	remove_temporary(path);
	return rc;
}

/* A transfer says its size first: what comes is stored in a file that has no
 * name, and goes from there. */
static int spool(struct copy *c, int fd, struct error *err)
{
	char *chunk = xcalloc(1, CHUNK);
	int64_t n;
	int rc = 0;

	c->disk = fd;
	while (rc == 0 && (n = read_stdin(c, chunk, CHUNK, err)) != 0) {
		if (n < 0 || copy_store(c, n, err) < 0)
			rc = -1;
		else if (write(fd, chunk, (size_t)n) != n)
			rc = error_errno(err, "storing standard input in %s",
					 temporary_dir());
	}
	free(chunk);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = error_errno(err, "reading what was stored");
	return rc;
}

int copy_file_in(struct copy *c, const char *remote, struct error *err)
{
	char *path = xasprintf("%s/dcode-cp-XXXXXX", temporary_dir());
	int fd = mkostemp(path, O_CLOEXEC);
	int rc;

	if (fd >= 0)
		(void)unlink(path);
	free(path);
	if (fd < 0)
		return error_errno(err, "storing standard input in %s",
				   temporary_dir());
	rc = spool(c, fd, err);
	if (rc == 0)
		rc = copy_file_up(c, fd, 0, remote, err);
	close(fd);
	return rc;
}
