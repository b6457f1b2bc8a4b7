/* hooks.h - the user's hooks of a run, and a project's once trusted. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_HOOKS_H
#define CMD_SESSION_HOOKS_H

#include "cmd/session/run.h"

/* The agent has the user's hooks, and they are told of this run, from now on,
 * without any event. run_open() does it before any request. */
void run_hooks_follow(struct run *r);
/* Before run_open(): finds the hooks, and asks about a project's. -1 when the
 * question was cancelled, or a file of guards cannot be used and nobody says to
 * go on without it: ERR_UNGUARDED. */
int run_hooks_open(struct run *r, struct error *err);
/* Reads the files again, and asks again about a project's that has changed. -1
 * as run_hooks_open(): they stay as they were. On the agent's
 * thread, between two turns. */
int run_hooks_reload(struct run *r, struct error *err);
/* Why the run begins: "resume" or "startup". */
const char *run_hooks_cause(const struct run *r);
/* SessionStart of an open run, or of its next thread; what it says goes with
 * the first prompt. */
int run_hooks_start(struct run *r, const char *cause, const struct stop *stop,
		    struct error *err);
/* SessionEnd, within its hooks' time limits. Without
 * run_hooks_follow(), or a second time, nothing. */
void run_hooks_end(struct run *r, const char *cause);
/* Notification: type is "permission_prompt" of tool, or "elicitation_dialog".
 * Does not wait. */
void run_hooks_notify(struct run *r, const char *type, const char *tool);

#endif
