/* name.h - names of MCP tools as models see them. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_NAME_H
#define MCP_NAME_H

#include <stdbool.h>

/* Every vendor accepts a-z A-Z 0-9 _ - and up to 64 characters (tool docs of
 * Anthropic, OpenAI, Gemini and Bedrock, read 2026-11-23). Includes the NUL. */
enum { MCP_SHOWN_NAME = 65 };

/* Writes "SERVER_TOOL", with '_' for characters that vendors reject. The end is
 * replaced by a hash of server and tool if the name is too long, has lost a
 * character, or is in use (taken(arg, name)). The same in each session. */
void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME]);

/* Replaces characters that vendors reject by '_' in a server's name. For the
 * names above, and for hooks and subagents (mcp__SERVER__TOOL). */
void mcp_clean_name(const char *text, char room[MCP_SHOWN_NAME]);

#endif
