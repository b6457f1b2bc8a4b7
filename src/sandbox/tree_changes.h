/* tree_changes.h - asks a command's own request which files it changed. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TREE_CHANGES_H
#define SANDBOX_TREE_CHANGES_H

/*
 * For sandboxes that have the user's tree (sandbox.names_changes). The command
 * is run by a script that lists the tree before and after it
 * (scripts/sandbox/tree_changes.sh) and prints the difference as an aside
 * (frame.h), so no further request is needed.
 */
#include "sandbox/exec.h"
#include "sandbox/frame.h"
#include "sandbox/sandbox.h"

struct tree_changes { /* private */
	struct exec_request inner;
	struct aside aside;
	struct buf command, text;
	bool asks;
};

/* Changes the request's command and callback, unless the sandbox does not have
 * the tree or the command is too long. Not for a plain command. Nothing of req
 * may be freed before tree_changes_end(). */
void tree_changes_begin(struct tree_changes *c, const struct sandbox *sb,
			struct exec_request *req);
/* Call with the result of sandbox_execute(). Passes on output that was held
 * back, and appends the changed files to out as changed_files.h writes them.
 * Appends to push, unless NULL, the branch that the command wanted to push with
 * git; anything in the sandbox can ask for that. */
int tree_changes_end(struct tree_changes *c, int rc, struct buf *out,
		     struct buf *push, struct error *err);

#endif
