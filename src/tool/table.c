/* table.c - the tools, in the order in which the model sees them. */
/* SPDX-License-Identifier: MIT */
#include "tool/table.h"

#include <stddef.h>

const struct tool *const tools[] = {
	&tool_ls,        &tool_read_file, &tool_write_file,
	&tool_edit_file, &tool_delete,    &tool_glob,
	&tool_grep,      &tool_execute,   NULL,
};
