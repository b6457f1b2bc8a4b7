/* grant.h - what a login has brought: tokens, and how to renew them. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_GRANT_H
#define OAUTH_GRANT_H

#include "oauth/discover.h"

struct oauth_grant { /* owned; from { 0 }, oauth_grant_release() wipes it */
	char *access;
	char *refresh;   /* or NULL */
	int64_t expires; /* Unix seconds; 0: not told */
	char *client_id;
	char *client_secret; /* or NULL */
	enum oauth_client_auth how;
	char *token_url;  /* that gave it, and alone gets what renews it */
	char *revoke_url; /* that takes it back, or NULL */
	char *resource;
	char *scope; /* or NULL */
};
void oauth_grant_release(struct oauth_grant *g);
/* As a JSON object, and back; false: it is none. */
void oauth_grant_write(const struct oauth_grant *g, struct buf *out);
bool oauth_grant_read(struct oauth_grant *g, struct str json);
/* Whether it is of no use in a few seconds from now on. */
bool oauth_grant_is_stale(const struct oauth_grant *g);

/* Registers a client that is sent back to redirect (RFC 7591): fills client_id,
 * client_secret and how. */
int oauth_register(const struct oauth_net *n, const struct oauth_issuer *i,
		   const char *redirect, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);

struct oauth_attempt {     /* one login; all owned */
	char state[64];    /* that has to come back with the answer */
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
/* Gives the code for tokens. */
int oauth_exchange(const struct oauth_net *n, const struct oauth_attempt *a,
		   struct str code, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);
/* New tokens for the old. ERR_AUTH: it is over, a login is needed. A server may
 * have taken the old ones back already when stop ends the wait. */
int oauth_refresh(const struct oauth_net *n, struct oauth_grant *g,
		  const struct stop *stop, struct error *err);
/* Gives the tokens back (RFC 7009), where the server takes them. */
int oauth_revoke(const struct oauth_net *n, const struct oauth_grant *g,
		 const struct stop *stop, struct error *err);

#endif
