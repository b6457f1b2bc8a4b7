/* own_command.h - a command of the user's, where the tools run. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_OWN_COMMAND_H
#define AGENT_OWN_COMMAND_H

#include "agent/agent.h"

/*
 * Runs it as the execute tool would, with the same events, and without asking:
 * the user has typed it. told (may be NULL: the model never learns of it) gets
 * what the model is told with the next prompt. -1 with ERR_CANCELLED, ERR_GONE.
 */
int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err);

#endif
