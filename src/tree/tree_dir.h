/* tree_dir.h - the directories of a tree, one after the other, through no link.
 */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_TREE_DIR_H
#define TREE_TREE_DIR_H

#include "base/error.h"

/* Paths that come sorted open each directory once. */
struct tree_dir {
	int root;
	int fd;     /* of path; the root's own for "" */
	char *path; /* owned, with a slash at its end, or "" */
};

int tree_dir_open(struct tree_dir *t, const char *root, struct error *err);
/* The directory of a path below the root, borrowed until the next call; *name
 * is the last name of the path. -1 with errno: ENOENT, ENOTDIR or ELOOP where a
 * component is missing, no directory or a link. */
int tree_dir_parent(struct tree_dir *t, const char *path, const char **name);
void tree_dir_close(struct tree_dir *t);

#endif
