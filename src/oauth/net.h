/* net.h - requests to addresses that a server named. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_NET_H
#define OAUTH_NET_H

#include "base/json.h"
#include "net/http.h"

enum {
	OAUTH_ANSWER_MAX = 256 << 10, /* bytes of an answer */
	OAUTH_URL_MAX = 4096,         /* bytes of an address in metadata */
};

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
/* Appends "name=value", percent-encoded, after a "&" if out is not empty. */
void oauth_add_field(struct buf *out, const char *name, struct str value);

#endif
