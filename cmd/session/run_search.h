/* run_search.h - what searches the web for a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_SEARCH_H
#define CMD_SESSION_RUN_SEARCH_H

#include "web/search.h"

struct run;

/* Whether there is a command, or a key of Tavily's: else web_search is not
 * offered. The key may be in the store, which this opens. */
bool run_search_is_set(const struct run *r);
/* Whether [web] allow_search lets searches run without a question. */
bool run_search_is_allowed(const struct run *r);
/* For struct web; arg is the run. */
int run_search(void *arg, const struct web_query *q, struct buf *out,
	       const struct stop *stop, struct error *err);
/* What a search goes to, for a question: "Tavily", "the command x". */
void run_search_name(const struct run *r, struct buf *out);

#endif
