/* policy.h - what the machine's policy lets a run do. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "cmd/command.h"

/* -1 with ERR_POLICY where the policy cannot be honoured and this command
 * (NULL: a run) is no SUB_EXPLAINS. */
int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err);

#endif
