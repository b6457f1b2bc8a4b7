/* read_history.c - the tool that reads messages removed by a compaction. */
/* SPDX-License-Identifier: MIT */
#include "tool/table.h"

enum { USUAL_LIMIT = 20 };

static int execute_read_history(const struct tool_env *env, const cJSON *args,
				struct buf *out, struct error *err)
{
	const struct tool_recall what = {
		.from = json_int(args, "offset", 1),
		.limit = json_int(args, "limit", USUAL_LIMIT),
		.skip = json_int(args, "skip", 0),
		.pattern = json_string(args, "pattern", NULL),
	};

	if (!env->recall)
		return error_set(err, ERR_USAGE,
				 "Error: this conversation is not stored");
	return env->recall(env->arg, &what, out, err);
}

static const struct tool_arg args[] = {
	{ .name = "offset",
	  .type = ARG_INT,
	  .description = "The number of the first message to read; 1, the "
			 "oldest, if not given.",
	  .positive = true },
	{ .name = "limit",
	  .type = ARG_INT,
	  .description = "The most messages to read; 20 if not given.",
	  .positive = true },
	{ .name = "pattern",
	  .type = ARG_STRING,
	  .description =
		  "Literal text, case ignored. Only messages from offset on "
		  "that contain it are listed, each with the text around it." },
	{ .name = "skip",
	  .type = ARG_INT,
	  .description = "Bytes to skip at the beginning of the first message, "
			 "to continue a message that was too long." },
	{ 0 },
};

const struct tool tool_read_history = {
	.spec = {
		.name = "read_history",
		.description =
			"Reads the conversation from its beginning, including "
			"messages that were replaced by a summary. Messages "
			"are numbered from 1: find them with pattern, then "
			"read them whole with offset.",
	},
	.args = args,
	.summary = "[{pattern} ][from {offset}]",
	.flags = TOOL_SESSION | TOOL_LATER,
	.run = execute_read_history,
};
