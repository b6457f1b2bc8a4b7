/* challenge.h - what a server answers to who has not logged in. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_CHALLENGE_H
#define MCP_CHALLENGE_H

#include "mcp/link.h"

struct mcp_challenge { /* owned; from { 0 } */
	char *url;     /* of the entry, with its variables */
	int status;    /* 401, where it asks for a login */
	char *header;  /* the values of WWW-Authenticate, or "" */
	bool has_key;  /* the entry has an Authorization of its own */
};
/* Asks a server behind an address to begin, without a token (setup.token is
 * NULL). */
int mcp_challenge_get(const struct mcp_link_setup *setup,
		      struct mcp_challenge *out, const struct stop *stop,
		      struct error *err);
void mcp_challenge_release(struct mcp_challenge *c);

#endif
