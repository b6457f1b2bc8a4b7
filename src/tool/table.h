/* table.h - the list of all tools; each is defined in its own file. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include "tool/tool.h"

/* One entry per tool, in the order in which the model sees them. tool_NAME is
 * defined in NAME.c. */
#define TOOLS(ROW)                                                             \
	ROW(ls)                                                                \
	ROW(read_file)                                                         \
	ROW(write_file)                                                        \
	ROW(edit_file)                                                         \
	ROW(delete)                                                            \
	ROW(glob)                                                              \
	ROW(grep)                                                              \
	ROW(execute)                                                           \
	ROW(job_output)                                                        \
	ROW(job_kill)                                                          \
	ROW(task)                                                              \
	ROW(web_search)                                                        \
	ROW(fetch_url)                                                         \
	ROW(write_todos)                                                       \
	ROW(ask_user)                                                          \
	ROW(present_plan)                                                      \
	ROW(read_history)

#define TOOL_DECLARE(name) extern const struct tool tool_##name;
TOOLS(TOOL_DECLARE)

#endif
