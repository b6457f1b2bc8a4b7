/* plan_mode.c - plan mode: the model reads and plans, and changes nothing. */
/* SPDX-License-Identifier: MIT */
/*
 * In plan mode (RUN_PLAN) the model has only tools that read. run_decide() in
 * policy.c refuses all other calls, also those of subagents. Each prompt begins
 * with a note that asks for a plan; if the user changes the mode in the middle
 * of a turn, the next result ends with it. A chat then asks whether to carry it
 * out: see cmd/chat/plan_review.c. That approves no call: the earlier mode
 * returns, and the calls of the plan are judged in it like any others.
 */
#include "cmd/session/plan_mode.h"

#include "cmd/session/tools.h"
#include "tool/table.h"

/* True for a tool that plan mode permits: it only reads, or acts on the
 * conversation alone. The web tools are among them. */
static bool permits_tool(const struct tool *tool)
{
	/* Only the server itself claims that its tool just reads. */
	if (tool->flags & TOOL_FOREIGN)
		return run_web_has(tool);
	if (tool == &tool_job_kill)
		return false;
	return tool->flags & (TOOL_READS | TOOL_SESSION);
}

bool plan_mode_hides(const struct run *r, const struct tool *tool)
{
	return r->mode == RUN_PLAN && !permits_tool(tool);
}

bool plan_mode_refuses(const struct run *r, const struct tool *tool,
		       struct buf *reason)
{
	if (!plan_mode_hides(r, tool))
		return false;
	/* The user sees the first line, the model all. */
	buf_addf(reason,
		 "Refused: plan mode\n"
		 "%s is not available in plan mode: only tools that read are. "
		 "Do not try another way to change something. Write the plan "
		 "as your answer; the user decides about it.",
		 tool->spec.name);
	return true;
}

const char *plan_mode_note(const struct run *r)
{
	return r->mode == RUN_PLAN ? MESSAGE_NOTE_PLAN : NULL;
}
