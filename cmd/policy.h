/* policy.h - refuses to run if restrictions cannot be applied. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "cmd/command.h"

/* Checks that the machine's policy and config.toml can be applied before sub
 * runs (NULL: a run). -1 with ERR_POLICY if the policy cannot; a SUB_EXPLAINS
 * command runs nevertheless. -1 with ERR_UNGUARDED if restrictions in
 * config.toml cannot, unless the user agrees to continue; SUB_EXPLAINS and
 * SUB_UNRESTRICTED commands run without that question. */
int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err);

/* Asks at a terminal whether to continue although a restricting file cannot be
 * used; why names the file. Returns 0 if the user agrees, otherwise -1 with
 * ERR_UNGUARDED or ERR_CANCELLED. Without a terminal always -1. */
int policy_go_on_without(struct app *app, const struct error *why,
			 struct error *err);

#endif
