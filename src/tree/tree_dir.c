/* tree_dir.c - the directories of a tree, one after the other, through no link.
 */
/* SPDX-License-Identifier: MIT */
#include "tree/tree_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

int tree_dir_open(struct tree_dir *t, const char *root, struct error *err)
{
	*t = (struct tree_dir){ .path = xstrdup("") };
	t->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->fd = t->root;
	return t->root < 0 ? error_errno(err, "%s", root) : 0;
}

static void leave(struct tree_dir *t)
{
	if (t->fd != t->root)
		close(t->fd);
	t->fd = t->root;
	t->path[0] = '\0';
}

/* Opens the directories that path names up to len, its last slash. */
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
	leave(t);
	if (descend(t, path, len) < 0)
		return -1;
	free(t->path);
	t->path = xstrndup(path, len);
	return t->fd;
}

void tree_dir_close(struct tree_dir *t)
{
	if (t->path)
		leave(t);
	if (t->root >= 0)
		close(t->root);
	free(t->path);
	*t = (struct tree_dir){ .root = -1, .fd = -1 };
}
