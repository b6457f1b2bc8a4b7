/* workspace.h - the user's tree in the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_WORKSPACE_H
#define CMD_SESSION_WORKSPACE_H

#include "cmd/session/run.h"

/* The user's tree into the sandbox, as o->workspace, or the user when asked,
 * says; or what changed in it since, if it was sent before. decided is called
 * once the user has no question left to answer. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       void (*decided)(struct run *r), const struct stop *stop,
		       struct error *err);
/* Says before the first request, where nobody can be asked, that the sandbox
 * has nothing of the repository, and what sends it. */
void run_workspace_remark(const struct run *r);
/* Errors of --workspace repo that can be found before. */
int run_workspace_check(const struct run *r, struct error *err);

#endif
