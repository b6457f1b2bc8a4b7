/* task.h - dcode -n: runs one task unattended. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_TASK_H
#define CMD_TASK_H

#include "cmd/session/run.h"

/* Runs the task to its end and closes the run. Returns the exit status. */
int run_task(struct run *r, const char *prompt);
/* Reports a run that failed before it was opened, in the output format of a
 * task. Returns the exit status. */
int run_fail(struct run *r, struct error *err);

#endif
