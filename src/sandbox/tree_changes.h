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
#include "base/buf.h"
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
 * back, and appends the changed files to out as changed_files_add() writes
 * them. Appends to push, unless NULL, the branch that the command wanted to
 * push with git; anything in the sandbox can ask for that. listens, unless
 * NULL, gets the new ports as listeners_read() writes them. */
int tree_changes_end(struct tree_changes *c, int rc, struct buf *out,
		     struct buf *push, struct listen_note *listens,
		     struct error *err);

/* Changed files as text. It is "a.c, b.c and 3 more (+12 -3)", with a minus
 * sign (U+2212). Initialise with { .out = the buffer for the text }. */
struct changed_files {
	struct buf *out; /* borrowed */
	size_t n;        /* changed files */
	size_t shown;    /* those of them whose names are in out */
	size_t added, removed;
	bool counted; /* added and removed are known */
};

/* Adds a file. Its name, relative to the tree, may be any bytes. Only the first
 * five are written. */
void changed_files_add(struct changed_files *l, struct str path);
/* Call at the end: appends how many more there are, and the lines. */
void changed_files_end(struct changed_files *l);

#endif
