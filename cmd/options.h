/* options.h - tables of the command line options, global and for runs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/args.h"

extern const struct arg_row options_global[];
/* True for the global options that every command accepts, too. */
bool options_is_everywhere(const char *name);
/* Options that only a line without a command accepts. Not in the global table,
 * because some commands have options of the same name. */
extern const struct arg_row options_run[];

#endif
