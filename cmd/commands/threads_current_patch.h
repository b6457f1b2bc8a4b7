/* threads_current_patch.h - what a thread's sandbox has now, as a saved patch.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_THREADS_CURRENT_PATCH_H
#define CMD_COMMANDS_THREADS_CURRENT_PATCH_H

#include "cmd/app.h"
#include "session/thread.h"

/*
 * Asks the sandbox of the thread, where it has one that may be there and that
 * the tree was sent to, and saves what changed in it as a patch of the thread:
 * *path, owned. NULL: all of it has come back. What does not come is named on
 * stderr. 1: there is none, or it cannot be told, which was warned about. -1:
 * interrupted.
 */
int current_patch_save(struct app *app, struct store *s, const struct thread *t,
		       char **path, struct error *err);

#endif
