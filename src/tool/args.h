/* args.h - checks the arguments that a model sent. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_ARGS_H
#define TOOL_ARGS_H

#include "tool/tool.h"

/*
 * The object of the call, checked against the tool's rows, or NULL with the
 * failed result in out. Lenient where models err: "10" and 10.0 for an
 * integer, "true", 1 and 0 for a boolean, null for what is optional; such
 * values have their right type afterwards. Unknown members are ignored. The
 * caller frees it with cJSON_Delete().
 */
cJSON *args_read(const struct tool *tool, const struct part *call,
		 struct buf *out);

#endif
