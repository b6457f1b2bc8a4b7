/* policy.h - refuses to run if restrictions cannot be applied. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "cmd/command.h"

/* Checks the machine's policy and config.toml before a command (NULL: a run).
 * -1 with ERR_POLICY if the policy cannot be applied, except for SUB_EXPLAINS.
 * -1 with ERR_UNGUARDED if config.toml fails to apply a restriction, unless the
 * user agrees to continue; not for SUB_EXPLAINS or SUB_UNRESTRICTED. */
int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err);

/* why says which restricting file cannot be used. At a terminal asks whether to
 * continue: 0 if the user agrees, otherwise -1 with ERR_UNGUARDED or
 * ERR_CANCELLED. Without a terminal always -1. */
int policy_go_on_without(struct app *app, const struct error *why,
			 struct error *err);

#endif
