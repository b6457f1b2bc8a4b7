/* url.h - strict parsing of web addresses. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_URL_H
#define WEB_URL_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"

enum {
	URL_BYTES = 8192, /* bytes of one address, with NUL */
	URL_HOST = 256,
};

struct web_url {
	bool tls;
	bool literal;        /* host is an IP address, not a name */
	char host[URL_HOST]; /* lower case, IPv6 without brackets */
	unsigned port;
	char text[URL_BYTES]; /* the whole address as it is sent, without a
			       * fragment */
};

/* Accepts only addresses that all programs parse the same way: http or https,
 * no user or password, and a host of letters, digits, dots, hyphens and
 * underscores that is not an unusual spelling of an IP address. ERR_USAGE with
 * a message for the model. */
int web_url_parse(struct web_url *url, struct str text, struct error *err);
/* Resolves a reference from a page or a Location header against base. False if
 * the result is too long. The result is not checked: call web_url_parse(). */
bool web_url_join(const struct web_url *base, struct str reference,
		  struct buf *out);
/* True if the host matches one of the patterns ("example.com",
 * "*.example.com"). */
bool web_url_matches(const char *host, const char *const *patterns, size_t n);

enum address_reach {
	ADDRESS_PUBLIC = 1, /* on the Internet */
	ADDRESS_PRIVATE,    /* this machine or a private network */
	ADDRESS_NEVER,      /* link-local, metadata, multicast, reserved */
};

/* Classifies an address. Protects against server-side request forgery: a web
 * page tricks the model into fetching what only this machine can reach, such as
 * private networks, local services and the cloud credentials at
 * 169.254.169.254. Based on IANA's special-purpose registries (read 2026-11).
 * IPv6 is public only within 2000::/3. An IPv4 address embedded in IPv6
 * (mapped, NAT64, 6to4) is classified as IPv4; Teredo is never allowed. */
enum address_reach address_reach(const struct sockaddr *a);
/* Parses a complete dotted quad, or an IPv6 address without brackets and
 * zone. */
bool address_parse(struct str text, struct sockaddr_storage *a);
/* True if some programs would read the host as an IPv4 address: its last label
 * is a number ("2130706433", "0x7f.1", "127.1"; WHATWG URL, "ends in a
 * number"). */
bool address_is_numeric(struct str host);
/* Writes "192.0.2.1" or "[2001:db8::1]". */
void address_print(const struct sockaddr *a, char room[64]);

#endif
