/* record.c - placeholders that dcode made in the user's directories. */
/* SPDX-License-Identifier: MIT */
/* A placeholder is an empty file or directory at a name that a sandbox must not
 * create (guard.c). It must be removed when the sandbox has ended, even if
 * dcode was killed, but only if no other sandbox relies on it and the user has
 * not replaced it. So each is written to a record before it is made:
 * record_open(), record_plan() for each, record_make(), and at the end
 * record_release(). local.h says who may read and remove which record. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	RECORD_MAX = 4 << 20, /* bytes of one record */
	LOCK_MS = 10000,
};

/* Returns the directory of records, owned by the caller. */
static char *records_dir(const char *settings_dir)
{
	return path_join(settings_dir, "sandboxes/.placeholders");
}

/* Locks the records: only one process at a time changes records and
 * placeholders. Returns the lock's descriptor, or -1. */
static int lock_records(const char *dir, const struct stop *stop,
			struct error *err)
{
	struct stop limit = stop_within(stop, LOCK_MS);
	char *path = path_join(dir, "lock");
	int fd = -1;

	if (path_mkdirs(dir, 0700, err) == 0)
		fd = path_lock(path, &limit, err);
	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_wrap(err, "waiting for another dcode (%s)", path);
	free(path);
	return fd;
}

static struct placeholder *find_placeholder(const struct placeholders *all,
					    const char *path)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->list[i].path, path))
			return &all->list[i];
	return NULL;
}

/* Returns the placeholder with this path. If there is none yet, a copy of like
 * is added. */
static struct placeholder *add_placeholder(struct placeholders *all,
					   const char *path,
					   const struct placeholder *like)
{
	struct placeholder *p = find_placeholder(all, path);

	if (p)
		return p;
	all->list = xrealloc(all->list, all->n + 1, sizeof(*all->list));
	p = &all->list[all->n++];
	*p = *like;
	p->path = xstrdup(path);
	return p;
}

static void release_list(struct placeholders *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->list[i].path);
	free(all->list);
}

/* Parses entries "d DEV INO /path" (f for a file), each ended by NUL. The last
 * entry for a path sets its device and inode. */
static void parse_lines(struct str text, struct placeholders *out)
{
	struct str line;

	while (str_split(&text, '\0', &line)) {
		char *copy = xstrndup(line.ptr, line.len);
		struct placeholder p = { 0 };
		struct placeholder *found;
		char kind;
		int at = 0;

		if (sscanf(copy, "%c %" SCNu64 " %" SCNu64 " %n", &kind, &p.dev,
			   &p.ino, &at) == 3 &&
		    at && copy[at] == '/') {
			p.directory = kind == 'd';
			found = add_placeholder(out, copy + at, &p);
			found->dev = p.dev;
			found->ino = p.ino;
		}
		free(copy);
	}
}

/* Appends a line to the record. Errors are ignored here; sync_record() detects
 * a missing line. */
static void write_line(struct record *r, const struct placeholder *p)
{
	char *line =
		xasprintf("%c %" PRIu64 " %" PRIu64 " %s",
			  p->directory ? 'd' : 'f', p->dev, p->ino, p->path);
	size_t len = strlen(line) + 1;

	(void)io_write_all(r->fd, line, len);
	free(line);
}

void record_plan(struct record *r, const char *path, bool directory)
{
	write_line(r, add_placeholder(
			      &r->own, path,
			      &(struct placeholder){ .directory = directory }));
}

/* Fails if a line is missing, for example because the disk is full, or if the
 * record cannot be written to the disk. */
static int sync_record(const struct record *r, struct error *err)
{
	struct stat st;
	int64_t want = 0;

	for (size_t i = 0; i < r->own.n; i++)
		want += (int64_t)strlen(r->own.list[i].path) + 1;
	if (fstat(r->fd, &st) < 0 || st.st_size < want || io_fsync(r->fd) < 0)
		return error_errno(err, "writing %s", r->path);
	return 0;
}

/* Returns what a placeholder contains. For git, an empty commondir is a broken
 * repository, and "." is the same as no commondir. */
static const char *text_of(const char *path)
{
	return str_ends(str_of(path), "/commondir") ? "." : "";
}

/* Creates a file that is visible only with its complete text. */
static int make_file(const char *path)
{
	struct str text = str_of(text_of(path));
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	char self[32];
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	bool named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR ||
				errno == ENOENT);
	int rc = -1;

	if (named)
		fd = open(path,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0644);
	if (fd >= 0 &&
	    io_write_all(fd, text.ptr ? text.ptr : "", text.len) == 0) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		rc = named ? 0
			   : linkat(AT_FDCWD, self, AT_FDCWD, path,
				    AT_SYMLINK_FOLLOW);
	}
	if (fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	free(dir);
	return rc;
}

/* Makes a placeholder and stores its device and inode. Returns 0 also if the
 * user may not write there. */
static int make_placeholder(struct placeholder *p, struct error *err)
{
	struct stat st;

	if ((p->directory ? mkdir(p->path, 0755) : make_file(p->path)) < 0) {
		/* The sandbox runs as the same user, so it cannot create the
		 * name either. */
		if (errno != EROFS && errno != EACCES && errno != EPERM &&
		    errno != EEXIST)
			return error_errno(err, "making %s", p->path);
		/* no file has these numbers: dcode did not make it */
		p->dev = p->ino = UINT64_MAX;
	} else if (lstat(p->path, &st) == 0) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
	}
	return 0;
}

int record_make(struct record *r, struct error *err)
{
	int rc = sync_record(r, err);

	for (size_t i = 0; i < r->own.n && rc == 0; i++) {
		struct placeholder *p = &r->own.list[i];

		if (p->ino)
			continue;
		rc = make_placeholder(p, err);
		if (rc == 0)
			write_line(r, p);
	}
	if (rc == 0)
		rc = sync_record(r, err);
	close(r->lock);
	r->lock = -1;
	return rc;
}

/* Opens the directory of path without following links. *last is the name in
 * it. */
static int open_parent(const char *path, const char **last)
{
	struct str rest = { path, (size_t)(strrchr(path, '/') - path) };
	int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct str name;

	*last = strrchr(path, '/') + 1;
	while (at >= 0 && str_split(&rest, '/', &name)) {
		char *copy = xstrndup(name.ptr, name.len);
		int next = copy[0] ? openat(at, copy,
					    O_PATH | O_DIRECTORY | O_NOFOLLOW |
						    O_CLOEXEC)
				   : at;

		free(copy);
		if (next != at)
			close(at);
		at = next;
	}
	return at;
}

/* True if the file contains only the text that dcode wrote. */
static bool is_untouched(int parent, const char *name,
			 const struct placeholder *p)
{
	const char *text = text_of(p->path);
	char have[4] = "";
	ssize_t n = -1;
	int fd = openat(parent, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0) {
		n = io_read(fd, have, sizeof(have) - 1);
		close(fd);
	}
	return n == (ssize_t)strlen(text) && !strcmp(have, text);
}

/* Removes a placeholder, unless the user has replaced it by something else. */
static void remove_placeholder(const struct placeholder *p)
{
	const char *name;
	int parent = open_parent(p->path, &name);
	struct stat st;

	if (parent < 0)
		return;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!p->ino || (p->ino == st.st_ino && p->dev == st.st_dev))) {
		if (p->directory && S_ISDIR(st.st_mode))
			(void)unlinkat(parent, name, AT_REMOVEDIR);
		else if (!p->directory && S_ISREG(st.st_mode) &&
			 is_untouched(parent, name, p))
			(void)unlinkat(parent, name, 0);
	}
	close(parent);
}

/* Removes the placeholders, except those that a running process relies on. */
static void remove_all(const struct placeholders *all,
		       const struct placeholders *living)
{
	for (size_t i = 0; i < all->n; i++)
		if (!find_placeholder(living, all->list[i].path))
			remove_placeholder(&all->list[i]);
}

/* Adds the placeholders of a record. Returns false if its process has ended, in
 * which case nobody holds the record's lock. */
static bool read_record(const char *path, struct placeholders *out)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	struct error ignored = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool living = true;

	if (fd >= 0 && path_read(path, &text, &ignored) == 0) {
		parse_lines(buf_str(&text), out);
		living = io_flock(fd, LOCK_SH | LOCK_NB) < 0;
	}
	if (fd >= 0)
		close(fd);
	buf_release(&text);
	return living;
}

/* Returns the path of the directory's next record, owned by the caller; NULL at
 * the end. */
static char *next_record(DIR *dir, const char *path)
{
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0)
			return path_join(path, e->d_name);
	return NULL;
}

/* If the record's process runs, adds its placeholders to living. If it has
 * ended and dead is set, removes the record, and those of its placeholders that
 * are not in living. */
static void sweep_record(const char *name, bool dead,
			 struct placeholders *living)
{
	struct placeholders named = { 0 };
	bool lives = read_record(name, &named);

	for (size_t i = 0; lives && i < named.n; i++)
		(void)add_placeholder(living, named.list[i].path,
				      &named.list[i]);
	if (!lives && dead) {
		remove_all(&named, living);
		unlink(name);
	}
	release_list(&named);
}

/* Reads the records of running processes except the record with the path ours,
 * then removes those of ended processes. Called with the lock held. */
static void sweep_records(const char *path, const char *ours,
			  struct placeholders *living)
{
	for (int dead = 0; dead < 2; dead++) {
		DIR *dir = opendir(path);
		char *name;

		while ((name = next_record(dir, path))) {
			if (!ours || strcmp(name, ours) != 0)
				sweep_record(name, dead, living);
			free(name);
		}
		if (dir)
			closedir(dir);
	}
}

void record_sweep_all(const char *settings_dir)
{
	struct stop limit = stop_cleanup(LOCK_MS);
	struct placeholders living = { 0 };
	struct error ignored = { 0 };
	char *path = records_dir(settings_dir);
	DIR *dir = opendir(path);
	char *any = next_record(dir, path);
	int lock = any ? lock_records(path, &limit, &ignored) : -1;

	if (dir)
		closedir(dir);
	if (lock >= 0) {
		sweep_records(path, NULL, &living);
		close(lock);
	}
	release_list(&living);
	free(any);
	free(path);
}

int record_open(struct record *r, const char *settings_dir, const char *label,
		const struct stop *stop, struct error *err)
{
	char once[9];

	*r = (struct record){ .fd = -1, .dir = records_dir(settings_dir) };
	r->lock = lock_records(r->dir, stop, err);
	if (r->lock < 0)
		return -1;
	sweep_records(r->dir, NULL, &r->living);
	ids_random(once, sizeof(once) - 1);
	r->path = xasprintf("%s/%s.%s", r->dir, label, once);
	r->fd = open(r->path,
		     O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC |
			     O_NOFOLLOW,
		     0600);
	if (r->fd < 0 || io_flock(r->fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, "writing %s", r->path);
	return 0;
}

void record_share(struct record *r, const char *path)
{
	const struct placeholder *other = find_placeholder(&r->living, path);
	struct placeholder *p;

	if (!other)
		return;
	p = add_placeholder(&r->own, path, other);
	p->dev = other->dev;
	p->ino = other->ino;
	write_line(r, p);
}

void record_release(struct record *r)
{
	struct stop limit = stop_cleanup(LOCK_MS);
	struct error ignored = { 0 };

	release_list(&r->living);
	r->living = (struct placeholders){ 0 };
	if (r->path && r->lock < 0)
		r->lock = lock_records(r->dir, &limit, &ignored);
	/* without the lock, the next dcode cleans up */
	if (r->path && r->lock >= 0) {
		sweep_records(r->dir, r->path, &r->living);
		remove_all(&r->own, &r->living);
		unlink(r->path);
	}
	if (r->fd >= 0)
		close(r->fd);
	if (r->lock >= 0)
		close(r->lock);
	release_list(&r->living);
	release_list(&r->own);
	free(r->path);
	free(r->dir);
	*r = (struct record){ .fd = -1, .lock = -1 };
}
