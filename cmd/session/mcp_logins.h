/* mcp_logins.h - stores and renews the OAuth tokens of MCP servers. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_LOGINS_H
#define CMD_SESSION_MCP_LOGINS_H

#include "cmd/app.h"
#include "mcp/server.h"
#include "oauth/grant.h"

/* Tokens are in the key store (config/vault.h) as "mcp.NAME.HASH", where HASH
 * is a hash of the server's address. Attack: a repository adds a server with
 * the same name and another address, to get the user's tokens. */

/* Loads the stored login to the server of this entry. Call before
 * logins_token(), on a thread that may ask for a passphrase. */
void logins_recall(struct app *app, const struct mcp_entry *e);
/* Implements mcp_token_fn. arg is the app. */
int logins_token(void *arg, const struct mcp_token_ask *ask, struct buf *out,
		 const struct stop *stop, struct error *err);
/* Implements mcp_scope_fn. arg is the app. */
void logins_scope(void *arg, const struct mcp_token_ask *ask, struct str more,
		  struct buf *out);
/* True if a login to this entry's server is loaded. */
bool logins_has(struct app *app, const struct mcp_entry *e);
/* Stores the tokens of a new login. logins_token() uses them from then on. */
int logins_add(struct app *app, const struct mcp_entry *e, const char *url,
	       const struct oauth_grant *g, struct error *err);
/* Deletes all logins to servers of this name and revokes their tokens; a failed
 * revocation is only a warning. Returns the number of deleted logins, or -1
 * with err. */
int logins_remove(struct app *app, const char *name, struct error *err);
/* Call before app_release(). */
void logins_release(struct app *app);
/* Returns the network settings for OAuth requests. */
struct oauth_net logins_net(struct app *app, const char *url);

#endif
