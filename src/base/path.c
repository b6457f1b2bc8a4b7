/* path.c - names of files on this machine. */
/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { DEEPEST = 4000 }; /* levels path_remove_tree() descends */

char *path_join(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (b[0] == '/')
		return xstrdup(b);
	return xasprintf("%s%s%s", a, len && a[len - 1] == '/' ? "" : "/", b);
}

char *path_expand(const char *path, const char *home)
{
	if (path[0] != '~' || (path[1] && path[1] != '/') || !home)
		return xstrdup(path);
	return xasprintf("%s%s", home, path + 1);
}

int path_mkdirs(const char *path, mode_t mode, struct error *err)
{
	char *copy = xstrdup(path);
	int rc = 0;

	for (char *p = copy + 1; rc == 0; p++) {
		char kept = *p;

		if (kept != '/' && kept != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			rc = error_errno(err, "creating %s", copy);
		*p = kept;
		if (!kept)
			break;
	}
	free(copy);
	return rc;
}

int path_read(const char *path, struct buf *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[16384];
	ssize_t n;

	if (fd < 0)
		return error_errno(err, "reading %s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 && !out->over)
		buf_add(out, chunk, (size_t)n);
	if (n < 0)
		error_errno(err, "reading %s", path);
	close(fd);
	return n < 0 ? -1 : buf_check(out, path, err);
}

static int write_all(int fd, struct str data)
{
	while (data.len) {
		ssize_t n = write(fd, data.ptr, data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data.ptr += n;
		data.len -= (size_t)n;
	}
	return 0;
}

int path_write(const char *path, struct str data, mode_t mode,
	       struct error *err)
{
	char *temporary = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	int rc = -1;

	if (fd < 0) {
		error_errno(err, "writing %s", path);
		goto out;
	}
	if (fchmod(fd, mode) < 0 || write_all(fd, data) < 0 || fsync(fd) < 0 ||
	    rename(temporary, path) < 0) {
		error_errno(err, "writing %s", path);
		unlink(temporary);
	} else {
		rc = 0;
	}
	close(fd);
out:
	free(temporary);
	return rc;
}

static int remove_at(int dir, const char *name, int depth)
{
	int fd;
	DIR *entries;
	struct dirent *e;
	int rc = 0;

	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (depth > DEEPEST) {
		errno = ELOOP;
		return -1;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES &&
	    fchmodat(dir, name, 0700, 0) == 0) /* a directory of mode 000 */
		fd = openat(dir, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	(void)fchmod(fd, 0700);
	entries = fdopendir(fd);
	if (!entries) {
		close(fd);
		return -1;
	}
	while (rc == 0 && (e = readdir(entries)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			rc = remove_at(fd, e->d_name, depth + 1);
	closedir(entries);
	return rc ? rc : unlinkat(dir, name, AT_REMOVEDIR);
}

int path_remove_tree(const char *path, struct error *err)
{
	if (remove_at(AT_FDCWD, path, 0) < 0 && errno != ENOENT)
		return error_errno(err, "removing %s", path);
	return 0;
}
