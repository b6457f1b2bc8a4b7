/* mcp_login.h - dcode mcp login and logout. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_MCP_LOGIN_H
#define CMD_COMMANDS_MCP_LOGIN_H

#include "cmd/app.h"
#include "cmd/args.h"

/* run of their rows, in mcp_cmd.c. */
int mcp_login(struct app *app, const struct args *args);
int mcp_logout(struct app *app, const struct args *args);

#endif
