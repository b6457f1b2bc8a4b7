/* plan_mode.h - plan mode: the model reads and plans, and changes nothing. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_PLAN_MODE_H
#define CMD_SESSION_PLAN_MODE_H

#include "cmd/session/run.h"

/* True if the run is in plan mode and the tool is not offered there. */
bool plan_mode_hides(const struct run *r, const struct tool *tool);
/* True if the run is in plan mode and this call must not run; reason then gets
 * the text for the model. Attack: a page or a file tells the model the name of
 * a tool that it was not offered; or a call is from an answer that began before
 * plan mode. So each call is checked when it is about to run. */
bool plan_mode_refuses(const struct run *r, const struct tool *tool,
		       struct buf *reason);
/* Returns the note for a subagent; NULL: plan mode is off. */
const char *plan_mode_note(const struct run *r);

#endif
