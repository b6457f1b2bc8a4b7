/* copy_file.c - one file from here into a sandbox, or out of it. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/copy_copy.h"

struct local_source { /* the file that is being sent */
	int fd;
	int64_t left;
	const char *remote;
};

/* Exactly as many bytes as were promised, or an error. */
static int64_t read_source(void *arg, char *room, size_t len, struct error *err)
{
	struct local_source *s = arg;
	ssize_t n;

	if (s->left <= 0)
		return 0;
	if ((int64_t)len > s->left)
		len = (size_t)s->left;
	do
		n = read(s->fd, room, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "reading the file for %s", s->remote);
	if (n == 0)
		return error_set(
			err, ERR_SYSTEM,
			"the file for %s became shorter while it was read",
			s->remote);
	s->left -= n;
	return n;
}

static int rewind_source(void *arg, struct error *err)
{
	struct local_source *s = arg;
	struct stat st;

	if (lseek(s->fd, 0, SEEK_SET) < 0 || fstat(s->fd, &st) < 0)
		return error_errno(err, "reading the file for %s again",
				   s->remote);
	s->left = st.st_size;
	return 0;
}

int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err)
{
	struct local_source s = { .fd = fd, .remote = remote };
	struct transfer t = {
		.path = remote,
		.mode = mode,
		.read = read_source,
		.rewind = rewind_source,
		.arg = &s,
	};

	if (rewind_source(&s, err) < 0)
		return -1;
	t.size = s.left;
	if (sandbox_upload(c->sb, &t, 1, c->stop, err) < 0)
		return -1;
	return t.error == FILE_OK ? 0 : copy_failed(c, &t, err);
}

enum { TEMPORARY = 24 }; /* characters of a temporary name, with NUL */

struct file_sink { /* the file that is being received */
	struct copy *copy;
	int dir; /* where it goes */
	const char *name;
	char temporary[TEMPORARY];
	int fd; /* -1 until the first byte */
};

static int sink_open(struct file_sink *s, struct error *err)
{
	char random[17];

	if (s->fd >= 0)
		return 0;
	ids_random(random, 16);
	snprintf(s->temporary, sizeof(s->temporary), ".dcode-%s", random);
	s->fd = openat(s->dir, s->temporary,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	return s->fd < 0 ? error_errno(err, "creating %s", s->name) : 0;
}

static int write_sink(void *arg, struct str chunk, struct error *err)
{
	struct file_sink *s = arg;

	if (copy_receive(s->copy, chunk.len, err) < 0 ||
	    copy_store(s->copy, (int64_t)chunk.len, err) < 0 ||
	    sink_open(s, err) < 0)
		return -1;
	while (chunk.len) {
		ssize_t n = write(s->fd, chunk.ptr, chunk.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "writing %s", s->name);
		chunk = str_skip(chunk, (size_t)n);
	}
	return 0;
}

static int rename_temporary(const struct file_sink *s)
{
	if (!s->copy->no_replace)
		return renameat(s->dir, s->temporary, s->dir, s->name);
	if (renameat2(s->dir, s->temporary, s->dir, s->name,
		      RENAME_NOREPLACE) == 0)
		return 0;
	/* A file system that cannot, such as NFS. */
	if (errno != EINVAL ||
	    linkat(s->dir, s->temporary, s->dir, s->name, 0) < 0)
		return -1;
	return unlinkat(s->dir, s->temporary, 0);
}

/* whole: gives it its name; else it is removed. */
static int sink_close(struct file_sink *s, bool whole, struct error *err)
{
	int rc = whole ? sink_open(s, err) : 0; /* it may be empty */
	mode_t mask = umask(0);

	umask(mask);
	if (s->fd < 0)
		return rc;
	if (rc == 0 && whole &&
	    (fchmod(s->fd, 0666 & ~mask) < 0 || rename_temporary(s) < 0))
		rc = error_errno(err, "creating %s", s->name);
	close(s->fd);
	if (rc < 0 || !whole)
		unlinkat(s->dir, s->temporary, 0);
	return rc;
}

int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err)
{
	const char *slash = strrchr(local, '/');
	char *directory = slash ? xstrndup(local, (size_t)(slash - local) + 1)
				: xstrdup(".");
	struct file_sink s = { .copy = c,
			       .name = slash ? slash + 1 : local,
			       .fd = -1 };
	struct error ignored = { 0 };
	int rc;

	s.dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = s.dir < 0 ? error_errno(err, "%s", directory) : 0;
	free(directory);
	if (rc < 0)
		return -1;
	c->disk = s.dir;
	rc = copy_download(c, remote, write_sink, &s, err);
	if (sink_close(&s, rc == 0, rc == 0 ? err : &ignored) < 0)
		rc = -1;
	close(s.dir);
	return rc;
}
