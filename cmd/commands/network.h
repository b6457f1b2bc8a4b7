/* network.h - prints what the commands of a thread have connected to. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_NETWORK_H
#define CMD_COMMANDS_NETWORK_H

#include "cmd/app.h"

/* Prints the log of a thread or a sandbox on stdout, as JSON with --json. name:
 * a thread's id, its beginning, "latest", or a sandbox's id; NULL: the thread
 * of the chat, or the last one of this directory. */
int network_log_print(struct app *app, const char *name, struct error *err);

#endif
