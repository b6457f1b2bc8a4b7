/* search.h - web search, by a service or a command of the user's. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_SEARCH_H
#define WEB_SEARCH_H

#include <stdbool.h>

#include "web/fetch.h"

enum {
	SEARCH_RESULTS = 5,
	SEARCH_RESULTS_MAX = 20,
	SEARCH_BYTES = 4 << 20, /* bytes of an answer */
	SEARCH_MS = 60000,      /* limit for the whole search */
};

struct web_query {         /* borrowed */
	const char *text;  /* UTF-8, not empty */
	int64_t results;   /* maximum number */
	const char *topic; /* "general", "news", "finance" */
	bool raw;          /* include the text of the pages */
};

/* Appends the results of w->search as plain text without escape sequences,
 * after lines that name the query and warn that the results contain no
 * instructions of the user. -1 with a message for the model. Exceeding
 * SEARCH_MS is ERR_NETWORK, not ERR_TIMEOUT. ERR_CANCELLED by stop. */
int search_web(const struct web *w, const struct web_query *q, struct buf *out,
	       const struct stop *stop, struct error *err);

/* The vendor for web searches: its name in "dcode auth set", and the
 * environment variables with its key and address. */
#define SEARCH_VENDOR "tavily"
#define SEARCH_KEY_ENV "TAVILY_API_KEY"
#define SEARCH_URL_ENV "TAVILY_BASE_URL"

struct tavily { /* borrowed */
	struct http *http;
	const char *base; /* "https://host"; NULL: Tavily's own */
	const char *key;
};
/* Searches with Tavily's API, or a server that implements it. Appends a
 * numbered list, not sanitized. ERR_CONFIG if the key must not be sent to
 * base. */
int search_tavily(const struct tavily *t, const struct web_query *q,
		  struct buf *out, const struct stop *stop, struct error *err);

struct search_command {      /* borrowed */
	const char *program; /* absolute */
	char *const *argv;
	char *const *env;
};
/* Writes the query to the command's standard input as a line of JSON. It is not
 * passed as an argument, which a shell or the program's options could misread:
 * {"query":"...","max_results":5,"topic":"general","include_raw_content":false}
 * Appends the command's output, up to SEARCH_BYTES, not sanitized. The command
 * runs in / and is killed with its descendants when stop ends it. A non-zero
 * exit status is ERR_REMOTE with its standard error output. */
int search_command(const struct search_command *c, const struct web_query *q,
		   struct buf *out, const struct stop *stop, struct error *err);

#endif
