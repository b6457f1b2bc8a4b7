/* mcp_servers.h - the MCP servers that files name: found, asked about, shown.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MCP_SERVERS_H
#define CMD_SESSION_MCP_SERVERS_H

#include "cmd/app.h"
#include "mcp/mcp.h"
#include "trust/trust.h"

/*
 * The places, each taking precedence over the one before, with mcp.json before
 * .mcp.json in each: the user's ~/.deepagents, the project's .deepagents, the
 * project's root (the nearest directory up with a .git, else the current one),
 * and the file of --mcp-config. Calls each until it returns false.
 */
void servers_each_place(struct app *app, const char *config,
			bool (*each)(void *arg, const struct mcp_place *p),
			void *arg);
/*
 * Servers that may be started; none is yet. Where asks, the user is asked about
 * those of the project, once; each that is refused is told on stderr. A file
 * that is broken is a warning, but that of config (or NULL) is an error. *m is
 * NULL where there are none at all. -1: the question was cancelled, or the file
 * of config cannot be used.
 */
int servers_open(struct app *app, const char *config, bool asks, struct mcp **m,
		 struct error *err);

/* What trust is asked about an entry of the project. */
struct servers_claim {
	struct trust_entry entry;
	const char **words; /* owned array */
	char **variables;   /* owned */
	char *dir;          /* owned; entry.dir, or NULL */
	size_t n_variables;
};
void servers_claim(struct servers_claim *c, const struct mcp_entry *e,
		   const struct settings *set);
void servers_claim_release(struct servers_claim *c);

/* Appends some lines about a server: its state, how long that took, what it
 * said. names: those of its tools, too. */
void mcp_show(const struct app *app, struct mcp_server *s, bool tools,
	      struct buf *out);
/* The same as a JSON object. */
void mcp_show_json(const struct app *app, struct mcp_server *s,
		   struct buf *out);
/* "stdio: npx server", with no variable's value in it. */
void mcp_show_command(const struct app *app, const struct mcp_entry *e,
		      struct buf *out);

#endif
