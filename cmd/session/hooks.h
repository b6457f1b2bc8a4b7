/* hooks.h - runs the user's hooks, and a project's once trusted, for a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_HOOKS_H
#define CMD_SESSION_HOOKS_H

#include "cmd/session/run.h"

/* Attaches the hooks to this run and its agent; sends no event. run_open()
 * calls it before any model request. */
void run_hooks_follow(struct run *r);
/* Call before run_open(). Loads the hooks and asks about a project's. -1 if the
 * user cancels. ERR_UNGUARDED if a hooks file with guards cannot be used and
 * the user does not agree to continue. */
int run_hooks_open(struct run *r, struct error *err);
/* Reads the files again and asks about changed hooks of a project. On -1
 * (errors as run_hooks_open()) the current hooks stay. Call on the agent's
 * thread, between two turns. */
int run_hooks_reload(struct run *r, struct error *err);
/* Returns why the run begins: "resume" or "startup". */
const char *run_hooks_cause(const struct run *r);
/* Sends SessionStart for an open run or its next thread. Text from the hooks is
 * added to the first prompt. */
int run_hooks_start(struct run *r, const char *cause, const struct stop *stop,
		    struct error *err);
/* Sends SessionEnd and waits within the hooks' time limits. Does nothing
 * without run_hooks_follow(), or when called again. */
void run_hooks_end(struct run *r, const char *cause);
/* Sends a Notification: type is "permission_prompt" for tool, or
 * "elicitation_dialog". Does not wait. */
void run_hooks_notify(struct run *r, const char *type, const char *tool);

#endif
