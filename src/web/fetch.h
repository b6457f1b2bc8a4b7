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
	/* True if the user has allowed this host in advance: do not ask. */
	bool (*allows_host)(void *arg, const char *host);
	/* True if the user allows addresses of this machine and private
	 * networks. */
	bool (*allows_private)(void *arg);
	/* Searches with the configured service; see search_web(). Appends the
	 * results, not sanitized. */
	int (*search)(void *arg, const struct web_query *q, struct buf *out,
		      const struct stop *stop, struct error *err);
	void *arg;
	/* Resolves a host name; NULL: resolve_host(). */
	int (*resolve)(const char *host, struct resolved *found,
		       const struct stop *stop, struct error *err);
};

/* True if the URL's host is allowed without asking the user. */
bool fetch_is_allowed(const struct web *w, const char *url);
/* True if fetch_page() would refuse this URL in any case; the user need not be
 * asked. Makes no DNS lookup. */
bool fetch_is_refused(const struct web *w, const char *url);
/* Appends the page as text, after lines with its address, its type and a
 * warning that it contains no instructions of the user. Each host on the way is
 * resolved once and its addresses are checked (web/url.h). The connection is
 * made to a checked address, also through a proxy. A redirect to another host
 * is followed only if that host is allowed. -1 also for a status of 400 or more
 * and for content that is not text; the message is for the model. Exceeding ms
 * is ERR_NETWORK, not ERR_TIMEOUT. ERR_CANCELLED by stop. */
int fetch_page(const struct web *w, const char *url, int64_t ms,
	       struct buf *out, const struct stop *stop, struct error *err);

#endif
