/* workspace.h - sends the user's tree into the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_WORKSPACE_H
#define CMD_SESSION_WORKSPACE_H

#include "cmd/session/run.h"

/* Sends the user's tree into the sandbox, if --workspace or the user's answer
 * says so, or its changes if it was sent before. Calls decided once the user
 * has no question left. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       void (*decided)(struct run *r), const struct stop *stop,
		       struct error *err);
/* Prints before the first request of an unattended run that the sandbox starts
 * empty, and how to send the repository. */
void run_workspace_remark(const struct run *r);
/* Finds errors of --workspace repo before the sandbox exists. */
int run_workspace_check(const struct run *r, struct error *err);

#endif
