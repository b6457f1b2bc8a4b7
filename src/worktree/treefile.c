/* treefile.c - accesses a path below a tree's root without following links. */
/* SPDX-License-Identifier: MIT */
/*
 * Every component of a path is opened with O_NOFOLLOW, so that a link that
 * appears in the tree meanwhile cannot redirect it. tree_dir opens each
 * directory of a sorted list of paths only once. A write (struct
 * treefile_write) creates a file next to the path, then exchanges both names in
 * one step. The displaced file is checked, and put back if it is not the
 * expected one.
 */
#include "worktree/treefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"

enum { CHUNK = 1 << 16 };

int tree_dir_open(struct tree_dir *t, const char *root, struct error *err)
{
	*t = (struct tree_dir){ .path = xstrdup("") };
	t->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->fd = t->root;
	return t->root < 0 ? error_errno(err, "%s", root) : 0;
}

static void return_to_root(struct tree_dir *t)
{
	if (t->fd != t->root)
		close(t->fd);
	t->fd = t->root;
	t->path[0] = '\0';
}

/* Opens the directories of path up to len, its last slash. On failure the
 * current directory is the root again. */
static int descend(struct tree_dir *t, const char *path, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *slash = strchr(path + at, '/');
		size_t part = (size_t)(slash - path) - at;
		char name[NAME_MAX + 1];
		int fd;

		if (part > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path + at, part);
		name[part] = '\0';
		fd = openat(t->fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (t->fd != t->root)
			close(t->fd);
		t->fd = fd < 0 ? t->root : fd;
		if (fd < 0)
			return -1;
		at += part + 1;
	}
	return 0;
}

int tree_dir_parent(struct tree_dir *t, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	*name = path + len;
	if (strlen(t->path) == len && memcmp(t->path, path, len) == 0)
		return t->fd;
	return_to_root(t);
	if (descend(t, path, len) < 0)
		return -1;
	free(t->path);
	t->path = xstrndup(path, len);
	return t->fd;
}

void tree_dir_close(struct tree_dir *t)
{
	if (t->path)
		return_to_root(t);
	if (t->root >= 0)
		close(t->root);
	free(t->path);
	*t = (struct tree_dir){ .root = -1, .fd = -1 };
}

/* True if nothing exists, also because a component above is missing or not
 * a directory. */
static bool is_absent(const struct treefile *t)
{
	return t->mode == 0 || t->mode == TREEFILE_BLOCKED;
}

bool treefile_equal(const struct treefile *a, const struct treefile *b)
{
	if (is_absent(a) || is_absent(b))
		return is_absent(a) == is_absent(b);
	if (a->mode != b->mode)
		return false;
	if (a->mode != NAME_FILE && a->mode != NAME_PROGRAM &&
	    a->mode != NAME_LINK)
		return true;
	return memcmp(a->hash, b->hash, TREEFILE_HASH) == 0;
}

int treefile_parent(int root, const char *path, const char **name)
{
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	while (dir >= 0 && (slash = strchr(path, '/'))) {
		char part[NAME_MAX + 1];
		size_t len = (size_t)(slash - path);
		int next = -1;

		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
		} else {
			memcpy(part, path, len);
			part[len] = '\0';
			next = openat(dir, part,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC);
		}
		close(dir);
		dir = next;
		path = slash + 1;
	}
	*name = path;
	return dir;
}

int treefile_copy(int from, int to, unsigned char hash[TREEFILE_HASH])
{
	crypto_hash_sha256_state state;
	char chunk[CHUNK];
	ssize_t n;

	crypto_hash_sha256_init(&state);
	while ((n = read(from, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		crypto_hash_sha256_update(&state, (unsigned char *)chunk,
					  (size_t)n);
		for (ssize_t done = 0; to >= 0 && done < n;) {
			ssize_t put =
				write(to, chunk + done, (size_t)(n - done));

			if (put < 0 && errno != EINTR)
				return -1;
			done += put > 0 ? put : 0;
		}
	}
	crypto_hash_sha256_final(&state, hash);
	return 0;
}

static int read_link(int dir, const char *name, struct treefile *t)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0)
		return -1;
	crypto_hash_sha256(t->hash, (unsigned char *)target, (size_t)n);
	t->mode = NAME_LINK;
	return 0;
}

static int read_file(int dir, const char *name, struct treefile *t)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = fd < 0 ? -1 : treefile_copy(fd, -1, t->hash);
	int number = errno;

	if (fd >= 0)
		close(fd);
	errno = number;
	return rc;
}

/* Reads the state of a file. The times are read before the content, so that a
 * later write is noticed. */
static int read_at(int dir, const char *name, struct treefile *t)
{
	struct stat st;

	*t = (struct treefile){ 0 };
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	t->perm = st.st_mode & 07777;
	t->mtime = st.st_mtim;
	if (S_ISLNK(st.st_mode))
		return read_link(dir, name, t);
	t->mode = S_ISDIR(st.st_mode)      ? TREEFILE_DIR
		  : !S_ISREG(st.st_mode)   ? TREEFILE_OTHER
		  : (st.st_mode & S_IXUSR) ? NAME_PROGRAM
					   : NAME_FILE;
	return S_ISREG(st.st_mode) ? read_file(dir, name, t) : 0;
}

int treefile_stat(int root, const char *path, struct treefile *t,
		  struct error *err)
{
	const char *name;
	int dir = treefile_parent(root, path, &name);
	int rc;

	*t = (struct treefile){ 0 };
	if (dir < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		t->mode = TREEFILE_BLOCKED;
		return 0;
	}
	if (dir < 0)
		return errno == ENOENT ? 0 : error_errno(err, "%s", path);
	rc = read_at(dir, name, t);
	if (rc < 0)
		error_errno(err, "reading %s", path);
	close(dir);
	return rc;
}

/* Temporary names next to a path while it is written. */
struct beside {
	char new[NAME_MAX + 1]; /* the incomplete file */
	/* the complete file, or what was at the path before */
	char swap[NAME_MAX + 1];
};

static void name_beside(struct beside *b, const char *token)
{
	snprintf(b->new, sizeof(b->new), ".dcode-%s.new", token);
	snprintf(b->swap, sizeof(b->swap), ".dcode-%s.swap", token);
}

/* Sets ERR_BUSY; returns -1. */
static int set_changed(const struct treefile_write *w, struct error *err)
{
	return error_set(err, ERR_BUSY, "%s changed in the meantime", w->path);
}

/* Creates a link whose target is the content of the source. */
static int write_link(const struct treefile_write *w, int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = io_pread(w->source, target, sizeof(target) - 1, 0);

	if (n < 0)
		return -1;
	target[n] = '\0';
	if (symlinkat(target, dir, name) < 0)
		return -1;
	if (w->to->mtime.tv_nsec != UTIME_OMIT) {
		struct timespec times[2] = { { 0, UTIME_OMIT }, w->to->mtime };

		(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
	}
	return 0;
}

/* Gives the new file the owner and group of the file that it replaces, if
 * permitted: root may work in another user's tree. */
static void keep_owner(const struct treefile_write *w, int dir, int fd)
{
	const char *slash = strrchr(w->path, '/');
	struct stat was, is;

	if (fstatat(dir, slash ? slash + 1 : w->path, &was,
		    AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstat(fd, &is) < 0 || !S_ISREG(was.st_mode) ||
	    (was.st_uid == is.st_uid && was.st_gid == is.st_gid))
		return;
	if (fchown(fd, was.st_uid, was.st_gid) < 0 &&
	    fchown(fd, (uid_t)-1, was.st_gid) < 0)
		errno = 0;
}

/* Writes the file. -1 with errno; EIO if the source's content is not the
 * expected one. */
static int write_file(const struct treefile_write *w, int dir, const char *name)
{
	struct timespec times[2] = { { 0, UTIME_OMIT }, w->to->mtime };
	unsigned char hash[TREEFILE_HASH];
	int fd = openat(dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int rc = -1;
	int number;

	if (fd < 0)
		return -1;
	keep_owner(w, dir, fd);
	if (lseek(w->source, 0, SEEK_SET) == 0 &&
	    treefile_copy(w->source, fd, hash) == 0 &&
	    fchmod(fd, w->to->perm) == 0 && futimens(fd, times) == 0) {
		rc = memcmp(hash, w->to->hash, TREEFILE_HASH) ? -1 : 0;
		errno = rc < 0 ? EIO : errno;
	}
	number = errno;
	close(fd);
	errno = number;
	return rc;
}

static int stage_at(const struct treefile_write *w, int dir, const char *name,
		    const struct beside *b, struct error *err)
{
	int rc = w->to->mode == NAME_LINK ? write_link(w, dir, b->new)
					  : write_file(w, dir, b->new);

	if (rc == 0)
		rc = renameat(dir, b->new, dir, b->swap);
	if (rc < 0) {
		int number = errno;

		(void)unlinkat(dir, b->new, 0);
		errno = number;
		error_errno(err, "writing %s", w->path);
	}
	(void)name;
	return rc;
}

static int sync_at(const struct treefile_write *w, int dir, const char *name,
		   const struct beside *b, struct error *err)
{
	int fd;
	int rc = 0;

	(void)name;
	if (w->to->mode == NAME_LINK) /* a link has no content to sync */
		return 0;
	fd = openat(dir, b->swap, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || io_fsync(fd) < 0)
		rc = error_errno(err, "writing %s", w->path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* renameat2(), also for file systems that do not support its flags. There the
 * check and the rename are two steps, with as little time between them as
 * possible. */
static int rename_with(int dir, const char *from, const char *to,
		       unsigned flags)
{
	struct stat st;

	if (renameat2(dir, from, dir, to, flags) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (flags == RENAME_NOREPLACE &&
	    fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(dir, from, dir, to);
}

/* Call after both names were exchanged: checks the displaced file, which is now
 * at swap, and puts it back if it is not the expected one. */
static int check_displaced(const struct treefile_write *w, int dir,
			   const char *name, const char *swap,
			   struct error *err)
{
	struct treefile was;

	if (read_at(dir, swap, &was) < 0)
		return error_errno(err, "reading %s", w->path);
	if (!was.mode || treefile_equal(&was, w->from)) {
		(void)unlinkat(dir, swap, 0);
		return 0;
	}
	if (!w->to->mode)
		(void)rename_with(dir, swap, name, RENAME_NOREPLACE);
	else if (renameat2(dir, swap, dir, name, RENAME_EXCHANGE) == 0)
		(void)unlinkat(dir, swap, 0);
	return set_changed(w, err);
}

/* Puts the staged file in place. If path is not in the expected state, the
 * staged file is removed. */
static int put_at(const struct treefile_write *w, int dir, const char *name,
		  const struct beside *b, struct error *err)
{
	struct treefile now;

	if (read_at(dir, name, &now) < 0)
		error_errno(err, "reading %s", w->path);
	else if (!treefile_equal(&now, w->from))
		set_changed(w, err);
	else if (rename_with(dir, b->swap, name,
			     now.mode ? RENAME_EXCHANGE : RENAME_NOREPLACE) ==
		 0)
		return now.mode ? check_displaced(w, dir, name, b->swap, err)
				: 0;
	else if (errno == EEXIST || errno == ENOENT)
		set_changed(w, err);
	else
		error_errno(err, "writing %s", w->path);
	(void)unlinkat(dir, b->swap, 0);
	return -1;
}

static int remove_at(const struct treefile_write *w, int dir, const char *name,
		     const struct beside *b, struct error *err)
{
	struct treefile now;

	if (read_at(dir, name, &now) < 0)
		return error_errno(err, "reading %s", w->path);
	if (!treefile_equal(&now, w->from))
		return set_changed(w, err);
	if (rename_with(dir, name, b->swap, RENAME_NOREPLACE) < 0)
		return error_errno(err, "removing %s", w->path);
	return check_displaced(w, dir, name, b->swap, err);
}

/* Calls act with the path's directory and the temporary names in it. */
static int at_parent(const struct treefile_write *w,
		     int (*act)(const struct treefile_write *, int,
				const char *, const struct beside *,
				struct error *),
		     struct error *err)
{
	struct beside b;
	const char *name;
	int dir = treefile_parent(w->root, w->path, &name);
	int rc;

	if (dir < 0)
		return error_errno(err, "opening the directory of %s", w->path);
	name_beside(&b, w->token);
	rc = act(w, dir, name, &b, err);
	close(dir);
	return rc;
}

int treefile_stage(const struct treefile_write *w, struct error *err)
{
	return at_parent(w, stage_at, err);
}

int treefile_sync(const struct treefile_write *w, struct error *err)
{
	return at_parent(w, sync_at, err);
}

int treefile_put(const struct treefile_write *w, struct error *err)
{
	return at_parent(w, put_at, err);
}

int treefile_remove(const struct treefile_write *w, struct error *err)
{
	return at_parent(w, remove_at, err);
}

/* Saves bytes that somebody wrote to the file after it was displaced. */
static int keep_displaced(const struct treefile_write *w, int dir,
			  const char *name, const struct beside *b, bool *saved)
{
	char kept[NAME_MAX + 1];
	struct treefile now;

	if (read_at(dir, name, &now) < 0)
		return -1;
	if (!now.mode)
		return rename_with(dir, b->swap, name, RENAME_NOREPLACE);
	if (treefile_equal(&now, w->to) || treefile_equal(&now, w->from))
		return renameat(dir, b->swap, dir, name);
	*saved = true;
	snprintf(kept, sizeof(kept), "%.200s.saved-%s", name, w->token);
	return rename_with(dir, b->swap, kept, RENAME_NOREPLACE);
}

int treefile_clean(const struct treefile_write *w, bool *saved,
		   struct error *err)
{
	struct treefile t;
	struct beside b;
	const char *name;
	int dir = treefile_parent(w->root, w->path, &name);
	int rc = 0;

	*saved = false;
	if (dir < 0)
		return 0;
	name_beside(&b, w->token);
	if (unlinkat(dir, b.new, 0) < 0 && errno != ENOENT)
		rc = -1;
	else if (read_at(dir, b.swap, &t) < 0)
		rc = -1;
	else if (treefile_equal(&t, w->from) || treefile_equal(&t, w->to))
		rc = t.mode ? unlinkat(dir, b.swap, 0) : 0;
	else if (t.mode)
		rc = keep_displaced(w, dir, name, &b, saved);
	if (rc < 0)
		error_errno(err, "cleaning up beside %s", w->path);
	close(dir);
	return rc;
}

int treefile_mkdir(int root, const char *path, mode_t perm, struct error *err)
{
	const char *name;
	int dir = treefile_parent(root, path, &name);
	int rc = dir < 0 ? -1 : mkdirat(dir, name, perm);

	if (rc < 0 && errno == EEXIST)
		rc = 0;
	else if (rc < 0)
		error_errno(err, "creating %s", path);
	else if (fchmodat(dir, name, perm, 0) < 0)
		rc = error_errno(err, "creating %s", path);
	if (dir >= 0)
		close(dir);
	return rc;
}

/* True for the current directory: it must not be removed, because a shell or
 * dcode itself is in it. */
static bool is_current(int dir, const char *name)
{
	struct stat here, there;

	return stat(".", &here) == 0 &&
	       fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

int treefile_rmdir(int root, const char *path, struct error *err)
{
	const char *name;
	int dir = treefile_parent(root, path, &name);
	int rc = 0;

	if (dir < 0)
		return 0;
	if (!is_current(dir, name) && unlinkat(dir, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT &&
	    errno != ENOTDIR && errno != EBUSY)
		rc = error_errno(err, "removing %s", path);
	close(dir);
	return rc;
}
