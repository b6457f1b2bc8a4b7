/* merge_scratch.h - where git merges by the attributes of the local tree. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_MERGE_SCRATCH_H
#define GIT_MERGE_SCRATCH_H

#include "git/git.h"

/*
 * A git directory of its own below that of g, with g's objects, and a work tree
 * that holds nothing but the .gitattributes files of the local side, which git
 * merges by: merge=union, -merge, binary. Filters and encodings stay off, line
 * ends too where they are not asked for, and a driver that is none of git's own
 * is text, since no configuration defines one.
 */
struct merge_scratch {
	struct git git; /* g's own where no attributes are */
	char *dir, *git_dir, *tree, *object_env; /* owned, or NULL */
	const char *env[2];
};

/* Attributes that count beside the .gitattributes files of the tree; borrowed.
 */
struct merge_attributes {
	struct str info;   /* the user's info/attributes */
	struct str global; /* his core.attributesFile */
};

struct merge_scratch_request {
	const char *ours; /* commit or tree of the local side */
	const struct merge_attributes *attributes;
	bool line_ends; /* the attributes text and eol count */
};

int merge_scratch_open(struct merge_scratch *s, const struct git *g,
		       const struct merge_scratch_request *r,
		       const struct stop *stop, struct error *err);
/* Removes it. */
void merge_scratch_close(struct merge_scratch *s);

#endif
