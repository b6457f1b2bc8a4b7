/* fetch.h - fetches a web page as text. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_FETCH_H
#define WEB_FETCH_H

#include "net/http.h"

enum {
	FETCH_BYTES = 5 << 20, /* bytes of a body, decompressed; the rest is
				* not read */
	FETCH_REDIRECTS = 5,
	FETCH_MS = 30000, /* default limit for the whole fetch */
	FETCH_MS_MAX = 120000,
};

struct resolved; /* net/resolve.h */

struct web_query; /* web/search.h */

struct web { /* how the web may be used; all borrowed */
	struct http *http;
	/* True if the user allows this host without being asked. */
	bool (*allows_host)(void *arg, const char *host);
	/* True if the user allows addresses of this machine and private
	 * networks. */
	bool (*allows_private)(void *arg);
	/* See search_web(). Appends the results, not sanitized. */
	int (*search)(void *arg, const struct web_query *q, struct buf *out,
		      const struct stop *stop, struct error *err);
	void *arg;
	/* Resolves a host name; NULL: resolve_host(). */
	int (*resolve)(const char *host, struct resolved *found,
		       const struct stop *stop, struct error *err);
};

/* True if the URL's host is allowed without asking the user. */
bool fetch_is_allowed(const struct web *w, const char *url);
/* True if fetch_page() would refuse this URL in any case, decided without a DNS
 * lookup: then the user need not be asked. */
bool fetch_is_refused(const struct web *w, const char *url);
/* Appends the page as text, after lines with its address, its type and a
 * warning that it contains no instructions of the user. Each host on the way is
 * resolved once, its addresses are checked (web/url.h), and the connection is
 * made to a checked address, through a proxy too. A redirect to another host
 * needs that host to be allowed. -1 also for a status of 400 or more and for
 * content that is not text; the message is for the model. Exceeding ms is
 * ERR_NETWORK, not ERR_TIMEOUT. ERR_CANCELLED by stop. */
int fetch_page(const struct web *w, const char *url, int64_t ms,
	       struct buf *out, const struct stop *stop, struct error *err);

#endif
