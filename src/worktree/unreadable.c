/* unreadable.c - directories of a tree that cannot be listed. */
/* SPDX-License-Identifier: MIT */
#include "worktree/unreadable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "worktree/git.h"

enum { DIRECTORIES_MOST = 200000 };

struct directory_names { /* owned */
	char **list;
	size_t n;
};

struct unreadable_walk {
	const struct unreadable_request *request;
	struct directory_names
		ignored; /* directories, each with its slash; sorted */
	struct directory_names left; /* to be looked at: "" or with a slash */
	size_t seen;
};

static void add_name(struct directory_names *names, char *owned)
{
	if (names->n % 256 == 0)
		names->list = xrealloc(names->list, names->n + 256,
				       sizeof(*names->list));
	names->list[names->n++] = owned;
}

static void release_names(struct directory_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int on_ignored(void *arg, const char *record, struct error *err)
{
	struct unreadable_walk *s = arg;

	(void)err;
	if (str_ends(str_of(record), "/"))
		add_name(&s->ignored,
			 xasprintf("%s%s", s->request->prefix, record));
	return 0;
}

/* git knows them by their patterns, without reading them. */
static int list_ignored(struct unreadable_walk *s, const char *pattern,
			const char *excludes, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "ls-files",    "-z",    "-o",     "-i",
			       "--directory", pattern, excludes, NULL };
	struct nul_records each = { .each = on_ignored, .arg = s };

	return git_run_records(s->request->git, argv, &each, stop, err);
}

static int find_ignored(struct unreadable_walk *s, const struct stop *stop,
			struct error *err)
{
	char *from = xasprintf("--exclude-from=%s", s->request->excludes);
	int rc = list_ignored(s, "--exclude-per-directory=.gitignore", from,
			      stop, err);

	if (rc == 0 && s->request->dcodeignore)
		rc = list_ignored(s, "--exclude-per-directory=.dcodeignore",
				  NULL, stop, err);
	if (s->ignored.n)
		qsort(s->ignored.list, s->ignored.n, sizeof(*s->ignored.list),
		      by_name);
	free(from);
	return rc;
}

static bool is_ignored(const struct unreadable_walk *s, const char *path)
{
	return s->ignored.n && bsearch(&path, s->ignored.list, s->ignored.n,
				       sizeof(*s->ignored.list), by_name);
}

static bool is_directory(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* What has a .git is another repository: nothing in it is sent. */
static bool is_other(const struct unreadable_walk *s, int dir, const char *path)
{
	struct stat st;

	return strcmp(path, s->request->prefix) != 0 &&
	       fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void add_entry(struct unreadable_walk *s, int dir, const char *path,
		      const struct dirent *d)
{
	char *inner;

	if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
	    !strcmp(d->d_name, ".git") || !is_directory(dir, d))
		return;
	inner = xasprintf("%s%s/", path, d->d_name);
	if (is_ignored(s, inner))
		free(inner);
	else
		add_name(&s->left, inner);
}

/* fd is closed. */
static void add_inner(struct unreadable_walk *s, int fd, const char *path)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	if (!dir) {
		close(fd);
		return;
	}
	if (!is_other(s, fd, path))
		while ((d = readdir(dir)))
			add_entry(s, fd, path, d);
	closedir(dir);
}

static int look(struct unreadable_walk *s, char *path, struct error *err)
{
	const char *name;
	int dir = tree_dir_parent(s->request->dir, path, &name);
	int fd = dir < 0 ? -1
			 : openat(dir, ".",
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					  O_CLOEXEC);

	if (fd >= 0) {
		add_inner(s, fd, path);
		return 0;
	}
	if (errno != EACCES || !path[0])
		return 0; /* gone, or a link by now */
	path[strlen(path) - 1] = '\0';
	return s->request->each(s->request->arg, path, err);
}

int unreadable_find(const struct unreadable_request *r, const struct stop *stop,
		    struct error *err)
{
	struct unreadable_walk s = { .request = r };
	int rc = find_ignored(&s, stop, err);

	add_name(&s.left, xstrdup(r->prefix));
	while (rc == 0 && s.left.n && s.seen++ < DIRECTORIES_MOST) {
		char *path = s.left.list[--s.left.n];

		rc = stop_check(stop, err);
		if (rc == 0)
			rc = look(&s, path, err);
		free(path);
	}
	release_names(&s.ignored);
	release_names(&s.left);
	return rc;
}
