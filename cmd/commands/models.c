/* models.c - dcode models: what is known of models, and trying one. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/models.h"

#include "cmd/command.h"

static const struct arg_row options[] = {
	ARG_JSON,
	{ 0 },
};

static const struct arg_row test_options[] = {
	{ "max-usd", 0, ARG_VALUE, "N",
	  "Stop before spending more than this, in US dollars (status 124)" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .args = "[FILTER]",
	  .summary = "List models: context windows, output limits, prices, and "
		     "which are ready",
	  .options = options,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = models_cmd_list },
	{ .name = "test",
	  .args = "NAME",
	  .summary = "Ask a model a few cheap questions to see what it can do "
		     "here",
	  .options = test_options,
	  .least = 1,
	  .most = 1,
	  .run = models_cmd_test },
	{ 0 },
};

const struct command command_models = {
	.name = "models",
	.summary = "List models, and test what one can do",
	.subs = subs,
};
