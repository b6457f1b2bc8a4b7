/* url.h - addresses of pages, read strictly. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_URL_H
#define WEB_URL_H

#include <stdbool.h>
#include <sys/socket.h>

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

enum address_reach {
	ADDRESS_PUBLIC = 1, /* of the Internet */
	ADDRESS_PRIVATE,    /* of this machine or its networks */
	ADDRESS_NEVER,      /* link-local, metadata, multicast, reserved */
};

/*
 * The rule against a model that is talked into reading what only this machine
 * can reach (server-side request forgery): private networks, the machine's own
 * services, and the credentials that clouds serve at 169.254.169.254. By the
 * special-purpose registries of IANA (read 2026-11). IPv6 is public within
 * 2000::/3 only; an IPv4 address within an IPv6 one (mapped, NAT64, 6to4)
 * counts as itself, Teredo never.
 */
enum address_reach address_reach(const struct sockaddr *a);
/* A whole dotted quad, or an IPv6 address without brackets and zone. */
bool address_parse(struct str text, struct sockaddr_storage *a);
/* True for what some programs read as an IPv4 address: a last label that is a
 * number ("2130706433", "0x7f.1", "127.1"; WHATWG URL, "ends in a number"). */
bool address_is_numeric(struct str host);
/* "192.0.2.1", "[2001:db8::1]" */
void address_print(const struct sockaddr *a, char room[64]);

#endif
