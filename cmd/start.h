/* start.h - a command line without a command becomes a chat or a task. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_START_H
#define CMD_START_H

#include "cmd/args.h"
#include "cmd/session/run.h"

/* dcode, dcode -n, dcode -r: opens the conversation that the flags ask for.
 * Exit status. */
int run_chat_or_task(struct app *app, const struct args *args);

#endif
