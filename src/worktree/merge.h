/* merge.h - git's three-way merge, computed in dcode's repository. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_MERGE_H
#define WORKTREE_MERGE_H

#include <stdbool.h>

#include "worktree/git.h"

#define MERGE_FILE_DIRECTORY "file/directory"

struct merge_conflict {
	char *path; /* owned */
	char *kind; /* git's name: "contents", "modify/delete"; owned */
	bool real;  /* internal: a side has a file with this name */
};

/* One stage of a path that git could not merge (git-merge-tree(1), 2.39). */
struct merge_stage {
	char *path; /* owned; may be invented by git: "d~sandbox" */
	unsigned mode;
	int stage; /* 1: base, 2: ours, 3: theirs */
	char oid[GIT_OID];
};

struct merge {              /* initialise with { 0 } */
	char tree[GIT_OID]; /* merged tree, with markers at conflicts */
	struct merge_conflict *conflicts; /* one per path */
	size_t n;
	struct merge_stage *stages; /* of all conflicts, sorted by path */
	size_t n_stages;
	/* A file and a directory have the same name, or git lost a file that
	 * was moved to where a directory is. One of the two is missing in the
	 * tree, so it cannot be written. git merge (2.39) gives up on these
	 * too. */
	bool unwritable;
};

/* The user's attributes, in addition to the .gitattributes files of the tree;
 * borrowed. */
struct merge_attributes {
	struct str info;   /* the repository's info/attributes */
	struct str global; /* the user's core.attributesFile */
};

/* The sides to merge: commits or trees of g. */
struct merge_sides {
	const char *base;
	const char *ours;   /* named "local" in markers and file names */
	const char *theirs; /* named "sandbox" */
	struct merge_attributes attributes;
	/* "core.autocrlf=input", "core.eol=lf": merge sides with different line
	 * ends as git stores them; or NULL: do not convert line ends. */
	const char *autocrlf, *eol;
	size_t memory_max; /* memory limit of git in bytes; 0: 4 GiB */
};

/* Computes the merge in g, without writing the user's tree. Only one merge at a
 * time may use g. ERR_LIMIT: git gave up, for example at its memory limit. */
int merge_compute(struct merge *m, const struct git *g,
		  const struct merge_sides *sides, const struct stop *stop,
		  struct error *err);
void merge_release(struct merge *m);

#endif
