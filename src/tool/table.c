/* table.c - the list of all tools. */
/* SPDX-License-Identifier: MIT */
#include "tool/table.h"

#include <stddef.h>

#define POINTER(name) &tool_##name,

const struct tool *const tools[] = { TOOLS(POINTER) NULL };
