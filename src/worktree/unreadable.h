/* unreadable.h - directories of a tree that cannot be listed. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_UNREADABLE_H
#define WORKTREE_UNREADABLE_H

#include "worktree/git.h"
#include "worktree/treefile.h"

struct unreadable_request {    /* all borrowed */
	const struct git *git; /* with the work tree that is looked at, ... */
	struct tree_dir *dir;  /* ... of the root of all, ... */
	const char *prefix;    /* ... and its path there: "" or "sub/" */
	const char *excludes;  /* a file of patterns */
	bool dcodeignore;      /* .dcodeignore counts, too */
	int (*each)(void *arg, const char *path, struct error *err);
	void *arg;
};

/*
 * Calls each with the path of every directory that may not be read and that git
 * does not ignore; not of what is in another repository. git passes over such
 * with no more than a warning. Walks all directories of the tree.
 */
int unreadable_find(const struct unreadable_request *r, const struct stop *stop,
		    struct error *err);

#endif
