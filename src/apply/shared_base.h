/* shared_base.h - the base after a merge: what both sides share from then on.
 */
/* SPDX-License-Identifier: MIT */
#ifndef APPLY_SHARED_BASE_H
#define APPLY_SHARED_BASE_H

#include "git/merge.h"

struct shared_base { /* all borrowed */
	const struct git *git;
	const char *label;  /* of the sandbox */
	const char *base;   /* a commit: the base before the merge */
	const char *theirs; /* a commit: the sandbox's side of the merge */
	const struct merge *merge;
	/* Called for each path whose base does not move. */
	void (*kept)(void *arg, const char *path);
	void *arg;
};

/*
 * Computes the commit that is the base once the merge's tree is written. The
 * base of a path moves only when that tree holds the path's new content: as it
 * is, merged, or between conflict markers. Elsewhere (a binary file, a link, a
 * deletion here or there) the user's version stays in the tree, and the base
 * stays as it was: the sandbox's version remains a change of the sandbox, which
 * diff shows and the next apply brings.
 */
int shared_base_compute(const struct shared_base *s, char after[GIT_OID],
			const struct stop *stop, struct error *err);

#endif
