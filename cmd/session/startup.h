/* startup.h - --startup-cmd: a command before the first prompt. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_STARTUP_H
#define CMD_SESSION_STARTUP_H

#include "base/error.h"
#include "base/stop.h"

struct run; /* cmd/session/run.h */

/* Runs it where the tools run, 60 s at most; one that fails is a warning. The
 * model is not told. -1: cancelled, or the sandbox is gone. */
int startup_run(struct run *r, const struct stop *stop, struct error *err);

#endif
