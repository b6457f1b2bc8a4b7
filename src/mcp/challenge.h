/* challenge.h - how a server answers a client that has not logged in. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_CHALLENGE_H
#define MCP_CHALLENGE_H

#include "mcp/link.h"

struct mcp_challenge { /* initialize to { 0 }; strings are owned */
	char *url;     /* the entry's url with its variables expanded */
	int status;    /* 401 if the server asks for a login */
	char *header;  /* values of WWW-Authenticate, or "" */
	bool has_key;  /* the entry sets its own Authorization header */
};
/* Sends initialize without a token (setup.token is NULL) and records the
 * server's answer. */
int mcp_challenge_get(const struct mcp_link_setup *setup,
		      struct mcp_challenge *out, const struct stop *stop,
		      struct error *err);
void mcp_challenge_release(struct mcp_challenge *c);

#endif
