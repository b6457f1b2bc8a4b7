/* mcp_logins.h - stores and renews the OAuth tokens of MCP servers. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_LOGINS_H
#define CMD_SESSION_MCP_LOGINS_H

#include "cmd/app.h"
#include "mcp/server.h"
#include "oauth/grant.h"

/* Tokens are in the key store (config/vault.h) as "mcp.NAME.HASH", where HASH
 * is a hash of the address. So a server of the same name at another address,
 * which a repository could add, does not get them. */

/* Loads the stored login of an entry. Call before logins_token(), on a thread
 * that may ask for a passphrase. */
void logins_recall(struct app *app, const struct mcp_entry *e);
/* Implements mcp_token_fn. arg is the app. */
int logins_token(void *arg, const struct mcp_token_ask *ask, struct buf *out,
		 const struct stop *stop, struct error *err);
/* Implements mcp_scope_fn. arg is the app. */
void logins_scope(void *arg, const struct mcp_token_ask *ask, struct str more,
		  struct buf *out);
/* True if there is a login for this entry. */
bool logins_has(struct app *app, const struct mcp_entry *e);
/* Stores the tokens of a new login and uses them from now on. */
int logins_add(struct app *app, const struct mcp_entry *e, const char *url,
	       const struct oauth_grant *g, struct error *err);
/* Deletes all logins to servers of this name and revokes their tokens; a failed
 * revocation is only a warning. Returns how many, or -1. */
int logins_remove(struct app *app, const char *name, struct error *err);
/* Call before app_release(). */
void logins_release(struct app *app);
/* Returns the network settings for OAuth requests. */
struct oauth_net logins_net(struct app *app, const char *url);

#endif
