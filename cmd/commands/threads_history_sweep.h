/* threads_history_sweep.h - files of threads go with them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_THREADS_HISTORY_SWEEP_H
#define CMD_COMMANDS_THREADS_HISTORY_SWEEP_H

#include "cmd/app.h"

/* Deletes the files (src/agent/history_text.h, session/thread_transcript.h) of
 * each thread that is not in the database any more. */
void history_sweep(struct app *app);

#endif
