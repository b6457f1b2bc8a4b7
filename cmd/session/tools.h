/* tools.h - tools that act outside the sandbox: MCP servers and web. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TOOLS_H
#define CMD_SESSION_TOOLS_H

#include "cmd/session/run.h"

/* Reads the entries of MCP servers and asks the user about the project's.
 * Starts the servers whose tools are not cached. */
int run_mcp_begin(struct run *r, struct error *err);
/* Waits until the started servers have listed their tools. Call before the
 * model is opened. */
int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err);
/* Lets the agent call the servers' tools and learn about changes of them. */
void run_mcp_attach(struct run *r);
/* Applies changes that servers have made to their lists of tools since the last
 * request, and shows the servers' warnings. True if the model must be offered
 * the tools again. */
bool run_mcp_update(struct run *r);
void run_mcp_end(struct run *r);
void run_web_attach(struct run *r);
/* Returns the servers' tools, NULL-terminated; or NULL if there are none. */
const struct tool *const *run_mcp_tools(const struct run *r);
/* True if [mcp] allow lets this tool run without approval. */
bool run_mcp_allows(const struct run *r, const struct tool *tool);
/* True for fetch_url and web_search, to which [web] of config.toml applies. */
bool run_web_has(const struct tool *tool);
/* True if a web tool is offered in this run: the user can approve its calls or
 * [web] allows some, and web_search has a command or key. */
bool run_web_offers(const struct run *r, const struct tool *tool);
/* True if [web] lets the call run without approval. */
bool run_web_allows(const struct run *r, const struct approval *a);
/* Appends what a call of a web tool acts on, for the question to the user. */
void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place);
/* Appends why an unattended run may not make this call, for the model. */
void run_web_refuse(const struct approval *a, struct buf *reason);

#endif
