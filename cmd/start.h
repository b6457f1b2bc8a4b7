/* start.h - starts a chat or a task for a command line without a command. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_START_H
#define CMD_START_H

#include "cmd/args.h"
#include "cmd/session/run.h"

/* Runs the chat or task that the flags ask for (dcode, dcode -n, dcode -r).
 * Returns the exit status. */
int run_chat_or_task(struct app *app, const struct args *args);

#endif
