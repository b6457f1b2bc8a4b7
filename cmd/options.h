/* options.h - the options of a run, which every command line may carry. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/args.h"

extern const struct arg_row options_global[];

#endif
