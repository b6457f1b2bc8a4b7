/* review.h - which changed files a user should look at before he takes them. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_REVIEW_H
#define WORKTREE_REVIEW_H

#include "config/protect.h"
#include "worktree/odb.h"

/* Why a change of this path is named loudly: programs run what such a file
 * says, on the user's machine or with a server's secrets. NULL: it is not.
 * Static text that goes on after the path: "runs in CI". p may be NULL. */
const char *review_path(const struct protect *p, struct str path);

struct review_file {
	char status;      /* git's: A, D, M, R (renamed), T (type) */
	char *path;       /* owned */
	char *from;       /* owned: the old name of a renamed one, or NULL */
	const char *loud; /* review_path() of either name, or NULL */
};
struct review {
	const struct protect *protect; /* set before; borrowed, or NULL */
	struct review_file *files;     /* by path */
	size_t n;
	size_t n_loud;
};

/* What differs between two commits of dcode's repository, renames found. */
int review_read(struct review *v, const struct git *g, const char *before,
		const char *after, const struct stop *stop, struct error *err);
void review_release(struct review *v);

#endif
