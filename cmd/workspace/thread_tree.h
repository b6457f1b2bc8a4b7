/* thread_tree.h - a thread's working tree, and its sandbox where it lives. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_WORKSPACE_THREAD_TREE_H
#define CMD_WORKSPACE_THREAD_TREE_H

#include "cmd/app.h"
#include "session/thread.h"
#include "workspace/workspace.h"

struct thread_tree { /* start from { 0 } */
	struct app *app;
	struct thread thread;
	struct workspace workspace;
};

/*
 * The thread that name means (a prefix of its id), or with none or "latest" the
 * newest of this working tree whose sandbox got it. ERR_USAGE when it belongs
 * to another tree. Close it in any case.
 */
int thread_tree_open(struct thread_tree *t, struct app *app, const char *name,
		     const struct stop *stop, struct error *err);
/* The commit of what its sandbox has now; when it is gone, of what was last
 * seen there, which is said. */
int thread_tree_fetch(struct thread_tree *t, char theirs[GIT_OID],
		      const struct stop *stop, struct error *err);
void thread_tree_close(struct thread_tree *t);
/* The working tree that dcode was started in, without a sandbox. */
int thread_tree_here(struct workspace *w, struct app *app,
		     const struct stop *stop, struct error *err);

#endif
