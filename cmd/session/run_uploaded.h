/* run_uploaded.h - uploads into the tree of a run are not the agent's work. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_UPLOADED_H
#define CMD_SESSION_RUN_UPLOADED_H

#include "cmd/session/run.h"
#include "git/listing.h"

/* Adds a file that was uploaded to target, an absolute path there, where that
 * is below the working directory. in_tree: of a directory, where a link is
 * uploaded as a link. */
void run_uploaded(struct listing *l, const struct sandbox *sb,
		  const char *local, const char *target, bool in_tree);
/* Puts all into the records of the run's sandbox, if it has a tree, and empties
 * l. What fails is warned about. */
void run_uploaded_note(struct run *r, struct listing *l);

#endif
