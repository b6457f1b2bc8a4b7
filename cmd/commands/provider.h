/* provider.h - shared functions of the provider subcommands. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_PROVIDER_H
#define CMD_COMMANDS_PROVIDER_H

#include "cmd/command.h"

/* Appends the names of the capabilities in flags: "attach, live-output". json:
 * as JSON strings with commas. */
void provider_capabilities(struct buf *out, unsigned flags, bool json);

#endif
