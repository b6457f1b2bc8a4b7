/* options.h - the options of a run, and which of them every command has. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/args.h"

extern const struct arg_row options_global[];
/* True for the global ones that commands take, too. */
bool options_is_everywhere(const char *name);
/* Those that only a line without a command may carry: as options of their own,
 * commands have some of these names. */
extern const struct arg_row options_run[];

#endif
