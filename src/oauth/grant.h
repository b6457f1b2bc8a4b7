/* grant.h - OAuth logins: the authorization server and its tokens. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_GRANT_H
#define OAUTH_GRANT_H

#include "base/json.h"
#include "net/http.h"
struct oauth_net { /* all borrowed */
	struct http *http;
	/* the server's address in the user's configuration */
	const char *server;
	int64_t ms; /* limit per request */
};

struct oauth_request {
	const char *what; /* "the token endpoint", for errors */
	const char *url;
	const char *type; /* Content-Type of the body; NULL: GET */
	struct str body;
	const char *secret; /* a header line with a secret, or NULL */
};

/* How a registered client authenticates. */
enum oauth_client_auth { OAUTH_NONE, OAUTH_BASIC, OAUTH_POST };

struct oauth_issuer { /* initialize to { 0 }; oauth_issuer_release() frees it */
	char *issuer;
	char *resource; /* the resource that tokens are for */
	char *authorize_url;
	char *token_url;
	char *register_url; /* NULL: no dynamic registration */
	char *revoke_url;   /* NULL: tokens cannot be revoked */
	char *scope;        /* to request, or NULL */
	/* the server sends its name as iss in every answer to the browser (RFC
	 * 9207) */
	bool names_itself;
	bool basic, post; /* ways to send a client's secret */
};
void oauth_issuer_release(struct oauth_issuer *i);

/* Follows the MCP specification
 * (modelcontextprotocol.io/specification/2025-11-25/basic/authorization, read
 * 2026-11-23). First reads the metadata of the protected resource (RFC 9728).
 * Its address is in challenge (the WWW-Authenticate value of a 401 answer, or
 * "") or is a well-known path. Then reads the metadata of the authorization
 * server (RFC 8414, OpenID Connect Discovery). A server without resource
 * metadata is treated as its own authorization server (version 2025-03-26).
 * ERR_PROTOCOL says which document is wrong, and why. */
int oauth_discover(const struct oauth_net *n, struct str challenge,
		   struct oauth_issuer *out, const struct stop *stop,
		   struct error *err);

/* initialize to { 0 }; oauth_grant_release() wipes and frees it */
struct oauth_grant {
	char *access;
	char *refresh;   /* or NULL */
	int64_t expires; /* Unix seconds; 0: unknown */
	char *client_id;
	char *client_secret; /* or NULL */
	enum oauth_client_auth how;
	char *token_url;  /* issued the tokens; the refresh token is sent
			   * only here and to revoke_url */
	char *revoke_url; /* or NULL: cannot be revoked */
	char *resource;
	char *scope; /* or NULL */
};
void oauth_grant_release(struct oauth_grant *g);
/* oauth_grant_write() appends the grant as a JSON object. oauth_grant_read()
 * parses one; false if json is not such an object. */
void oauth_grant_write(const struct oauth_grant *g, struct buf *out);
bool oauth_grant_read(struct oauth_grant *g, struct str json);
/* True if the access token has expired or is about to. */
bool oauth_grant_is_stale(const struct oauth_grant *g);

/* Registers dcode as a client with this redirect address (RFC 7591). Fills
 * client_id, client_secret and how. */
int oauth_register(const struct oauth_net *n, const struct oauth_issuer *i,
		   const char *redirect, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);

struct oauth_attempt {     /* one login; all members owned */
	char state[64];    /* must be returned in the answer */
	char verifier[64]; /* PKCE verifier (RFC 7636) */
	char *redirect;
};
/* Fills state and verifier with random values. */
void oauth_attempt_init(struct oauth_attempt *a, unsigned port);
void oauth_attempt_release(struct oauth_attempt *a);
/* Appends the address that the user must open. */
void oauth_authorize_url(const struct oauth_issuer *i,
			 const struct oauth_grant *g,
			 const struct oauth_attempt *a, struct buf *out);
/* Exchanges the authorization code for tokens. */
int oauth_exchange(const struct oauth_net *n, const struct oauth_attempt *a,
		   struct str code, struct oauth_grant *g,
		   const struct stop *stop, struct error *err);
/* Renews the tokens. ERR_AUTH: refused, a new login is needed. If stop ends the
 * call, the server may already have revoked the old tokens. */
int oauth_refresh(const struct oauth_net *n, struct oauth_grant *g,
		  const struct stop *stop, struct error *err);
/* Revokes the tokens (RFC 7009) if the server supports it. */
int oauth_revoke(const struct oauth_net *n, const struct oauth_grant *g,
		 const struct stop *stop, struct error *err);

/* Attack: a server names further addresses in WWW-Authenticate and metadata, to
 * make dcode query hosts that only this machine can reach, or to receive a
 * token over plain HTTP. Hence the rules: https, or http to this machine; no
 * redirects; no address nearer than the farthest one of the server itself. So a
 * public server can name only public addresses; a server on a private network
 * can also name private ones; a server on this machine can name any. Link-local
 * and metadata addresses are never used. Returns 0 with the status and, if the
 * body is a JSON object, *tree (owned). -1 for everything else, redirects
 * included; the error begins with what. */
int oauth_ask(const struct oauth_net *n, const struct oauth_request *q,
	      int *status, cJSON **tree, const struct stop *stop,
	      struct error *err);
/* Checks an address that only a browser opens: https, or http to this machine.
 * Its host is not resolved. */
int oauth_check_url(const char *what, const char *url, struct error *err);

#endif
