/* merge.h - the three-way merge of git, computed in dcode's repository. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_MERGE_H
#define GIT_MERGE_H

#include <stdbool.h>

#include "git/git.h"

struct merge_conflict {
	char *path; /* owned */
	char *kind; /* git's words: "contents", "modify/delete"; owned */
};

struct merge {              /* start from { 0 } */
	char tree[GIT_OID]; /* the result, with markers where there are
			       conflicts */
	struct merge_conflict *conflicts;
	size_t n;
	/* A file and a directory of the same name are left: git merge, too,
	 * gives up on such (2.39), and the tree lacks one of them. */
	bool unwritable;
};

/* What is merged: commits or trees of g. */
struct merge_sides {
	const char *base;
	const char *ours;   /* called "local" in markers and names */
	const char *theirs; /* called "sandbox" */
};

/* Writes nothing but objects, and the branches local and sandbox of g. */
int merge_compute(struct merge *m, const struct git *g,
		  const struct merge_sides *sides, const struct stop *stop,
		  struct error *err);
void merge_release(struct merge *m);

#endif
