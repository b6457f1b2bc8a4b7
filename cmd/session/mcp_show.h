/* mcp_show.h - how MCP servers are, as text and as JSON. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_SHOW_H
#define CMD_SESSION_MCP_SHOW_H

#include "cmd/app.h"
#include "mcp/mcp.h"

/* Appends some lines about a server: its state, how long that took, what it
 * said. names: those of its tools, too. */
void mcp_show(const struct app *app, struct mcp_server *s, bool tools,
	      struct buf *out);
/* The same as a JSON object. */
void mcp_show_json(const struct app *app, struct mcp_server *s,
		   struct buf *out);
/* "stdio: npx server", with no variable's value in it. */
void mcp_show_command(const struct app *app, const struct mcp_entry *e,
		      struct buf *out);

#endif
