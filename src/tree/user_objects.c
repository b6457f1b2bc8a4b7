/* user_objects.c - the objects of the user's repository, for git to read. */
/* SPDX-License-Identifier: MIT */
#include "tree/user_objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	DEEPEST = 5, /* alternates of alternates, as in git */
	ALTERNATES_MAX = 64 << 10,
	DIRECTORIES_MOST = 4096,
};

struct object_walk {
	size_t directories; /* seen so far */
	struct error *err;
};

static int refuse(const struct object_walk *k, const char *path)
{
	return error_set(k->err, ERR_USAGE,
			 "dcode does not let git read %s: it is a pipe, a "
			 "device or a link to nothing",
			 path);
}

static int check_directory(struct object_walk *k, const char *path, int below);

static int check_entry(struct object_walk *k, DIR *d, const char *directory,
		       const struct dirent *e, int below)
{
	char *path = path_join(directory, e->d_name);
	struct stat st = { 0 };
	int rc = 0;

	if (fstatat(dirfd(d), e->d_name, &st, 0) < 0)
		rc = errno == ENOENT && e->d_type != DT_LNK ? 0
							    : refuse(k, path);
	else if (S_ISDIR(st.st_mode) && below > 0)
		rc = check_directory(k, path, below - 1);
	else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		rc = refuse(k, path);
	free(path);
	return rc;
}

/* All in it, and below directories below levels more. */
static int check_directory(struct object_walk *k, const char *path, int below)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : error_errno(k->err, "%s", path);
	if (++k->directories > DIRECTORIES_MOST)
		rc = error_set(k->err, ERR_LIMIT, "%s: too many directories",
			       path);
	while (rc == 0 && (e = readdir(d)))
		if (e->d_type != DT_REG && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			rc = check_entry(k, d, path, e, below);
	closedir(d);
	return rc;
}

static int check_store(struct object_walk *k, const char *objects, int depth);

/* One that does not exist is passed over, as by git. */
static int check_alternates(struct object_walk *k, const char *objects,
			    int depth)
{
	struct buf text = BUF_INIT(ALTERNATES_MAX);
	int rc = user_repo_read(objects, "info/alternates", &text, k->err);
	struct str rest = buf_str(&text);
	struct str line;

	while (rc == 0 && str_split(&rest, '\n', &line)) {
		char *one = xstrndup(line.ptr, line.len);
		char *path = path_join(objects, one);

		if (line.len && line.ptr[0] != '#')
			rc = check_store(k, path, depth + 1);
		free(path);
		free(one);
	}
	buf_release(&text);
	return rc < 0 ? -1 : 0;
}

static int check_store(struct object_walk *k, const char *objects, int depth)
{
	struct stat st;

	if (depth > DEEPEST || stat(objects, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return refuse(k, objects);
	if (check_directory(k, objects, 2) < 0)
		return -1;
	return check_alternates(k, objects, depth);
}

char *user_objects_open(const struct user_repo *u, struct error *err)
{
	struct object_walk k = { .err = err };
	char *objects = u->common ? path_join(u->common, "objects") : NULL;
	struct stat st;
	int rc = 0;

	if (!objects)
		return NULL;
	if (lstat(objects, &st) < 0 || !S_ISDIR(st.st_mode))
		rc = error_set(err, ERR_USAGE, "not a directory: %s", objects);
	if (rc == 0)
		rc = check_store(&k, objects, 0);
	if (rc == 0)
		return objects;
	free(objects);
	return NULL;
}
