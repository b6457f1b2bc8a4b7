/* include.h - the patterns that bring what else stays behind. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_INCLUDE_H
#define CMD_SESSION_INCLUDE_H

#include "cmd/app.h"
#include "cmd/args.h"

/* [workspace] include, then --include of the chat that a command was typed in,
 * then of args, which may be NULL. The array is owned, its strings are not;
 * NULL with err. */
const char **include_read(struct app *app, const struct args *args, size_t *n,
			  struct error *err);

#endif
