/* discover.h - which authorization server a protected server belongs to. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_DISCOVER_H
#define OAUTH_DISCOVER_H

#include "oauth/net.h"

/* How a client shows that it is the one that was registered. */
enum oauth_client_auth { OAUTH_NONE, OAUTH_BASIC, OAUTH_POST };

struct oauth_issuer { /* owned; from { 0 }, oauth_issuer_release() */
	char *issuer;
	char *resource; /* what tokens are to be good for */
	char *authorize_url;
	char *token_url;
	char *register_url; /* NULL: clients cannot register themselves */
	char *revoke_url;   /* NULL: tokens cannot be given back */
	char *scope;        /* to ask for, or NULL */
	bool names_itself;  /* in the answer to the browser (RFC 9207) */
	bool basic, post;   /* a client's secret may be sent so */
};
void oauth_issuer_release(struct oauth_issuer *i);

/*
 * By the specification of MCP (modelcontextprotocol.io/specification/
 * 2025-11-25/basic/authorization, read 2026-11-23): the metadata of the
 * protected resource (RFC 9728), which challenge (the value of WWW-Authenticate
 * of its answer 401, or "") or a well-known path leads to, then that of the
 * authorization server (RFC 8414, OpenID Connect Discovery). A server without
 * the former is taken for its own authorization server (version 2025-03-26).
 * ERR_PROTOCOL says which document is wrong, and how.
 */
int oauth_discover(const struct oauth_net *n, struct str challenge,
		   struct oauth_issuer *out, const struct stop *stop,
		   struct error *err);

#endif
