/* table.h - the tools, each a file of its own. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include "tool/tool.h"

extern const struct tool tool_ls;
extern const struct tool tool_read_file;
extern const struct tool tool_write_file;
extern const struct tool tool_edit_file;
extern const struct tool tool_delete;
extern const struct tool tool_glob;
extern const struct tool tool_grep;
extern const struct tool tool_execute;

#endif
