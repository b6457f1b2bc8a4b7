/* upload.c - files and trees from here into a sandbox. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/sandbox/copy.h"
#include "sandbox/quote.h"

enum {
	DEEPEST = 200,         /* directories within each other */
	SCRIPT_MAX = 24 << 10, /* bytes of mkdir and ln lines per request */
};

struct source { /* one file that is being sent */
	int fd;
	int64_t size;
	int64_t left;
	char *remote;
};

struct tree {
	struct copy *copy;
	struct source sources[COPY_BATCH];
	struct transfer files[COPY_BATCH];
	size_t n;
	struct buf script; /* mkdir and ln -s, not yet run */
};

/* Exactly as many bytes as were promised, or an error. */
static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct source *s = arg;
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
		return error_set(err, ERR_SYSTEM,
				 "the file for %s became shorter", s->remote);
	s->left -= n;
	return n;
}

static int go_back(void *arg, struct error *err)
{
	struct source *s = arg;

	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return error_errno(err, "reading the file for %s again",
				   s->remote);
	s->left = s->size;
	return 0;
}

static int prepare(struct source *s, struct transfer *t, int fd,
		   const char *remote, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "reading the file for %s", remote);
	*s = (struct source){ .fd = fd,
			      .size = st.st_size,
			      .left = st.st_size,
			      .remote = xstrdup(remote) };
	*t = (struct transfer){
		.path = s->remote,
		.size = st.st_size,
		.mode = (int)(st.st_mode & 0777),
		.read = give,
		.rewind = go_back,
		.arg = s,
	};
	return 0;
}

int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err)
{
	struct source s = { 0 };
	struct transfer t;
	int rc = prepare(&s, &t, fd, remote, err);

	t.mode = mode;
	if (rc == 0)
		rc = sandbox_upload(c->sb, &t, 1, c->stop, err);
	if (rc == 0 && t.error != FILE_OK)
		rc = copy_failed(c, &t, err);
	if (rc == 0)
		c->files++;
	free(s.remote);
	return rc;
}

static int flush_script(struct tree *t, struct error *err)
{
	int rc = 0;

	if (t->script.len)
		rc = copy_script(t->copy, buf_str(&t->script), NULL,
				 "making directories and links", err);
	buf_clear(&t->script);
	return rc;
}

static int flush_files(struct tree *t, struct error *err)
{
	int rc = t->n ? sandbox_upload(t->copy->sb, t->files, t->n,
				       t->copy->stop, err)
		      : 0;

	for (size_t i = 0; i < t->n; i++) {
		if (rc == 0 && t->files[i].error != FILE_OK) {
			app_warn("%s: %s", t->sources[i].remote,
				 copy_reason(&t->files[i]));
			t->copy->skipped++;
		} else if (rc == 0) {
			t->copy->files++;
		}
		close(t->sources[i].fd);
		free(t->sources[i].remote);
	}
	t->n = 0;
	return rc;
}

/* set -e ends it at the first failure. */
static const char head[] = "for a in mkdir ln; do\n"
			   "command -v \"$a\" >/dev/null ||"
			   " eval \"$a() { busybox $a \\\"\\$@\\\"; }\"\n"
			   "done\n"
			   "set -e\n";

/* A line of the script. */
static int add_line(struct tree *t, const char *command, const char *a,
		    const char *b, struct error *err)
{
	if (t->script.len > SCRIPT_MAX && flush_script(t, err) < 0)
		return -1;
	if (!t->script.len)
		buf_adds(&t->script, head);
	buf_adds(&t->script, command);
	quote_word(&t->script, str_of(a));
	if (b) {
		buf_addc(&t->script, ' ');
		quote_word(&t->script, str_of(b));
	}
	buf_addc(&t->script, '\n');
	return 0;
}

static void skip(struct tree *t, const char *remote, const char *why)
{
	app_warn("not copied: %s: %s", remote, why);
	t->copy->skipped++;
}

static int add_file(struct tree *t, int dir, const char *name,
		    const char *remote, struct error *err)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		skip(t, remote, "it cannot be read");
		return 0;
	}
	if (prepare(&t->sources[t->n], &t->files[t->n], fd, remote, err) < 0) {
		close(fd);
		return -1;
	}
	t->n++;
	return t->n == COPY_BATCH ? flush_files(t, err) : 0;
}

static int add_link(struct tree *t, int dir, const char *name,
		    const char *remote, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0) {
		skip(t, remote, "the link cannot be read");
		return 0;
	}
	target[n] = '\0';
	t->copy->links++;
	return add_line(t, "ln -sfn -- ", target, remote, err);
}

static int walk(struct tree *t, int dir, const char *remote, int depth,
		struct error *err);

static int add_entry(struct tree *t, int dir, const char *name,
		     const char *remote, int depth, struct error *err)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		skip(t, remote, "it cannot be looked at");
		return 0;
	}
	if (S_ISREG(st.st_mode))
		return add_file(t, dir, name, remote, err);
	if (S_ISLNK(st.st_mode))
		return add_link(t, dir, name, remote, err);
	if (!S_ISDIR(st.st_mode)) {
		skip(t, remote, "it is neither a file, a link nor a directory");
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || depth == DEEPEST) {
		skip(t, remote, "the directory cannot be read");
		if (fd >= 0)
			close(fd);
		return 0;
	}
	return walk(t, fd, remote, depth + 1, err);
}

/* Closes dir. */
static int walk(struct tree *t, int dir, const char *remote, int depth,
		struct error *err)
{
	DIR *entries = fdopendir(dir);
	struct dirent *e;
	int rc;

	if (!entries) {
		rc = error_errno(err, "reading the directory for %s", remote);
		close(dir);
		return rc;
	}
	t->copy->directories++;
	rc = add_line(t, "mkdir -p -- ", remote, NULL, err);
	while (rc == 0 && (e = readdir(entries))) {
		char *path;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		path = copy_join(remote, e->d_name);
		rc = add_entry(t, dir, e->d_name, path, depth, err);
		free(path);
	}
	closedir(entries);
	return rc;
}

int copy_files_up(struct copy *c, int dir, const char *remote,
		  struct error *err)
{
	struct tree *t = xcalloc(1, sizeof(*t));
	int rc;

	t->copy = c;
	t->script = BUF_INIT(1 << 20);
	rc = walk(t, dir, remote, 0, err);
	if (rc == 0)
		rc = flush_script(t, err);
	if (rc == 0) {
		rc = flush_files(t, err);
	} else { /* only to close what is open */
		for (size_t i = 0; i < t->n; i++) {
			close(t->sources[i].fd);
			free(t->sources[i].remote);
		}
	}
	buf_release(&t->script);
	free(t);
	return rc;
}

int copy_tree_up(struct copy *c, const char *local, const char *remote,
		 struct error *err)
{
	int dir = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (dir < 0)
		return error_errno(err, "%s", local);
	if (!copy_by_tar(c))
		return copy_files_up(c, dir, remote, err);
	if (fstat(dir, &st) == 0)
		return copy_tar_up(c, dir, st.st_mode, remote, err);
	rc = error_errno(err, "%s", local);
	close(dir);
	return rc;
}
