/* tools.h - tools that do not act in the sandbox: MCP servers, web. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TOOLS_H
#define CMD_SESSION_TOOLS_H

#include "cmd/session/run.h"

/* MCP servers: reads which there are, asks about those of the project, and
 * starts those whose tools are not known from before. */
int run_mcp_begin(struct run *r, struct error *err);
/* Waits until these have named them: before the model is opened. */
int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err);
/* The agent is told of their tools, and of changes. */
void run_mcp_attach(struct run *r);
/* Takes over the lists of tools that servers have changed since the last
 * request, and shows what has to be said of servers. True: offer the tools to
 * the model again. */
bool run_mcp_update(struct run *r);
void run_mcp_end(struct run *r);
void run_web_attach(struct run *r);
/* Tools of servers, NULL-terminated; NULL: there are none. */
const struct tool *const *run_mcp_tools(const struct run *r);
/* Whether [mcp] allow lets calls of this tool run without a question. */
bool run_mcp_allows(const struct run *r, const struct tool *tool);
/* Whether the tool reads the web: what [web] of config.toml allows counts. */
bool run_web_has(const struct tool *tool);
/* Whether such a tool is of use in this run: somebody can allow its calls, or
 * [web] allows some; and for a search, something searches. */
bool run_web_offers(const struct run *r, const struct tool *tool);
/* Whether [web] lets the call run without a question. */
bool run_web_allows(const struct run *r, const struct approval *a);
/* What the call acts on, for a question. */
void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place);
/* Words for the model: unattended, it is not allowed. */
void run_web_refuse(const struct approval *a, struct buf *reason);

#endif
