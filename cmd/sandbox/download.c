/* download.c - files and trees out of a sandbox, which is not trusted.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/sandbox/copy.h"
#include "sandbox/helper.h"

enum {
	LIST_MAX = 64 << 20, /* bytes of the list of a tree */
	LIST_MS = 120000,
	ENTRY = 4096,   /* bytes of the disk that a name takes */
	TEMPORARY = 24, /* characters of a temporary name, with NUL */
};

struct sink { /* one file that is being received */
	struct copy *copy;
	int dir; /* where it goes; closed at the end when owned */
	bool owns_dir;
	char *name;
	char *remote;
	mode_t mode;
	char temporary[TEMPORARY];
	int fd; /* -1 until the first byte */
};

struct tree {
	struct copy *copy;
	int root;
	struct sink sinks[COPY_BATCH];
	struct transfer files[COPY_BATCH];
	size_t n;
};

static int sink_open(struct sink *s, struct error *err)
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

static int take(void *arg, struct str chunk, struct error *err)
{
	struct sink *s = arg;

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

/* whole: gives it its name; else it is thrown away. */
static int sink_close(struct sink *s, bool whole, struct error *err)
{
	int rc = whole ? sink_open(s, err) : 0; /* it may be empty */

	if (s->fd >= 0) {
		mode_t mask = umask(0);

		umask(mask);
		if (rc == 0 && whole &&
		    (fchmod(s->fd, s->mode & ~mask) < 0 ||
		     renameat(s->dir, s->temporary, s->dir, s->name) < 0))
			rc = error_errno(err, "creating %s", s->name);
		close(s->fd);
		if (rc < 0 || !whole)
			unlinkat(s->dir, s->temporary, 0);
	}
	if (s->owns_dir)
		close(s->dir);
	free(s->name);
	free(s->remote);
	return rc;
}

static void prepare(struct sink *s, struct transfer *t)
{
	s->fd = -1;
	*t = (struct transfer){ .path = s->remote, .write = take, .arg = s };
}

int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err)
{
	const char *slash = strrchr(local, '/');
	char *directory = slash ? xstrndup(local, (size_t)(slash - local) + 1)
				: xstrdup(".");
	struct sink s = {
		.copy = c,
		.name = xstrdup(slash ? slash + 1 : local),
		.remote = xstrdup(remote),
		.mode = 0666,
		.owns_dir = true,
	};
	struct transfer t;
	int rc;

	s.dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.dir < 0) {
		rc = error_errno(err, "%s", directory);
		free(directory);
		free(s.name);
		free(s.remote);
		return rc;
	}
	free(directory);
	c->disk = s.dir;
	prepare(&s, &t);
	rc = sandbox_download(c->sb, &t, 1, c->stop, err);
	if (rc == 0 && t.error != FILE_OK)
		rc = copy_failed(c, &t, err);
	if (rc < 0) {
		struct error ignored = { 0 };

		(void)sink_close(&s, false, &ignored);
		return -1;
	}
	c->files++;
	return sink_close(&s, true, err);
}

static void skip(struct tree *t, struct str name, const char *why)
{
	app_warn("not copied: %.*s: %s", (int)name.len, name.ptr, why);
	t->copy->skipped++;
}

static int flush(struct tree *t, struct error *err)
{
	int rc = t->n ? sandbox_download(t->copy->sb, t->files, t->n,
					 t->copy->stop, err)
		      : 0;

	for (size_t i = 0; i < t->n; i++) {
		bool whole = rc == 0 && t->files[i].error == FILE_OK;
		struct error failure = { 0 };
		char *remote = xstrdup(t->sinks[i].remote);

		if (rc == 0 && !whole && t->copy->full.code == ERR_NONE)
			skip(t, str_of(remote), copy_reason(&t->files[i]));
		if (sink_close(&t->sinks[i], whole, &failure) < 0)
			skip(t, str_of(remote), failure.message);
		else if (whole)
			t->copy->files++;
		free(remote);
	}
	t->n = 0;
	if (rc == 0 && t->copy->full.code != ERR_NONE) {
		*err = t->copy->full;
		return -1;
	}
	return rc;
}

/* "a/b/c" below us: no "..", nothing absolute or empty. */
static bool is_inside(struct str path)
{
	struct str part;

	if (!path.len || path.len >= PATH_MAX || memchr(path.ptr, 0, path.len))
		return false;
	if (path.ptr[path.len - 1] == '/')
		return false;
	while (str_split(&path, '/', &part))
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

/*
 * Does a link of this name and target stay inside? Its ".." have to come
 * first: they lead up from a directory that we made ourselves, whereas "l/.."
 * leads anywhere when l is a link. What comes after goes down, through links
 * at most for which the same was true.
 */
static bool link_stays(struct str name, struct str target)
{
	bool down = false;
	int depth = 0;
	struct str part;

	if (!target.len || target.ptr[0] == '/' || target.len >= PATH_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++)
		depth += name.ptr[i] == '/';
	while (str_split(&target, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (!str_is(part, ".."))
			down = true;
		else if (down || --depth < 0)
			return false;
	}
	return true;
}

/* Opens the directory that path lies in, making what is missing; no link is
 * followed. *name: its last component, owned. -1 with errno. */
static int open_parent(int root, struct str path, char **name)
{
	int dir = dup(root);

	while (dir >= 0) {
		size_t end = str_find(path, '/');
		char *part = xstrndup(path.ptr, end);
		int next;

		if (end == path.len) {
			*name = part;
			return dir;
		}
		if (mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
			next = -1;
		else
			next = openat(dir, part,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC);
		free(part);
		close(dir);
		dir = next;
		path = str_skip(path, end + 1);
	}
	return -1;
}

static void add_directory(struct tree *t, struct str path)
{
	char *name = NULL;
	int dir = open_parent(t->root, path, &name);

	if (dir < 0 || (mkdirat(dir, name, 0777) < 0 && errno != EEXIST))
		skip(t, path, "the directory cannot be made");
	else
		t->copy->directories++;
	if (dir >= 0)
		close(dir);
	free(name);
}

static void add_link(struct tree *t, struct str path, struct str target)
{
	char *name = NULL;
	char *to = xstrndup(target.ptr, target.len);
	int dir;

	if (!link_stays(path, target)) {
		skip(t, path, "the link leads out of the copy");
		free(to);
		return;
	}
	dir = open_parent(t->root, path, &name);
	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
	if (dir < 0 || symlinkat(to, dir, name) < 0)
		skip(t, path, "the link cannot be made");
	else
		t->copy->links++;
	if (dir >= 0)
		close(dir);
	free(name);
	free(to);
}

static int add_file(struct tree *t, const char *remote, struct str path,
		    bool executable, struct error *err)
{
	struct sink *s = &t->sinks[t->n];
	char *relative = xstrndup(path.ptr, path.len);

	*s = (struct sink){ .copy = t->copy,
			    .owns_dir = true,
			    .mode = executable ? 0777 : 0666 };
	s->dir = open_parent(t->root, path, &s->name);
	if (s->dir < 0) {
		skip(t, path, "its directory cannot be opened");
		free(relative);
		return 0;
	}
	s->remote = copy_join(remote, relative);
	free(relative);
	prepare(s, &t->files[t->n]);
	t->n++;
	return t->n == COPY_BATCH ? flush(t, err) : 0;
}

static int add_entry(struct tree *t, const char *remote, struct str entry,
		     struct str *rest, struct error *err)
{
	char kind = entry.len ? entry.ptr[0] : '?';
	struct str path = str_skip(entry, 1);
	struct str target = { 0 };

	if (kind == 'l')
		(void)str_split(rest, '\0', &target);
	if (!is_inside(path)) {
		skip(t, path, "its name cannot be used here");
		return 0;
	}
	if (copy_store(t->copy, ENTRY, err) < 0)
		return -1;
	switch (kind) {
	case 'd':
		add_directory(t, path);
		return 0;
	case 'l':
		add_link(t, path, target);
		return 0;
	case 'f':
	case 'x':
		return add_file(t, remote, path, kind == 'x', err);
	default:
		skip(t, path, "it is neither a file, a link nor a directory");
		return 0;
	}
}

static int list(struct copy *c, const char *remote, struct helper *h,
		struct error *err)
{
	*h = (struct helper){
		.script = HELPER_TREE,
		.args = { str_of(remote) },
		.n_args = 1,
		.timeout_ms = LIST_MS,
		.out = BUF_INIT(LIST_MAX),
	};
	if (helper_run(c->sb, h, c->stop, err) < 0)
		return -1;
	if (h->timed_out)
		return error_set(err, ERR_TIMEOUT,
				 "listing %s in the sandbox took too long",
				 remote);
	if (strcmp(h->status, "ok") == 0)
		return 0;
	(void)helper_failed(h->status, err);
	return error_wrap(err, "listing %s in the sandbox", remote);
}

int copy_files_down(struct copy *c, const char *remote, int root,
		    struct error *err)
{
	struct helper h;
	struct tree *t = xcalloc(1, sizeof(*t));
	struct str rest;
	struct str entry;
	int rc = list(c, remote, &h, err);

	t->copy = c;
	t->root = root;
	rest = buf_str(&h.out);
	while (rc == 0 && str_split(&rest, '\0', &entry))
		rc = add_entry(t, remote, entry, &rest, err);
	if (rc == 0)
		rc = flush(t, err);
	for (size_t i = 0; i < t->n; i++) {
		struct error ignored = { 0 };

		(void)sink_close(&t->sinks[i], false, &ignored);
	}
	buf_release(&h.out);
	free(t);
	return rc;
}

int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err)
{
	int root;
	int rc;

	if (mkdir(local, 0777) < 0 && errno != EEXIST)
		return error_errno(err, "creating %s", local);
	root = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, "%s", local);
	c->directories++;
	c->disk = root;
	rc = copy_by_tar(c) ? copy_tar_down(c, remote, root, err)
			    : copy_files_down(c, remote, root, err);
	close(root);
	return rc;
}
