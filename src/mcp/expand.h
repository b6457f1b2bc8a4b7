/* expand.h - expands ${NAME} in a server's env, url and headers. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_EXPAND_H
#define MCP_EXPAND_H

#include "config/settings.h"
#include "mcp/entry.h"

enum { MCP_VALUE_MAX = 1 << 20 }; /* bytes of an expanded value */

/* Appends text with ${NAME} and ${NAME:-fallback} expanded. Values come from
 * the exported environment; for an entry of the user's own also from the user's
 * .env. A project's .env is never used: its author is not trusted. ERR_CONFIG
 * names a variable that is not set. */
int mcp_expand(const struct mcp_entry *e, const struct settings *set,
	       const char *text, struct buf *out, struct error *err);
/* Calls each with the name of every variable in the entry's env, url and
 * headers. The same name may be passed several times. */
void mcp_each_variable(const struct mcp_entry *e,
		       void (*each)(void *arg, struct str name), void *arg);
/* Returns the environment of a stdio server: exported variables, then the
 * entry's own env. Of the exported variables a repository's server gets only
 * HOME, LOGNAME, PATH, SHELL, TERM, USER, LANG, LC_* and TMPDIR. Free with
 * settings_environ_free(); NULL with err. */
char **mcp_environ(const struct mcp_entry *e, const struct settings *set,
		   struct error *err);

#endif
