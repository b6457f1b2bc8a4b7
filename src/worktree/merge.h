/* merge.h - the three-way merge of git, computed in dcode's repository. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_MERGE_H
#define WORKTREE_MERGE_H

#include <stdbool.h>

#include "worktree/git.h"

#define MERGE_FILE_DIRECTORY "file/directory"

struct merge_conflict {
	char *path; /* owned */
	char *kind; /* git's words: "contents", "modify/delete"; owned */
	bool real;  /* of merge_compute(): a side has a file of this name */
};

/* One entry of a path that git could not merge (git-merge-tree(1), 2.39). */
struct merge_stage {
	char *path; /* owned; git may have invented it: "d~sandbox" */
	unsigned mode;
	int stage; /* 1: the base's, 2: ours, 3: theirs */
	char oid[GIT_OID];
};

struct merge {              /* start from { 0 } */
	char tree[GIT_OID]; /* the result, with markers where there are
			       conflicts */
	struct merge_conflict *conflicts; /* one for each path */
	size_t n;
	struct merge_stage *stages; /* of all conflicts, by path */
	size_t n_stages;
	/* A file and a directory of the same name are left, or a file is lost
	 * that was moved where a directory is: git merge, too, gives up on such
	 * (2.39), and the tree lacks one of them. */
	bool unwritable;
};

/* The user's attributes, beside the .gitattributes files of the tree;
 * borrowed. */
struct merge_attributes {
	struct str info;   /* the user's info/attributes */
	struct str global; /* his core.attributesFile */
};

/* What is merged: commits or trees of g. */
struct merge_sides {
	const char *base;
	const char *ours;   /* called "local" in markers and names */
	const char *theirs; /* called "sandbox" */
	struct merge_attributes attributes;
	/* "core.autocrlf=input", "core.eol=lf": sides that differ in line ends
	 * are merged as git stores them; or NULL: bytes as they are. */
	const char *autocrlf, *eol;
	size_t memory_max; /* bytes that git may use; 0: 4 GiB */
};

/* Writes only objects; one merge at a time for each g. ERR_LIMIT: git gave up,
 * as it does when it may not use more memory. */
int merge_compute(struct merge *m, const struct git *g,
		  const struct merge_sides *sides, const struct stop *stop,
		  struct error *err);
void merge_release(struct merge *m);

#endif
