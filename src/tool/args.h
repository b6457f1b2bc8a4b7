/* args.h - checks the arguments that a model sent. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_ARGS_H
#define TOOL_ARGS_H

#include "tool/tool.h"

/*
 * Returns the call's arguments, checked against the tool's parameters, or NULL
 * with the failed result in out. Accepts common mistakes of models: "10" and
 * 10.0 for an integer; "true", 1 and 0 for a boolean; null for an optional
 * value. Such values are converted. Unknown members are ignored. Free with
 * cJSON_Delete().
 */
cJSON *args_read(const struct tool *tool, const struct part *call,
		 struct buf *out);

#endif
