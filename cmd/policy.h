/* policy.h - what the machine's policy lets a run do. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "cmd/command.h"
#include "cmd/run.h"

/* -1 with ERR_POLICY where the policy cannot be honoured and this command
 * (NULL: a run) is no SUB_EXPLAINS. */
int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err);
/* Flags, just read, that the policy forbids are an error; what it limits is
 * limited. */
int policy_apply(struct run_options *o, const struct settings *set,
		 struct error *err);
/* A warning where the policy's sandbox was not asked for. */
void policy_remark(const struct run_options *o, const struct settings *set);

#endif
