/* rest.h - JSON over HTTP: address, headers, errors, retries. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_REST_H
#define PROVIDERS_KIT_REST_H

#include "base/json.h"
#include "base/stop.h"
#include "config/settings.h"
#include "net/http.h"

enum { REST_HEADERS = 12 };

/* One server of a vendor. Read-only after the setup, so any thread may use
 * it. */
struct rest {
	struct http *http;               /* borrowed */
	char *base;                      /* owned, without a slash at the end */
	char *headers[REST_HEADERS + 1]; /* owned, NULL-terminated */
};

/* Returns the value of a variable with the vendor's address, or NULL. A stored
 * key does not go to another machine because of a variable that is exported for
 * all programs, so that variable is ignored then. A server on this machine is
 * the vendor's own, and is accepted. */
const char *rest_variable(const struct settings *set, const char *variable);
/* Reads the address from the first of these variables that is set
 * (rest_variable()), else uses fallback. ERR_CONFIG unless it is https, or
 * http to a loopback address, with nothing after the path. *base is owned by
 * the caller. */
int rest_address(char **base, const struct settings *set,
		 const char *const *variables, const char *fallback,
		 struct error *err);
/* Adds the header "Name: value". ERR_CONFIG if the value has a control
 * character. */
int rest_header(struct rest *r, const char *name, const char *value,
		struct error *err);
void rest_release(struct rest *r);

/* Flags of http_request for rest_call(), above those of net/http.h. */
enum {
	/* may be sent again: a GET, or a request of which the vendor recognises
	 * repetitions */
	REST_AGAIN = 1 << 8,
	REST_MISSING_OK = 1 << 9, /* 404 is an answer, not an error */
	/* for agentcore_call(): never send again, not even after 429 */
	REST_ONCE = 1 << 10,
};

/* Sends a request to ask->path, with the server's headers and then those of
 * ask. Each try may take ask->timeout_ms (default 60 s). 0 if the status is
 * below 400 (or 404 with REST_MISSING_OK). Otherwise -1, with an error that
 * begins with ask->what. (The functions of sandbox.h add the provider's name in
 * front of it.) The caller releases res, even on failure. With REST_AGAIN a
 * request is sent up to four times, with the pauses that Retry-After demands;
 * one with a source is never sent again. After the last one, err->exhausted is
 * set. Any request is tried twice if no connection was made (ERR_UNREACHABLE).
 * Never use REST_AGAIN to create or remove a sandbox: only sandbox_create() and
 * sandbox_remove() repeat these. */
int rest_call(const struct rest *r, const struct http_request *ask,
	      struct http_response *res, const struct stop *stop,
	      struct error *err);
/* Like rest_call(), but parses the body. *tree is owned by the caller; NULL for
 * an empty body. ERR_PROTOCOL if the body is not JSON. *status may be NULL. */
int rest_json(const struct rest *r, const struct http_request *ask,
	      cJSON **tree, int *status, const struct stop *stop,
	      struct error *err);
/* Appends text percent-encoded for one path segment or query value (RFC 3986
 * §2.3: all but unreserved characters are encoded). */
void rest_encode(struct buf *out, struct str text);

/* Returns the claims of a JSON web token without verifying it; NULL if it is
 * not one. The caller deletes them. */
cJSON *jwt_claims(const char *token);
/* Returns when the token expires, in Unix time (seconds); 0 if the token does
 * not say. */
int64_t jwt_expires(const char *token);

#endif
