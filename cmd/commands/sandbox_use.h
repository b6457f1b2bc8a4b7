/* sandbox_use.h - dcode sandbox create, start, stop, exec and network. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_SANDBOX_USE_H
#define CMD_COMMANDS_SANDBOX_USE_H

#include "cmd/command.h"

/* These functions implement the subcommands. args does not contain the
 * subcommand's name. They return the exit status. */
int sandbox_cmd_exec(struct app *app, const struct args *args);
int sandbox_cmd_create(struct app *app, const struct args *args);
int sandbox_cmd_stop(struct app *app, const struct args *args);
int sandbox_cmd_start(struct app *app, const struct args *args);
int sandbox_cmd_network(struct app *app, const struct args *args);

#endif
