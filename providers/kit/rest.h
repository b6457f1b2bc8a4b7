/* rest.h - a vendor's JSON over HTTP: address, headers, errors, repeats. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_REST_H
#define PROVIDERS_KIT_REST_H

#include "base/json.h"
#include "base/stop.h"
#include "config/settings.h"
#include "net/http.h"

enum { REST_HEADERS = 12 };

/* One server of a vendor. Read-only once set up: any thread may call. */
struct rest {
	struct http *http;               /* borrowed */
	char *base;                      /* owned, without a slash at the end */
	char *headers[REST_HEADERS + 1]; /* owned, NULL-terminated */
};

/*
 * The first of these variables that is set (settings_env() rules), else
 * fallback. ERR_CONFIG unless it is https, or http to a loopback address, with
 * nothing after the path. *base is owned by the caller.
 */
int rest_address(char **base, const struct settings *set,
		 const char *const *variables, const char *fallback,
		 struct error *err);
/* Adds "Name: value"; a value with a control character is ERR_CONFIG. */
int rest_header(struct rest *r, const char *name, const char *value,
		struct error *err);
void rest_release(struct rest *r);

enum {
	REST_AGAIN = 1 << 0,      /* may be repeated: GET, or the vendor knows a
				     repetition from a second request */
	REST_MISSING_OK = 1 << 1, /* 404 is an answer, not an error */
	REST_ONCE = 1 << 2,       /* for agentcore_call(): not even after 429 */
};

struct rest_ask { /* one request; all borrowed */
	const char *method;
	const char *path; /* with its query, after base */
	struct str body;  /* JSON unless type says otherwise; may be empty */
	const char *type; /* Content-Type of body; NULL: application/json */
	const char
		*what; /* the operation, for messages: "creating the sandbox" */
	unsigned flags;
	int64_t timeout_ms; /* for one try; 0: 60 s */
	int64_t idle_ms;    /* without a byte, then it is cut; 0: never */
	/* As in http_request; an upload by source is never repeated. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	int (*data)(void *arg, struct str chunk, struct error *err);
	void (*header)(void *arg, struct str line);
	void *arg;
	const char *const *headers; /* more of them, NULL-terminated, or NULL */
};

/*
 * 0 with an answer below 400 (or 404 with REST_MISSING_OK) in res, which the
 * caller releases in any case; -1 else, the error begun with ask->what (the
 * provider's name is put before it by sandbox.h's wrappers). Repeats what
 * REST_AGAIN allows, up to four times, obeying Retry-After, after which the
 * error is exhausted; and anything twice when no connection was made
 * (ERR_UNREACHABLE). Never use REST_AGAIN to create or remove a sandbox: only
 * sandbox_create() and sandbox_remove() repeat these.
 */
int rest_call(const struct rest *r, const struct rest_ask *ask,
	      struct http_response *res, const struct stop *stop,
	      struct error *err);
/* The same with the body parsed: *tree is owned by the caller, NULL for an
 * empty body. ERR_PROTOCOL if the body is not JSON. *status may be NULL. */
int rest_json(const struct rest *r, const struct rest_ask *ask, cJSON **tree,
	      int *status, const struct stop *stop, struct error *err);
/* Appends text percent-encoded for one path segment or query value
 * (RFC 3986 §2.3: only unreserved characters stay). */
void rest_encode(struct buf *out, struct str text);

/* The claims of a JSON web token, not verified; NULL if it is not one. The
 * caller deletes them. */
cJSON *jwt_claims(const char *token);
/* When the token expires, in Unix seconds; 0 when it does not say. */
int64_t jwt_expires(const char *token);

#endif
