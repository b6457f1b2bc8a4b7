/* policy.h - what the machine's policy lets a run do. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "cmd/command.h"

/* -1 with ERR_POLICY where the policy cannot be honoured and this command
 * (NULL: a run) is not SUB_EXPLAINS. The same with ERR_UNGUARDED for a
 * config.toml that does not restrict what it was to, unless somebody says to go
 * on; that concerns no SUB_UNRESTRICTED either. */
int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err);

/* why: a file that restricts what dcode may do cannot be used. At a terminal
 * asks whether to go on all the same: 0 for yes. -1 with ERR_UNGUARDED, or
 * ERR_CANCELLED. */
int policy_go_on_without(struct app *app, const struct error *why,
			 struct error *err);

#endif
