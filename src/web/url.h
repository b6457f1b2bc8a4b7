/* url.h - addresses of pages, read strictly. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_URL_H
#define WEB_URL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

enum {
	URL_BYTES = 8192, /* of one address */
	URL_HOST = 256,
};

struct web_url {
	bool tls;
	bool literal;        /* host is an address, not a name */
	char host[URL_HOST]; /* lower case, IPv6 without brackets */
	unsigned port;
	char text[URL_BYTES]; /* all of it, as it is sent; no fragment */
};

/*
 * Reads what two programs could not read differently, and nothing else: http
 * or https, no user or password, a host of letters, digits, dots and hyphens
 * that is no odd spelling of a number. ERR_USAGE with words for the model.
 */
int web_url_parse(struct web_url *url, struct str text, struct error *err);
/* What a reference in a page or a Location means there; false: it is too long.
 * out is not checked yet. */
bool web_url_join(const struct web_url *base, struct str reference,
		  struct buf *out);
/* Whether one of the patterns ("example.com", "*.example.com") is this host. */
bool web_url_matches(const char *host, const char *const *patterns, size_t n);

#endif
