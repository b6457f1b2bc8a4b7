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
	int64_t wait_ms; /* before the next try; 0: not chosen yet */
	int64_t most_ms; /* a longer wish is not waited for; 0: 10 minutes */
	/* There will be many tries: one waits longer than the server wishes,
	 * by up to 5 s, where that wishes for little again and again. */
	bool patient;
};

/*
 * True when what failed so may succeed when it is repeated, by the codes of the
 * error alone: a cut or damaged answer, HTTP 408, 425, 429 and 5xx but 501 and
 * 505, gRPC CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL and UNAVAILABLE.
 * Not when it is exhausted.
 */
bool retry_is_transient(const struct error *err);
/* True when a server read the request and declined it: nothing was done. */
bool retry_was_refused(const struct error *err);
/*
 * Between two tries: sleeps ms, or as long as the server asks in why where
 * that is longer. -1 with stop's error, or with why when the server asks for
 * more than 10 minutes or than stop has left, which its message then says: it
 * is exhausted.
 */
int retry_sleep(const struct error *why, int64_t ms, const struct stop *stop,
		struct error *err);
/* The same by r, for the failure in err: true after waiting; false when the
 * retries are used up (err is exhausted then) or as retry_sleep() says. */
bool retry_after(struct retry *r, const struct stop *stop, struct error *err);

/* For models, whose servers may say "try again in 17s" in words. True when
 * this outcome may be repeated at all. rc and err as http_do() left them. */
bool retry_worthy(int rc, const struct http_response *res,
		  const struct error *err);
/* The server's own wish in ms: Retry-After, or "try again in 17s", "in 1.5
 * seconds", "in 250ms", "in 2m" in the body; -1 when it has none. */
int64_t retry_wish(const struct http_response *res);
/* True when retries are left, and the server's pause ends soon enough. */
bool retry_possible(const struct retry *r, const struct http_response *res);
/* How long the next retry_wait() waits; the failure as there. */
int64_t retry_next_ms(struct retry *r, const struct http_response *res);
/*
 * True after waiting, when the caller shall try again; false when retries are
 * used up (err stays as it was) or stop ended the wait (err says so). A wish
 * of more than most_ms is not waited for.
 */
bool retry_wait(struct retry *r, const struct http_response *res,
		const struct stop *stop, struct error *err);

#endif
