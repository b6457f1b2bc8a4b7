/* expand.h - ${NAME} in a server's env, url and headers. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_EXPAND_H
#define MCP_EXPAND_H

#include "config/settings.h"
#include "mcp/entry.h"

enum { MCP_VALUE_MAX = 1 << 20 }; /* bytes of an expanded value */

/*
 * Appends text with ${NAME} and ${NAME:-other} replaced by variables: of those
 * that were exported; for an entry of the user's own, of those of the user's
 * .env too; never of a project's .env, which anybody may have written.
 * ERR_CONFIG names one that is not set.
 */
int mcp_expand(const struct mcp_entry *e, const struct settings *set,
	       const char *text, struct buf *out, struct error *err);
/* Calls each with every name that the entry's env, url and headers draw on;
 * with repetitions. */
void mcp_each_variable(const struct mcp_entry *e,
		       void (*each)(void *arg, struct str name), void *arg);
/*
 * The environment of a server of stdio: what was exported, of which an entry
 * of a repository gets nothing but HOME, LOGNAME, PATH, SHELL, TERM, USER,
 * LANG, LC_* and TMPDIR, and then the entry's own env. Owned:
 * settings_environ_free(); NULL with err.
 */
char **mcp_environ(const struct mcp_entry *e, const struct settings *set,
		   struct error *err);

#endif
