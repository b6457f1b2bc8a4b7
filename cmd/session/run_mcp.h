/* run_mcp.h - the tools of a run's MCP servers. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_MCP_H
#define CMD_SESSION_RUN_MCP_H

#include "cmd/session/run.h"

/* Tools of servers, NULL-terminated; NULL: there are none. */
const struct tool *const *run_mcp_tools(const struct run *r);
/* Whether [mcp] allow lets calls of this tool run without a question. */
bool run_mcp_allows(const struct run *r, const struct tool *tool);

#endif
