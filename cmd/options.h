/* options.h - tables of the command line options, global and for runs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/args.h"

extern const struct arg_row options_global[];
/* True for those global options that every command accepts. */
bool options_is_everywhere(const char *name);
/* Options that are only accepted if the line does not name a command. They are
 * not in the global table, because some commands have other options of the same
 * names. */
extern const struct arg_row options_run[];

#endif
