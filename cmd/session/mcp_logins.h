/* mcp_logins.h - the OAuth tokens of MCP servers: stored and renewed. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_LOGINS_H
#define CMD_SESSION_MCP_LOGINS_H

#include "cmd/app.h"
#include "mcp/server.h"
#include "oauth/grant.h"

/*
 * They are among the stored keys (config/vault.h), under "mcp.NAME.HASH", HASH
 * being of the address: a server of the same name at another address, which
 * a repository may add, gets none of them.
 */

/* Looks for the stored login of an entry: before its token is asked for, on a
 * thread that may ask for a passphrase. */
void logins_recall(struct app *app, const struct mcp_entry *e);
/* mcp_token_fn; arg is the app. */
int logins_token(void *arg, const struct mcp_token_ask *ask, struct buf *out,
		 const struct stop *stop, struct error *err);
/* mcp_scope_fn; arg is the app. */
void logins_scope(void *arg, const struct mcp_token_ask *ask, struct str more,
		  struct buf *out);
/* Whether there is one, for this entry. */
bool logins_has(struct app *app, const struct mcp_entry *e);
/* Stores what a login has brought, and gives it out from now on. */
int logins_add(struct app *app, const struct mcp_entry *e, const char *url,
	       const struct oauth_grant *g, struct error *err);
/* Forgets all logins to servers of this name, and gives their tokens back, a
 * warning where that fails: how many; -1. */
int logins_remove(struct app *app, const char *name, struct error *err);
/* Before app_release(). */
void logins_release(struct app *app);
/* How requests of a login are sent. */
struct oauth_net logins_net(struct app *app, const char *url);

#endif
