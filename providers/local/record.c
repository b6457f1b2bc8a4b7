/* record.c - what dcode put into a directory of the user's, for a time.
 */
/* SPDX-License-Identifier: MIT */
#include "providers/local/record.h"

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
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	RECORD_MAX = 4 << 20, /* bytes of one record */
	LOCK_MS = 10000,
};

static char *records_dir(const char *settings_dir)
{
	return path_join(settings_dir, "sandboxes/.placeholders");
}

int record_lock(const char *settings_dir, const struct stop *stop,
		struct error *err)
{
	struct stop limit = stop_within(stop, LOCK_MS);
	char *dir = records_dir(settings_dir);
	char *path = path_join(dir, "lock");
	int fd = -1;

	if (path_mkdirs(dir, 0700, err) == 0)
		fd = path_lock(path, &limit, err);
	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_wrap(err, "waiting for another dcode (%s)", path);
	free(dir);
	free(path);
	return fd;
}

static struct placeholder *add(struct record *r, const char *path,
			       bool directory)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->list[i].path, path))
			return &r->list[i];
	r->list = xrealloc(r->list, r->n + 1, sizeof(*r->list));
	r->list[r->n] = (struct placeholder){ .path = xstrdup(path),
					      .directory = directory };
	return &r->list[r->n++];
}

/* Lines "d DEV INO /path" that end in NUL; a later one counts. */
static void parse(struct record *r, struct str text)
{
	struct str line;

	while (str_split(&text, '\0', &line)) {
		char *copy = xstrndup(line.ptr, line.len);
		struct placeholder *p;
		uint64_t dev;
		uint64_t ino;
		char kind;
		int at = 0;

		if (sscanf(copy, "%c %" SCNu64 " %" SCNu64 " %n", &kind, &dev,
			   &ino, &at) == 3 &&
		    at && copy[at] == '/') {
			p = add(r, copy + at, kind == 'd');
			p->dev = dev;
			p->ino = ino;
		}
		free(copy);
	}
}

static void write_line(struct record *r, const struct placeholder *p)
{
	char *line =
		xasprintf("%c %" PRIu64 " %" PRIu64 " %s",
			  p->directory ? 'd' : 'f', p->dev, p->ino, p->path);
	size_t len = strlen(line) + 1;

	/* A full disk shows at record_sync(). */
	(void)!write(r->fd, line, len);
	free(line);
}

int record_open(struct record *r, const char *settings_dir, const char *label,
		struct error *err)
{
	char *dir = records_dir(settings_dir);
	char once[9];

	ids_random(once, sizeof(once) - 1);
	r->path = xasprintf("%s/%s.%s", dir, label, once);
	free(dir);
	r->fd = open(r->path,
		     O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC |
			     O_NOFOLLOW,
		     0600);
	if (r->fd < 0 || flock(r->fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, "writing %s", r->path);
	return 0;
}

void record_plan(struct record *r, const char *path, bool directory)
{
	write_line(r, add(r, path, directory));
}

int record_sync(const struct record *r, struct error *err)
{
	struct stat st;
	int64_t want = 0;

	for (size_t i = 0; i < r->n; i++)
		want += (int64_t)strlen(r->list[i].path) + 1;
	if (fstat(r->fd, &st) < 0 || st.st_size < want || fsync(r->fd) < 0)
		return error_errno(err, "writing %s", r->path);
	return 0;
}

/* git takes a missing commondir for a repository of its own, an empty one for
 * a broken repository, and "." for itself. */
static const char *text_of(const char *path)
{
	return str_ends(str_of(path), "/commondir") ? "." : "";
}

/* A file that is never seen without its text. */
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
	if (fd >= 0 && write(fd, text.ptr ? text.ptr : "", text.len) ==
			       (ssize_t)text.len) {
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

int record_make(struct record *r, struct error *err)
{
	for (size_t i = 0; i < r->n; i++) {
		struct placeholder *p = &r->list[i];
		struct stat st;

		if (p->ino)
			continue;
		if ((p->directory ? mkdir(p->path, 0755) : make_file(p->path)) <
		    0) {
			/* Nor can the sandbox then: it is the same user. */
			if (errno != EROFS && errno != EACCES &&
			    errno != EPERM && errno != EEXIST)
				return error_errno(err, "making %s", p->path);
			p->dev = p->ino = UINT64_MAX; /* not ours */
		} else if (lstat(p->path, &st) == 0) {
			p->dev = st.st_dev;
			p->ino = st.st_ino;
		}
		write_line(r, p);
	}
	return record_sync(r, err);
}

/* The directory of path, reached without any link; the name in *last. */
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

/* Whether the file is as we made it. */
static bool is_untouched(int parent, const char *name,
			 const struct placeholder *p)
{
	const char *text = text_of(p->path);
	char have[4] = "";
	ssize_t n = -1;
	int fd = openat(parent, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, have, sizeof(have) - 1);
		close(fd);
	}
	return n == (ssize_t)strlen(text) && !strcmp(have, text);
}

/* Only what is still ours: the user may have put something in its place. */
static void remove_one(const struct placeholder *p)
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

/* A visitor of records; dead: nobody holds the record's lock. */
struct record_sink {
	void (*each)(void *arg, struct record *other, bool dead);
	void *arg;
};

static void visit(struct record *other, const struct record_sink *sink)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	struct error ignored = { 0 };

	other->fd = open(other->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (other->fd >= 0 && path_read(other->path, &text, &ignored) == 0) {
		parse(other, buf_str(&text));
		sink->each(sink->arg, other,
			   flock(other->fd, LOCK_SH | LOCK_NB) == 0);
	}
	buf_release(&text);
}

/* Calls each for every record but ours. */
static void
each_record(const char *settings_dir, const struct record *ours,
	    void (*each)(void *arg, struct record *other, bool dead), void *arg)
{
	const struct record_sink sink = { each, arg };
	char *path = records_dir(settings_dir);
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct record other = { .fd = -1 };

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "lock"))
			continue;
		other.path = path_join(path, e->d_name);
		if (!ours || !ours->path || strcmp(ours->path, other.path))
			visit(&other, &sink);
		record_release(&other);
	}
	if (dir)
		closedir(dir);
	free(path);
}

static void gather_living(void *arg, struct record *other, bool dead)
{
	struct record *living = arg;

	for (size_t i = 0; !dead && i < other->n; i++) {
		struct placeholder *p = add(living, other->list[i].path,
					    other->list[i].directory);

		p->dev = other->list[i].dev;
		p->ino = other->list[i].ino;
	}
}

static const struct placeholder *named(const struct record *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->list[i].path, path))
			return &r->list[i];
	return NULL;
}

void record_living(struct record *living, const char *settings_dir,
		   const struct record *ours)
{
	each_record(settings_dir, ours, gather_living, living);
}

void record_share(struct record *r, const struct record *living,
		  const char *path)
{
	const struct placeholder *theirs = named(living, path);
	struct placeholder *p;

	if (!theirs)
		return;
	p = add(r, path, theirs->directory);
	p->dev = theirs->dev;
	p->ino = theirs->ino;
	write_line(r, p);
}

struct sweep {
	const char *settings_dir;
	struct record living;
};

static void sweep_one(void *arg, struct record *other, bool dead)
{
	const struct sweep *s = arg;

	for (size_t i = 0; dead && i < other->n; i++)
		if (!named(&s->living, other->list[i].path))
			remove_one(&other->list[i]);
	if (dead)
		unlink(other->path);
}

void record_sweep(const char *settings_dir)
{
	struct sweep s = { .settings_dir = settings_dir,
			   .living = { .fd = -1 } };

	each_record(settings_dir, NULL, gather_living, &s.living);
	each_record(settings_dir, NULL, sweep_one, &s);
	record_release(&s.living);
}

void record_sweep_all(const char *settings_dir)
{
	struct stop limit = stop_cleanup(LOCK_MS);
	struct error ignored = { 0 };
	char *path = records_dir(settings_dir);
	DIR *dir = opendir(path);
	struct dirent *e;
	bool any = false;
	int lock;

	while (dir && !any && (e = readdir(dir)))
		any = e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0;
	if (dir)
		closedir(dir);
	free(path);
	if (!any)
		return;
	lock = record_lock(settings_dir, &limit, &ignored);
	if (lock < 0)
		return;
	record_sweep(settings_dir);
	close(lock);
}

void record_end(struct record *r, const char *settings_dir)
{
	struct record living = { .fd = -1 };

	each_record(settings_dir, r, gather_living, &living);
	for (size_t i = 0; i < r->n; i++)
		if (!named(&living, r->list[i].path))
			remove_one(&r->list[i]);
	if (r->path)
		unlink(r->path);
	record_release(&living);
}

void record_release(struct record *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->list[i].path);
	free(r->list);
	free(r->path);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct record){ .fd = -1 };
}
