/* grant.h - a login: its authorization server, and its tokens. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_GRANT_H
#define OAUTH_GRANT_H

#include "oauth/net.h"

/* How a registered client identifies itself. */
enum oauth_client_auth { OAUTH_NONE, OAUTH_BASIC, OAUTH_POST };

struct oauth_issuer { /* owned; from { 0 }, oauth_issuer_release() */
	char *issuer;
	char *resource; /* what tokens are for */
	char *authorize_url;
	char *token_url;
	char *register_url; /* NULL: clients cannot register themselves */
	char *revoke_url;   /* NULL: tokens cannot be revoked */
	char *scope;        /* to ask for, or NULL */
	bool names_itself;  /* in the answer to the browser (RFC 9207) */
	bool basic, post;   /* ways in which it accepts a client's secret */
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

struct oauth_grant { /* owned; from { 0 }, oauth_grant_release() wipes it */
	char *access;
	char *refresh;   /* or NULL */
	int64_t expires; /* Unix seconds; 0: unknown */
	char *client_id;
	char *client_secret; /* or NULL */
	enum oauth_client_auth how;
	char *token_url;  /* gave it; the refresh token goes nowhere else */
	char *revoke_url; /* revokes it, or NULL */
	char *resource;
	char *scope; /* or NULL */
};
void oauth_grant_release(struct oauth_grant *g);
/* As a JSON object, and back; false if json is not one. */
void oauth_grant_write(const struct oauth_grant *g, struct buf *out);
bool oauth_grant_read(struct oauth_grant *g, struct str json);
/* True if it expires within a few seconds. */
bool oauth_grant_is_stale(const struct oauth_grant *g);

/* Registers a client that is sent back to redirect (RFC 7591): fills client_id,
 * client_secret and how. */
int oauth_register(const struct oauth_net *n, const struct oauth_issuer *i,
		   const char *redirect, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);

struct oauth_attempt {     /* one login; all owned */
	char state[64];    /* has to come back with the answer */
	char verifier[64]; /* of PKCE (RFC 7636) */
	char *redirect;
};
/* Random ones. */
void oauth_attempt_init(struct oauth_attempt *a, unsigned port);
void oauth_attempt_release(struct oauth_attempt *a);
/* Appends the address that the user opens. */
void oauth_authorize_url(const struct oauth_issuer *i,
			 const struct oauth_grant *g,
			 const struct oauth_attempt *a, struct buf *out);
/* Exchanges the code for tokens. */
int oauth_exchange(const struct oauth_net *n, const struct oauth_attempt *a,
		   struct str code, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);
/* Renews the tokens. ERR_AUTH: refused, a login is needed. If stop ends the
 * wait, the server may already have revoked the old ones. */
int oauth_refresh(const struct oauth_net *n, struct oauth_grant *g,
		  const struct stop *stop, struct error *err);
/* Revokes the tokens (RFC 7009), if the server can do that. */
int oauth_revoke(const struct oauth_net *n, const struct oauth_grant *g,
		 const struct stop *stop, struct error *err);

#endif
