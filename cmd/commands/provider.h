/* provider.h - shared functions of the provider subcommands. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_PROVIDER_H
#define CMD_COMMANDS_PROVIDER_H

#include "cmd/command.h"

/* Appends the capabilities in flags: "attach, live-output", or comma-separated
 * JSON strings. */
void provider_capabilities(struct buf *out, unsigned flags, bool json);

#endif
