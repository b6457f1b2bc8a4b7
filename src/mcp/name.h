/* name.h - what a server's tool is called where models see it. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_NAME_H
#define MCP_NAME_H

#include <stdbool.h>

/* What every vendor takes: a-z A-Z 0-9 _ -, 64 of them (docs of Anthropic,
 * OpenAI, Gemini and Bedrock on tools, read 2026-11-23). */
enum { MCP_SHOWN_NAME = 65 };

/*
 * "SERVER_TOOL", with _ for what vendors do not take. Where that is too long,
 * or has lost a character, or taken(arg, name) says that another tool has it, a
 * hash of server and tool takes the place of its end: the same in each session.
 */
void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME]);

/* A server's name with '_' for what vendors do not take: in the names above,
 * and where hooks and subagents name the server (mcp__SERVER__TOOL). */
void mcp_clean_name(const char *text, char room[MCP_SHOWN_NAME]);

#endif
