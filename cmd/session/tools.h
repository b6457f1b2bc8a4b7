/* tools.h - tools that act outside the sandbox: MCP servers and web. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TOOLS_H
#define CMD_SESSION_TOOLS_H

#include "cmd/session/run.h"

/* Reads the MCP servers, asks about the project's, and starts those whose tools
 * are not cached. */
int run_mcp_begin(struct run *r, struct error *err);
/* Waits until the started servers have listed their tools. Call before the
 * model is opened. */
int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err);
/* Connects the agent to the servers' tools and their changes. */
void run_mcp_attach(struct run *r);
/* Applies tool lists that servers changed since the last request, and shows
 * their warnings. True: offer the tools to the model again. */
bool run_mcp_update(struct run *r);
void run_mcp_end(struct run *r);
void run_web_attach(struct run *r);
/* Returns the servers' tools, NULL-terminated; or NULL if there are none. */
const struct tool *const *run_mcp_tools(const struct run *r);
/* True if [mcp] allow lets this tool run without approval. */
bool run_mcp_allows(const struct run *r, const struct tool *tool);
/* True for tools that read the web, to which [web] of config.toml applies. */
bool run_web_has(const struct tool *tool);
/* True if a web tool is usable in this run: its calls can be approved or [web]
 * allows some, and a search has a command or key. */
bool run_web_offers(const struct run *r, const struct tool *tool);
/* True if [web] lets the call run without approval. */
bool run_web_allows(const struct run *r, const struct approval *a);
/* Appends what the call acts on, for a question. */
void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place);
/* Tells the model that an unattended run may not make this call. */
void run_web_refuse(const struct approval *a, struct buf *reason);

#endif
