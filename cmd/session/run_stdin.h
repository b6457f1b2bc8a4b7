/* run_stdin.h - text that is piped to a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_STDIN_H
#define CMD_SESSION_RUN_STDIN_H

#include "cmd/session/run_options.h"

/* Text piped to standard input. 0 with *text owned (NULL: there was none);
 * a terminal gives NULL, an error with --stdin. With -n but not --stdin a pipe
 * that stays silent for 10 s is left alone with a warning. */
int run_read_stdin(char **text, const struct run_options *o,
		   const struct stop *stop, struct error *err);

#endif
