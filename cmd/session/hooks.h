/* hooks.h - runs the user's hooks, and a project's once trusted, for a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_HOOKS_H
#define CMD_SESSION_HOOKS_H

#include "cmd/session/run.h"

/* Makes the hooks and r's agent use each other; sends no event. run_open()
 * calls it before any model request. */
void run_hooks_follow(struct run *r);
/* Call before run_open(). Loads the hooks and asks the user about a project's.
 * -1 if the user cancels. ERR_UNGUARDED if a hooks file that restricts calls
 * cannot be used and the user does not agree to continue. */
int run_hooks_open(struct run *r, struct error *err);
/* Reads the hooks files again and asks about changed hooks of a project. On -1
 * (with the errors of run_hooks_open()) the current hooks stay. Call on the
 * agent's thread, between two turns. */
int run_hooks_reload(struct run *r, struct error *err);
/* Returns the hooks' word for why the run begins: "resume" or "startup". */
const char *run_hooks_cause(const struct run *r);
/* Sends SessionStart when a run has opened or has begun another thread. Text
 * that the hooks return is added to the first prompt. */
int run_hooks_start(struct run *r, const char *cause, const struct stop *stop,
		    struct error *err);
/* Sends SessionEnd and waits within the hooks' time limits. Does nothing if
 * run_hooks_follow() was not called, or on a second call. */
void run_hooks_end(struct run *r, const char *cause);
/* Tells the hooks that dcode asks whether a tool may run (Notification of type
 * "permission_prompt"). Does not wait for them. */
void run_hooks_notify(struct run *r, const char *tool);

#endif
