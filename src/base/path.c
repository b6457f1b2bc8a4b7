/* path.c - operations on files and directories by name. */
/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/stop.h"

/* statfs(2) types of file systems where one syncfs() is as good as an fsync()
 * of each file. That may not be true for network file systems and FUSE. */
static const unsigned long local_types[] = {
	0xef53,     /* ext2 to ext4 */
	0x58465342, /* XFS */
	0x9123683e, /* btrfs */
	0xf2f52010, /* F2FS */
	0x2fc12fc1, /* ZFS */
	0xca451a4e, /* bcachefs */
	0x01021994, /* tmpfs */
	0x794c7630, /* overlayfs */
};

static bool is_local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(local_types) / sizeof(*local_types); i++)
		if ((unsigned long)fs.f_type == local_types[i])
			return true;
	return false;
}

/* True if syncfs() reports write errors (Linux 5.8 or later). */
static bool reports_errors(void)
{
	struct utsname u;
	int major = 0;
	int minor = 0;

	return uname(&u) == 0 &&
	       sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 8));
}

int durable_filesystem(int fd)
{
	if (!is_local(fd) || !reports_errors())
		return 0;
	if (syncfs(fd) == 0)
		return 1;
	return errno == ENOSYS || errno == EINVAL ? 0 : -1;
}

enum { LOCK_PAUSE_MS = 5 };

/* directory levels that path_remove_tree() opens at once */
enum { DEEPEST = 64 };

struct removal {
	int top;        /* descriptor of the root of the tree */
	unsigned moved; /* number of directories moved to the root so far */
};

static int empty_directory(struct removal *r, int fd, int depth);

char *path_join(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (b[0] == '/')
		return xstrdup(b);
	return xasprintf("%s%s%s", a, len && a[len - 1] == '/' ? "" : "/", b);
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool path_is_version_of(const char *name, const char *program)
{
	size_t n = strlen(program);

	return !strncmp(name, program, n) &&
	       !name[n + strspn(name + n, "0123456789.")];
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

/* Opens the file, or creates it, and locks it. If it is locked, waits until
 * stop ends the wait; stop NULL: does not wait. */
static int lock_file(const char *path, int how, const struct stop *stop,
		     struct error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return error_errno(err, "opening %s", path);
	while (io_flock(fd, how | LOCK_NB) < 0) {
		int rc = -1;

		if (errno != EWOULDBLOCK)
			error_errno(err, "locking %s", path);
		else if (!stop)
			error_set(err, ERR_TIMEOUT, "another dcode is using %s",
				  path);
		else
			rc = stop_sleep(stop, LOCK_PAUSE_MS, err);
		if (rc < 0) {
			close(fd);
			return -1;
		}
	}
	return fd;
}

int path_lock(const char *path, const struct stop *stop, struct error *err)
{
	return lock_file(path, LOCK_EX, stop, err);
}

int path_lock_shared(const char *path, const struct stop *stop,
		     struct error *err)
{
	return lock_file(path, LOCK_SH, stop, err);
}

int path_lock_upgrade(int fd)
{
	return io_flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : 0;
}

int path_read_fd(int fd, const char *path, struct buf *out, struct error *err)
{
	char chunk[16384];
	ssize_t n;

	while ((n = io_read(fd, chunk, sizeof(chunk))) > 0 && !out->over)
		buf_add(out, chunk, (size_t)n);
	if (n < 0)
		error_errno(err, "reading %s", path);
	close(fd);
	return n < 0 ? -1 : buf_check(out, path, err);
}

int path_read(const char *path, struct buf *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, "reading %s", path)
		      : path_read_fd(fd, path, out, err);
}

int path_read_regular(const char *path, struct buf *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return error_errno(err, "reading %s", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return path_read_fd(fd, path, out, err);
	close(fd);
	return error_set(err, ERR_CONFIG, "%s is not a regular file", path);
}

int path_write(const char *path, struct str data, mode_t mode,
	       struct error *err)
{
	char *temporary = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	int number;
	int rc = -1;

	if (fd < 0) {
		number = errno;
		error_errno(err, "writing %s", path);
		goto out;
	}
	if (fchmod(fd, mode) < 0 || io_write_all(fd, data.ptr, data.len) < 0 ||
	    io_fsync(fd) < 0 || rename(temporary, path) < 0) {
		number = errno;
		error_errno(err, "writing %s", path);
		unlink(temporary);
	} else {
		number = 0;
		rc = 0;
	}
	close(fd);
out:
	free(temporary);
	errno = number;
	return rc;
}

/* Opens a directory in order to empty it. Makes it accessible first if its mode
 * forbids that. Does not follow links. */
static int open_to_empty(int dir, const char *name)
{
	const int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, O_RDONLY | how);
	char self[32];
	int handle;

	if (fd < 0 && errno == EACCES) {
		handle = openat(dir, name, O_PATH | how);
		if (handle < 0)
			return -1;
		snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
		if (chmod(self, 0700) == 0)
			fd = openat(dir, name, O_RDONLY | how);
		close(handle);
	}
	if (fd >= 0)
		(void)fchmod(fd, 0700);
	return fd;
}

/* Moves a deeply nested directory to the root of the tree. So the number of
 * open descriptors is limited in trees of any depth. */
static int move_up(struct removal *r, int dir, const char *name)
{
	int rc = -1;

	for (int i = 0; i < 1000 && rc < 0; i++) {
		char to[32];

		snprintf(to, sizeof(to), ".removed-%u", r->moved++);
		rc = renameat(dir, name, r->top, to);
		if (rc < 0 && errno != ENOTEMPTY && errno != EEXIST &&
		    errno != ENOTDIR)
			break;
	}
	return rc;
}

/* Removes one entry of a directory, with everything below it. */
static int remove_at(struct removal *r, int dir, const char *name, int depth)
{
	int fd;
	int rc;

	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	fd = open_to_empty(dir, name);
	if (fd < 0)
		return -1;
	if (depth > DEEPEST) {
		close(fd);
		return move_up(r, dir, name);
	}
	rc = empty_directory(r, fd, depth);
	return rc ? rc : unlinkat(dir, name, AT_REMOVEDIR);
}

/* Removes everything in the directory. Takes ownership of fd. */
static int empty_directory(struct removal *r, int fd, int depth)
{
	DIR *entries = fdopendir(fd);
	struct dirent *e;
	unsigned before;
	int rc = 0;

	if (!entries) {
		close(fd);
		return -1;
	}
	do {
		before = r->moved;
		rewinddir(entries);
		while (rc == 0 && (e = readdir(entries)))
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				rc = remove_at(r, fd, e->d_name, depth + 1);
	} while (rc == 0 && depth == 0 && r->moved != before);
	closedir(entries);
	return rc;
}

int path_remove_tree(const char *path, struct error *err)
{
	struct removal r = { .top = -1 };
	int rc = unlink(path);

	if (rc < 0 && (errno == EISDIR || errno == EPERM)) {
		r.top = open_to_empty(AT_FDCWD, path);
		rc = r.top < 0 ? -1 : empty_directory(&r, r.top, 0);
		if (rc == 0)
			rc = rmdir(path);
	}
	if (rc < 0 && errno != ENOENT)
		return error_errno(err, "removing %s", path);
	return 0;
}

bool path_is_same(const char *a, const char *b)
{
	struct stat x;
	struct stat y;

	return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
