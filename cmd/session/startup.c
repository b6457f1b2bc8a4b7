/* startup.c - --startup-cmd: a command before the first prompt. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/startup.h"

#include "agent/own_command.h"
#include "cmd/session/run.h"

enum { STARTUP_MS = 60000 };

int startup_run(struct run *r, const struct stop *stop, struct error *err)
{
	struct stop soon = stop_within(stop, STARTUP_MS);
	struct error why = { 0 };

	if (!r->options.startup)
		return 0;
	if (agent_run_own_command(&r->agent, r->options.startup, NULL, &soon,
				  &why) == 0)
		return 0;
	if (stop_check(stop, err) < 0)
		return -1;
	if (why.code == ERR_GONE) {
		*err = why;
		return -1;
	}
	app_warn("--startup-cmd failed, or did not end within %d s: %s",
		 STARTUP_MS / 1000, why.message);
	return 0;
}
