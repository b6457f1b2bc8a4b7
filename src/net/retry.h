/* retry.h - which failures repeat, and how long to wait before. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include "net/http.h"

struct retry {
	int attempt;     /* failures so far */
	int max;         /* retries allowed after the first try */
	int64_t base_ms; /* first backoff; 0: 500 ms. Doubles, capped at 30 s,
			    full jitter on the upper half */
};

/* May this outcome be repeated at all? rc and err as http_do() left them. */
bool retry_worthy(int rc, const struct http_response *res,
		  const struct error *err);
/* The server's own wish in ms: Retry-After, or "try again in 17s", "in 1.5
 * seconds", "in 250ms", "in 2m" in the body; -1 when it has none. */
int64_t retry_wish(const struct http_response *res);
/* Are there retries left, and will the server have us back soon enough? */
bool retry_possible(const struct retry *r, const struct http_response *res);
/*
 * True after waiting, when the caller shall try again; false when retries are
 * used up (err stays as it was) or stop ended the wait (err says so). A wish
 * of more than 10 minutes is not waited for.
 */
bool retry_wait(struct retry *r, const struct http_response *res,
		const struct stop *stop, struct error *err);

#endif
