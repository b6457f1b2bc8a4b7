/* threads.h - shared functions of the threads subcommands. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_THREADS_H
#define CMD_COMMANDS_THREADS_H

#include "cmd/command.h"
#include "cmd/session/thread_info.h"
#include "session/thread.h"
int threads_cmd_export(struct app *app, const struct args *args);
int threads_cmd_import(struct app *app, const struct args *args);

enum { THREADS_ID = 13 }; /* characters of an id in lists: its timestamp */

#endif
