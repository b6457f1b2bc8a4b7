/* retry.h - which failures to retry, and how long to wait. */
/* SPDX-License-Identifier: MIT */
/*
 * http_do() reads Retry-After into struct http_response and struct error. The
 * functions below wait at least that long. Callers: rest_call()
 * (providers/kit/rest.c) for requests to a provider, providers/kit/files.c for
 * files, sandbox/sandbox.c for creating and removing a sandbox,
 * sandbox/supervise/supervise.c for commands, and model/conversation.c for
 * requests to a model. Providers with a protocol of their own call them too.
 */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include "net/http.h"

struct retry {
	int attempt; /* failures so far */
	int max;     /* retries after the first attempt */
	/* first backoff; 0: 500 ms. It doubles up to 30 s. Each wait is a
	 * random time from half the backoff to all of it */
	int64_t base_ms;
	int64_t wait_ms; /* before the next attempt; 0: not chosen yet */
	/* longest pause that a server may ask for: for a longer one, give up;
	 * 0: 10 minutes */
	int64_t most_ms;
	/* Many attempts are expected: if the server asks for short pauses again
	 * and again, wait up to 5 s longer than it asks. */
	bool patient;
};

/* True if a retry may succeed, judged by the error's codes: a broken or damaged
 * answer; HTTP 408, 425, 429 and 5xx except 501 and 505; gRPC CANCELLED,
 * UNKNOWN, DEADLINE_EXCEEDED, INTERNAL and UNAVAILABLE. False if the error is
 * marked exhausted. */
bool retry_is_transient(const struct error *err);
/* True if the server read the request and declined it: nothing was executed. */
bool retry_was_refused(const struct error *err);
/* Waits between two attempts: ms, or as long as the server asks for in `why` if
 * that is longer. -1 with stop's error. Also -1 if the server asks for more
 * than 10 minutes or for more time than stop has left: then err is a copy of
 * why, marked exhausted, and its message gives the limit. */
int retry_sleep(const struct error *why, int64_t ms, const struct stop *stop,
		struct error *err);
/* Like retry_sleep(), with the wait chosen by r for the failure in err. True
 * after waiting. False if no retries are left (err is then exhausted) or
 * retry_sleep() failed. */
bool retry_after(struct retry *r, const struct stop *stop, struct error *err);

/* For model servers, which may say "try again in 17s" in the answer's text.
 * True if this outcome may be retried. rc and err are those of http_do(). */
bool retry_worthy(int rc, const struct http_response *res,
		  const struct error *err);
/* The pause that the server asks for, in ms: Retry-After, or "try again in
 * 17s", "in 1.5 seconds", "in 250ms", "in 2m" in the body. -1 if none. */
int64_t retry_wish(const struct http_response *res);
/* True if retries are left and the server's pause is not too long. */
bool retry_possible(const struct retry *r, const struct http_response *res);
/* Returns how long the next retry_wait() for this failure will wait. */
int64_t retry_next_ms(struct retry *r, const struct http_response *res);
/* Waits. True if the caller should try again. False if no retries are left or
 * the server asks for more than most_ms (err unchanged), or if stop ended the
 * wait (err set). */
bool retry_wait(struct retry *r, const struct http_response *res,
		const struct stop *stop, struct error *err);

#endif
