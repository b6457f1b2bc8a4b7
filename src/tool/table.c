/* table.c - the tools as one list, for those that go through all of them. */
/* SPDX-License-Identifier: MIT */
#include "tool/table.h"

#include <stddef.h>

#define POINTER(name) &tool_##name,

const struct tool *const tools[] = { TOOLS(POINTER) NULL };
