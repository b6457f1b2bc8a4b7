/* provider.h - what the provider subcommands share. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_PROVIDER_H
#define CMD_COMMANDS_PROVIDER_H

#include "cmd/command.h"

/* What a provider can, by its flags: "attach, live-output", or as JSON
 * strings with commas between them. */
void provider_capabilities(struct buf *out, unsigned flags, bool json);

#endif
