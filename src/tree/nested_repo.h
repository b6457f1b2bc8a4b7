/* nested_repo.h - directories with a .git below the root of a tree. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_NESTED_REPO_H
#define TREE_NESTED_REPO_H

#include <stddef.h>

#include "tree/tree_dir.h"

struct nested_repo { /* start from { 0 } */
	char *seen;  /* owned: the directory that was looked at last, ... */
	size_t at;   /* ... and what was found of it */
};

/*
 * The length of the topmost directory above path that has a .git of any kind,
 * one that git does not follow too, since it may follow it later: in a sandbox
 * such a directory is another repository. Those within the first from bytes of
 * path, which are "" or end with a slash, do not count. 0: there is none. The
 * files of one directory are best asked about in a row.
 */
size_t nested_repo_find(struct nested_repo *n, struct tree_dir *disk,
			const char *path, size_t from);
void nested_repo_release(struct nested_repo *n);

#endif
