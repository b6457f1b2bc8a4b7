/* git_files.c - what git reads of a working tree without being told to. */
/* SPDX-License-Identifier: MIT */
#include "worktree/git_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { DEEPEST = 200 };

static const char *const read_by_git[] = { ".gitignore", ".gitattributes",
					   ".gitmodules", ".dcodeignore" };

struct git_files_walk {
	size_t seen;
	struct error *err;
};

static bool is_read(const char *name)
{
	for (size_t i = 0; i < sizeof(read_by_git) / sizeof(*read_by_git); i++)
		if (!strcmp(name, read_by_git[i]))
			return true;
	return false;
}

/* git follows no link to them, and lists a directory. */
static int check_entry(const struct git_files_walk *w, int dir,
		       const char *path, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	error_set(w->err, ERR_CONFIG, "%s%s is a pipe or a device, not a file",
		  path, name);
	return error_hint(w->err, "Remove it: git would wait for it.");
}

/* Closes fd. */
static int walk(struct git_files_walk *w, int fd, const char *path, int depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int rc = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && rc == 0 && w->seen++ < GIT_FILES_MOST && (e = readdir(d))) {
		char *below;

		if (is_read(e->d_name))
			rc = check_entry(w, dirfd(d), path, e->d_name);
		if (e->d_type != DT_DIR || depth == DEEPEST ||
		    !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, ".git"))
			continue;
		below = xasprintf("%s%s/", path, e->d_name);
		if (rc == 0)
			rc = walk(w,
				  openat(dirfd(d), e->d_name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						 O_CLOEXEC),
				  below, depth + 1);
		free(below);
	}
	if (d)
		closedir(d);
	return rc;
}

int git_files_check(const char *root, struct error *err)
{
	struct git_files_walk w = { .err = err };

	return walk(&w, open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
}
