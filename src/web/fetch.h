/* fetch.h - a page of the web as text. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_FETCH_H
#define WEB_FETCH_H

#include "net/http.h"

enum {
	FETCH_BYTES = 5 << 20, /* of a body, decompressed; the rest is left */
	FETCH_REDIRECTS = 5,
	FETCH_MS = 30000, /* all of it, unless said */
	FETCH_MS_MAX = 120000,
};

struct resolved; /* net/resolve.h */

struct web_query; /* web/search.h */

struct web { /* what may be read of the web; all borrowed */
	struct http *http;
	/* The user lets this host be fetched from without a question. */
	bool (*allows_host)(void *arg, const char *host);
	/* The user lets addresses of this machine and its networks be. */
	bool (*allows_private)(void *arg);
	/* See search_web(): appends what was found, not cleaned. */
	int (*search)(void *arg, const struct web_query *q, struct buf *out,
		      const struct stop *stop, struct error *err);
	void *arg;
	/* NULL: resolve_host(). */
	int (*resolve)(const char *host, struct resolved *found,
		       const struct stop *stop, struct error *err);
};

/* Whether the host of this URL is one that the user lets be fetched from. */
bool fetch_is_allowed(const struct web *w, const char *url);
/* Whether fetch_page() refuses this URL in any case, without asking a name
 * server: nobody has to be asked for leave. */
bool fetch_is_refused(const struct web *w, const char *url);
/*
 * Appends the page as text, after lines that say its address, its kind, and
 * that it is nobody's instruction. Each address on the way is looked up once,
 * checked (web/url.h), and connected to as checked, through a proxy as
 * well; another host than the first one has to be allowed. -1 for a status of
 * 400 or more and what is no text, too: the words are for the model. No
 * ERR_TIMEOUT for ms, which is ERR_NETWORK; ERR_CANCELLED by stop.
 */
int fetch_page(const struct web *w, const char *url, int64_t ms,
	       struct buf *out, const struct stop *stop, struct error *err);

#endif
