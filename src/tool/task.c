/* task.c - the tool that delegates work to a subagent. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "tool/table.h"

/* Runs the subagent and returns its last text as the result. */
static int execute_task(const struct tool_env *env, const cJSON *args,
			struct buf *out, struct error *err)
{
	const struct tool_delegation what = {
		.type = json_string(args, "subagent_type", ""),
		.order = json_string(args, "description", ""),
		.apart = json_bool(args, "own_sandbox", false),
	};

	if (!env->delegate)
		return error_set(err, ERR_USAGE,
				 "Error: a subagent cannot call task: do it "
				 "yourself, with your own tools");
	if (!str_trim(str_of(what.order)).len)
		return error_set(err, ERR_USAGE,
				 "Error: description is blank. The subagent "
				 "gets no other information");
	return env->delegate(env->arg, &what, out, err);
}

static const struct tool_arg args[] = {
	{ .name = "description",
	  .type = ARG_STRING,
	  .description = "The work, with everything that the subagent needs to "
			 "know and what its answer must contain. It gets no "
			 "other information.",
	  .required = true },
	{ .name = "subagent_type",
	  .type = ARG_STRING,
	  .description = "One of the names listed above.",
	  .required = true },
	{ .name = "own_sandbox",
	  .type = ARG_BOOL,
	  .fallback = "false",
	  .description =
		  "true: it works on a copy of the files in a separate "
		  "sandbox, and its changes are merged into yours at the end. "
		  "Possible only if your files were sent to a sandbox. Use it "
		  "for work that would disturb others." },
	{ 0 },
};

const struct tool tool_task = {
	.spec = {
		.name = "task",
		.description =
			"Hands a piece of work to a subagent, which has its "
			"own conversation and works on the same files as you, "
			"and returns its last message. Use it for work of "
			"several steps whose details you do not need: a search "
			"through many files, a review, an independent change. "
			"Do small things yourself. Several calls in one answer "
			"run at the same time. A subagent does not know this "
			"conversation, cannot be asked anything later and "
			"cannot start subagents. The user does not see its "
			"answer, so tell him what matters.",
	},
	.args = args,
	.summary = "{subagent_type}: {description}",
	.flags = TOOL_DELEGATES | TOOL_SESSION | TOOL_EVICTS,
	.run = execute_task,
};
