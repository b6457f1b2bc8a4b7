/* table.c - the table of all commands. */
/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"

const struct command *const commands[] = {
	&command_agents,   &command_apply,
	&command_auth,     &command_bug_report,
	&command_config,   &command_diff,
	&command_doctor,   &command_help_all,
	&command_install,  &command_mcp,
	&command_models,   &command_move,
	&command_provider, &command_sandbox,
	&command_skills,   &command_sync,
	&command_threads,  &command_trust,
	&command_undo,     &command_uninstall,
	&command_version,  NULL,
};
