/* tree_changes.h - asks a command's own request which files it changed, and on
 * which ports something listens. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TREE_CHANGES_H
#define SANDBOX_TREE_CHANGES_H

/*
 * For sandboxes that have the user's tree (sandbox.names_changes). The command
 * is run by a script that lists the tree before and after it
 * (scripts/sandbox/tree_changes.sh) and prints the difference as an aside
 * (frame.h), so no further request is needed. The same script reads
 * /proc/net/tcp before the first command and after each one, if the caller
 * wants to know the ports.
 */
#include "sandbox/exec.h"
#include "sandbox/frame.h"
#include "sandbox/ports/ports.h"
#include "sandbox/sandbox.h"

struct tree_changes { /* private */
	struct exec_request inner;
	struct aside aside;
	struct buf command, text;
	struct sandbox *sandbox; /* borrowed */
	bool asks;
	bool ports; /* ... also for the ports */
};

/* Changes the request's command and callback, unless the command is too long,
 * or the sandbox does not have the tree and ports is false. Not for a plain
 * command. Nothing of req may be freed before tree_changes_end(). */
void tree_changes_begin(struct tree_changes *c, struct sandbox *sb, bool ports,
			struct exec_request *req);
/* Call with the result of sandbox_execute(). Passes on output that was held
 * back, and appends the changed files to out as changed_files.h writes them.
 * Appends to push, unless NULL, the branch that the command wanted to push with
 * git; anything in the sandbox can ask for that. listens, unless NULL, gets the
 * new ports as listeners_read() writes them. */
int tree_changes_end(struct tree_changes *c, int rc, struct buf *out,
		     struct buf *push, struct listen_note *listens,
		     struct error *err);

#endif
