/* history_sweep.h - the files of compacted threads go with their threads. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_THREADS_HISTORY_SWEEP_H
#define CMD_THREADS_HISTORY_SWEEP_H

#include "cmd/app.h"

/* Deletes the file (src/agent/history_file.h) of each thread that is not in the
 * database any more. */
void history_sweep(struct app *app);

#endif
