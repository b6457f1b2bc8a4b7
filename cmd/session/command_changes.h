/* command_changes.h - names the files that a command has changed. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COMMAND_CHANGES_H
#define CMD_SESSION_COMMAND_CHANGES_H

/*
 * For tools that run on this machine (sandbox `none`): the line "changed: a.c,
 * b.c (+12 -3)" below a command. worktree/tree_watch.h finds the files.
 */
#include "cmd/app.h"
#include "worktree/tree_watch.h"

/* Initialise with { .app = app }. */
struct command_changes {
	struct app *app; /* borrowed */
	struct tree_watch watch;
};

/* Implements agent.watch; arg is the struct command_changes. */
void command_changes_watch(void *arg, struct buf *changed,
			   const struct stop *stop);
void command_changes_close(struct command_changes *c);

#endif
