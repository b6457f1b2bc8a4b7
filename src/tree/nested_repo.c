/* nested_repo.c - directories with a .git below the root of a tree. */
/* SPDX-License-Identifier: MIT */
#include "tree/nested_repo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

static bool has_git(struct tree_dir *disk, const char *path, size_t len)
{
	char *dot = xasprintf("%.*s/.git", (int)len, path);
	const char *name;
	struct stat st;
	int dir = tree_dir_parent(disk, dot, &name);
	bool has =
		dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	free(dot);
	return has;
}

static size_t find(struct tree_dir *disk, const char *path, size_t from)
{
	const char *slash = strchr(path + from, '/');

	for (; slash; slash = strchr(slash + 1, '/'))
		if (has_git(disk, path, (size_t)(slash - path)))
			return (size_t)(slash - path);
	return 0;
}

size_t nested_repo_find(struct nested_repo *n, struct tree_dir *disk,
			const char *path, size_t from)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!n->seen || strlen(n->seen) != len || memcmp(n->seen, path, len)) {
		free(n->seen);
		n->seen = xstrndup(path, len);
		n->at = find(disk, path, from);
	}
	return n->at;
}

void nested_repo_release(struct nested_repo *n)
{
	free(n->seen);
	*n = (struct nested_repo){ 0 };
}
