/* mcp.h - all servers of a run, and their tools as the model's. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "mcp/server.h"
#include "tool/tool.h"

enum { MCP_ALL_TOOLS_MAX = 512 }; /* of all servers together */

struct mcp;

/* Takes the entries over. Starts nothing. What host points to outlives it. */
struct mcp *mcp_new(struct mcp_entries *entries, const struct mcp_host *host);
/* Ends every server, side by side; NULL is fine. */
void mcp_free(struct mcp *m);

size_t mcp_count(const struct mcp *m);
struct mcp_server *mcp_server(const struct mcp *m, size_t i);
/* Starts those whose tools are not known from before; all: the others, too. */
void mcp_start(struct mcp *m, bool all);
/* Waits for those that were started, each at most as long as a start may take.
 * -1: the user does not want to wait any more. */
int mcp_wait(struct mcp *m, const struct stop *stop, struct error *err);
/*
 * Makes the rows of all tools anew where some server's have changed, or none
 * were made yet; those of before are gone. changed (may be NULL) gets a line
 * for each server whose tools are others than the model was told. True when
 * the rows are new ones.
 */
bool mcp_update(struct mcp *m, struct buf *changed);
/* The rows, NULL-terminated; until the next mcp_update() that is true. */
const struct tool *const *mcp_rows(const struct mcp *m);
/* The next line about a tool that the model is not offered, or that a request
 * left out; owned by the caller. NULL: all were told. Any thread. */
char *mcp_take_note(struct mcp *m);
/* The server of a row, or NULL where the tool is none of a server's. */
struct mcp_server *mcp_server_of(const struct tool *tool);
/* What the server itself calls a tool of its. */
const char *mcp_remote_name(const struct tool *tool);

/*
 * allow.c: a pattern of [mcp] allow is "server/tool", each part as fnmatch(3)
 * has it. One without a slash stands for names as models see them
 * (SERVER_TOOL), and counts only where it can be of one server of the user's
 * own.
 */
bool mcp_allow_matches(const struct mcp *m, const char *pattern,
		       const struct tool *tool);
/* False: it counts for nothing, and the user should hear of that. */
bool mcp_allow_means(const struct mcp *m, const char *pattern);

#endif
