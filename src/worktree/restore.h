/* restore.h - gives files in a sandbox the contents of another commit. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_RESTORE_H
#define WORKTREE_RESTORE_H

#include "sandbox/sandbox.h"
#include "worktree/treefile.h"
#include "worktree/workspace.h"

struct restore_side {
	unsigned mode; /* 0: there is no file */
	char oid[GIT_OID];
	char hash[LISTING_HASH];
};

struct restore_line {
	char *path; /* owned */
	struct restore_side old, new;
	bool taken; /* the sandbox has replaced the file */
};

/* Set the fields up to arg, the others to zero; restore_release() at the end.
 */
struct restore { /* borrowed, if not said otherwise */
	struct workspace *w;
	struct sandbox *sandbox; /* NULL: the files are the user's own, in w */
	const struct stop *stop;
	/* Commits in w. A file is only replaced if it is as in `from`. */
	const char *from, *to;
	/* True: leave this path as it is. NULL: replace all. */
	bool (*skips)(void *arg, const char *path);
	void *arg;
	struct restore_line *lines; /* owned; out: sorted by path */
	size_t n;
	char *scratch; /* owned: directory with the files to send */
	struct restore_line **batch; /* owned */
	size_t n_batch;
};

/*
 * Sends the difference of the two commits to the sandbox's tree, with one
 * request for each 128 KiB of names, and sets lines and their `taken`. On -1
 * some of the files may have been replaced. It can be repeated.
 */
int restore_run(struct restore *u, struct error *err);
void restore_release(struct restore *u);
/* Records the permissions of a file of the user's that is about to be deleted.
 * -1 with err if they could not be recorded. */
int restore_note_perm(const struct workspace *w, const char *path,
		      const struct treefile *t, struct error *err);

#endif
