/* name.h - names of MCP tools as models see them. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_NAME_H
#define MCP_NAME_H

#include <stdbool.h>

/* Bytes of a tool's name, with NUL. Every vendor accepts a-z A-Z 0-9 _ - and up
 * to 64 characters (tool docs of Anthropic, OpenAI, Gemini and Bedrock, read
 * 2026-11-23). */
enum { MCP_SHOWN_NAME = 65 };

/* Writes "SERVER_TOOL", with '_' for characters that vendors reject. If the
 * name is too long, had a character replaced, or is in use (taken(arg, name)),
 * its end is replaced by a hash of server and tool. So a tool has the same name
 * in each session. */
void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME]);

/* Copies a server's name and replaces the characters that vendors reject by
 * '_'. Used in the names above, and in mcp__SERVER__TOOL for hooks and
 * subagents. */
void mcp_clean_name(const char *text, char room[MCP_SHOWN_NAME]);

#endif
