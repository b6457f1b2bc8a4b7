/* present_plan.c - the tool that gives the user the plan of plan mode. */
/* SPDX-License-Identifier: MIT */
/*
 * Offered only in plan mode, in a chat. The plan goes to tool_env.plan. When
 * the turn has ended, cmd/chat/plan_review.c asks the user about it.
 */
#include "base/json.h"
#include "base/str.h"
#include "tool/table.h"

static int execute_present_plan(const struct tool_env *env, const cJSON *args,
				struct buf *out, struct error *err)
{
	struct str plan = str_trim(str_of(json_string(args, "plan", "")));

	if (!env->plan)
		return error_set(err, ERR_USAGE,
				 "Error: nobody can accept a plan here. Write "
				 "it as your answer.");
	if (!plan.len)
		return error_set(err, ERR_USAGE,
				 "Error: the plan must not be blank");
	buf_clear(env->plan);
	buf_addstr(env->plan, plan);
	if (buf_check(env->plan, "Error: the plan", err) < 0) {
		buf_clear(env->plan);
		return -1;
	}
	buf_adds(out, "The user reads the plan now, may edit it, and decides "
		      "about it. End your turn with one short sentence, and do "
		      "not repeat the plan.");
	return 0;
}

static const struct tool_arg args[] = {
	{ .name = "plan",
	  .type = ARG_STRING,
	  .description = "The whole plan in Markdown: what to change, in which "
			 "files, in which order, and how to check it.",
	  .required = true },
	{ 0 },
};

const struct tool tool_present_plan = {
	.spec = {
		.name = "present_plan",
		.description =
			"Gives the user your plan, once it is complete. The "
			"user decides whether it is carried out. Not for the "
			"answer to a question, and not before you know what "
			"only the user can decide: ask that first.",
	},
	.args = args,
	.summary = "",
	.flags = TOOL_SESSION | TOOL_SINGLE,
	.run = execute_present_plan,
};
