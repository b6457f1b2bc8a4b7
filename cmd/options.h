/* options.h - the options of a run, which every command line may carry. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/args.h"

extern const struct arg_row options_global[];
/* Those that only a line without a command may carry: as options of their own,
 * commands have some of these names. */
extern const struct arg_row options_run[];

#endif
