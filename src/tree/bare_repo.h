/* bare_repo.h - directories without .git that git takes for a repository. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_BARE_REPO_H
#define TREE_BARE_REPO_H

#include "base/buf.h"
#include "tree/tree_dir.h"

/*
 * git takes any directory with HEAD, objects and refs for a bare repository,
 * and reads its config when it is started there: core.fsmonitor and others of
 * its keys are commands. commondir stands for objects, refs and config. So a
 * sandbox that brings such a directory, or the part of one that is missing,
 * would run its commands on the user's machine; one that changes files of an
 * existing one, too. And one on the user's machine is another repository: its
 * objects are compressed, so that nothing finds a secret in them.
 */
struct bare_repo_part {
	char *directory; /* owned; "" or with a slash at its end */
	unsigned parts;
};

struct bare_repos { /* start from { 0 } */
	struct bare_repo_part *list;
	size_t n;
	size_t sorted; /* so many, from the first: sorted, each once */
};

/* Goes on after a path: "is inside ...". */
extern const char bare_repo_refused[];

/* A file or link of this path is in the tree, or will be. */
void bare_repo_add(struct bare_repos *b, struct str path);
/* How many bytes of path name the directory of the outermost bare repository
 * that it is in, its slash included (0: the root itself); -1: it is in none.
 * b: what was added; disk: what is there now. Either may be NULL. */
int bare_repo_find(struct bare_repos *b, struct tree_dir *disk,
		   const char *path);
/* Whether the directory of this real path, or one above, is one. */
bool bare_repo_above(const char *directory);
void bare_repo_release(struct bare_repos *b);

#endif
