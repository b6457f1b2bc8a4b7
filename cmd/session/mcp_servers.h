/* mcp_servers.h - the configured MCP servers, and the logins to them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_SERVERS_H
#define CMD_SESSION_MCP_SERVERS_H

#include "cmd/app.h"
#include "mcp/mcp.h"
#include "mcp/server.h"
#include "oauth/grant.h"
#include "trust/trust.h"

/* Calls each for every file that may name servers, until each returns false.
 * Later files take precedence: the user's ~/.deepagents, the project's
 * .deepagents, the project's root (the nearest directory upwards with a .git,
 * else the current one), and the file of --mcp-config. In each directory
 * mcp.json comes before .mcp.json. */
void servers_each_place(struct app *app, const char *config,
			bool (*each)(void *arg, const struct mcp_place *p),
			void *arg);
/* Prepares the configured servers; none is started yet. asks: ask the user
 * about servers of the project that were not decided about, and print each
 * refused one on stderr. A broken file is a warning, except config (which may
 * be NULL). *m is NULL if there are no servers. -1 with err: the user
 * cancelled, or config cannot be used. */
int servers_open(struct app *app, const char *config, bool asks, struct mcp **m,
		 struct error *err);

/* An entry of the project, for the trust store. */
struct servers_claim {
	struct trust_entry entry;
	const char **words; /* owned array */
	char **variables;   /* owned */
	char *dir;          /* owned: entry.dir; or NULL */
	size_t n_variables;
};
void servers_claim(struct servers_claim *c, const struct mcp_entry *e,
		   const struct settings *set);
void servers_claim_release(struct servers_claim *c);

/* Appends lines about a server: its state, how long the start took, and what it
 * wrote to stderr. tools: also the names of its tools. */
void mcp_show(const struct app *app, struct mcp_server *s, bool tools,
	      struct buf *out);
/* Appends what mcp_show() shows as a JSON object. */
void mcp_show_json(const struct app *app, struct mcp_server *s,
		   struct buf *out);
/* Appends "stdio: npx server", without expanding variables. */
void mcp_show_command(const struct app *app, const struct mcp_entry *e,
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
