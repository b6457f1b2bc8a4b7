/* net.h - requests to addresses that a server has named. */
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
	const char *server; /* the address that the user's entry names */
	int64_t ms;         /* for one request */
};

struct oauth_request {
	const char *what; /* "the token endpoint", for errors */
	const char *url;
	const char *type; /* of the body; NULL: GET */
	struct str body;
	const char *secret; /* a header line, or NULL */
};

/*
 * Attack: a server that the user named once names further addresses, in
 * WWW-Authenticate and metadata, to have this machine ask what only it can
 * reach, or to get a token over plain http. So: https, or http to this machine;
 * never a redirect; no address of the host is connected to that is nearer than
 * the farthest of the server itself: a public server names public ones, one of
 * a private network private ones, one of this machine any; link-local and
 * metadata addresses nobody.
 *
 * 0 with the status and, where the body is a JSON object, *tree (owned). -1
 * for everything else, redirects too; the error begins with what.
 */
int oauth_ask(const struct oauth_net *n, const struct oauth_request *q,
	      int *status, cJSON **tree, const struct stop *stop,
	      struct error *err);
/* The first two rules, for an address that only a browser is sent to. */
int oauth_check_url(const char *what, const char *url, struct error *err);
/* "name=value", percent-encoded, after a "&" where something is before. */
void oauth_add_field(struct buf *out, const char *name, struct str value);

#endif
