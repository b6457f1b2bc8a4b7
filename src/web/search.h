/* search.h - a search of the web, by a service or a command of the user's. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_SEARCH_H
#define WEB_SEARCH_H

#include <stdbool.h>

#include "web/fetch.h"

enum {
	SEARCH_RESULTS = 5,
	SEARCH_RESULTS_MAX = 20,
	SEARCH_BYTES = 4 << 20, /* of an answer */
	SEARCH_MS = 60000,      /* all of it */
};

struct web_query {         /* borrowed */
	const char *text;  /* UTF-8, not empty */
	int64_t results;   /* at most so many */
	const char *topic; /* "general", "news", "finance" */
	bool raw;          /* the pages' text, too */
};

/*
 * Appends what w->search found, after lines that say by what and that it is
 * nobody's instruction; plain text without escapes. -1 with words for the
 * model; no ERR_TIMEOUT for SEARCH_MS, which is ERR_NETWORK; ERR_CANCELLED by
 * stop.
 */
int search_web(const struct web *w, const struct web_query *q, struct buf *out,
	       const struct stop *stop, struct error *err);

struct tavily { /* borrowed */
	struct http *http;
	const char *base; /* "https://host"; NULL: its own */
	const char *key;
};
/* Tavily's API, or that of a server which speaks it. Appends a numbered list,
 * not cleaned. ERR_CONFIG for an address that the key may not be sent to. */
int search_tavily(const struct tavily *t, const struct web_query *q,
		  struct buf *out, const struct stop *stop, struct error *err);

struct search_command {      /* borrowed */
	const char *program; /* absolute */
	char *const *argv;
	char *const *env;
};
/*
 * The query is written to its standard input as a line of JSON, never into an
 * argument, which a shell or an option of the program could take for more:
 * {"query":"...","max_results":5,"topic":"general","include_raw_content":false}
 * Appends what it prints, at most SEARCH_BYTES, not cleaned. It runs in / and
 * is killed, with all that it has started, when stop ends it. An exit status
 * above 0 is ERR_REMOTE with what it wrote to its standard error.
 */
int search_command(const struct search_command *c, const struct web_query *q,
		   struct buf *out, const struct stop *stop, struct error *err);

#endif
