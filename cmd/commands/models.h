/* models.h - dcode models: what is known of models, and trying one. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_MODELS_H
#define CMD_COMMANDS_MODELS_H

#include "cmd/app.h"
#include "cmd/args.h"

/* Subcommands: struct subcommand.run. */
int models_cmd_list(struct app *app, const struct args *args);
int models_cmd_test(struct app *app, const struct args *args);

#endif
