/* mcp.h - all servers of a run, and their tools as the model sees them. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>

#include "base/json.h"
#include "mcp/server.h"
#include "model/message.h"
#include "tool/tool.h"

/* Bytes of a tool's name, with NUL. Every vendor accepts a-z A-Z 0-9 _ - and up
 * to 64 characters (tool docs of Anthropic, OpenAI, Gemini and Bedrock, read
 * 2026-11-23). */
enum { MCP_SHOWN_NAME = 65 };

enum { MCP_ALL_TOOLS_MAX = 512 }; /* all servers together */

struct mcp;

/* Takes ownership of the entries. Starts no server. Everything that host points
 * to must outlive the result. */
struct mcp *mcp_new(struct mcp_entries *entries, const struct mcp_host *host);
/* Ends all servers in parallel and frees m. NULL is allowed. */
void mcp_free(struct mcp *m);

size_t mcp_count(const struct mcp *m);
struct mcp_server *mcp_server(const struct mcp *m, size_t i);
/* Starts the servers whose tools are not cached. all: starts the others too. */
void mcp_start(struct mcp *m, bool all);
/* Waits for the servers that mcp_start() has started, each up to its startup
 * timeout. -1: the user cancelled the wait. */
int mcp_wait(struct mcp *m, const struct stop *stop, struct error *err);
/* Rebuilds the rows, one for each tool, if a server's tools changed or there
 * are no rows yet. The old rows are freed. changed (may be NULL) gets a line
 * for each server whose tools differ from those that the model knows. True if
 * the rows were rebuilt. */
bool mcp_update(struct mcp *m, struct buf *changed);
/* All tools as NULL-terminated rows. Valid until mcp_update() returns true. */
const struct tool *const *mcp_rows(const struct mcp *m);
/* Returns the next note about a tool that is not offered to the model or that a
 * request left out; owned by the caller. NULL: no more notes. Any thread. */
char *mcp_take_note(struct mcp *m);
/* The server that a tool belongs to, or NULL if it is not an MCP tool. */
struct mcp_server *mcp_server_of(const struct tool *tool);

/* True if a pattern of [mcp] allow matches the tool. A pattern is
 * "server/tool"; each part is an fnmatch(3) pattern. A pattern without a slash
 * is matched against the tool's name as models see it (SERVER_TOOL), and only
 * if it can mean exactly one server of the user's own. */
bool mcp_allow_matches(const struct mcp *m, const char *pattern,
		       const struct tool *tool);
/* False if the pattern cannot match any tool: the user should be told. */
bool mcp_allow_means(const struct mcp *m, const char *pattern);

/* Writes "SERVER_TOOL", with '_' for characters that vendors reject. If the
 * name is too long, had a character replaced, or is in use (taken(arg, name)),
 * its end is replaced by a hash of server and tool. So a tool has the same name
 * in each session. */
void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME]);
/* Appends the content of a tools/call result as text, without control
 * characters and escape sequences. Images that models accept go to media (NULL:
 * no images); other content is described in one line. True if the server
 * reports that the call failed. */
bool mcp_result_read(const cJSON *result, struct message *media,
		     struct buf *out);

#endif
