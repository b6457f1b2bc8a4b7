/* commit.h - the base commit in a sandbox, made behind the user's back. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_COMMIT_H
#define WORKTREE_COMMIT_H

#include "sandbox/sandbox.h"
#include "worktree/workspace.h"

struct commit_terms { /* of workspace_commit.sh; borrowed */
	const char *branch;
	const char *message;
	const char *commits; /* "OID:SIZE", or "" */
};
/* Notes in LABEL.uncommitted that the sandbox has the tree and no commit. */
int commit_note(const struct workspace *w, const struct commit_terms *t,
		struct error *err);
/* Begins what is noted, also by a dcode that was killed: see background.h.
 * 0 also when there is nothing to do. The error of background_end() is then
 * that the sandbox's git could not make a repository of the tree. */
int commit_begin(const struct workspace *w, struct sandbox *sb,
		 struct error *err);

#endif
