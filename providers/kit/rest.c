/* rest.c - JSON over HTTP: address, headers, errors, retries. */
/* SPDX-License-Identifier: MIT */
/*
 * rest_call() sends one request with the server's headers and decides whether a
 * failed one is repeated. Before a repetition it waits in retry_after()
 * (net/retry.c), which obeys Retry-After. rest_json() also parses the answer.
 * Settings choose the server's address (rest_address). A key is sent only to
 * https or to this machine.
 */
#include "providers/kit/rest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/resolve.h"
#include "net/retry.h"

enum {
	TRIES_AGAIN = 4,
	TRIES_REACH = 2, /* for servers that accept no connection */
	REACH_MS = 3000, /* no second try if the first failed after this time */
	CALL_MS = 60000,
	ANSWER_MAX = 16 << 20, /* bytes of an answer */
	CLAIMS_MAX = 16 << 10,
};

const char *rest_variable(const struct settings *set, const char *variable)
{
	const char *value = settings_env(set, variable);

	return value && settings_address_is_shared(set, variable) &&
			       !loopback_url(str_of(value))
		       ? NULL
		       : value;
}

int rest_address(char **base, const struct settings *set,
		 const char *const *variables, const char *fallback,
		 struct error *err)
{
	const char *value = NULL;
	struct str url;
	char *from;

	for (; !value && *variables; variables++) {
		value = rest_variable(set, *variables);
		if (value && !loopback_or_https(str_of(value))) {
			error_set(err, ERR_CONFIG,
				  "%s: refusing to send a key to %.200s",
				  *variables, value);
			from = settings_address_name(set, *variables);
			if (strcmp(from, *variables) != 0)
				error_add(err, " (%s)", from);
			free(from);
			return error_hint(err, "Use https://..., or http:// on "
					       "a loopback address.");
		}
	}
	url = str_of(value ? value : fallback);
	while (str_ends(url, "/"))
		url.len--;
	*base = xstrndup(url.ptr, url.len);
	return 0;
}

int rest_header(struct rest *r, const char *name, const char *value,
		struct error *err)
{
	size_t n = 0;

	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			return error_set(
				err, ERR_CONFIG,
				"the value for %s contains a control character",
				name);
	while (r->headers[n])
		n++;
	if (n == REST_HEADERS)
		return error_set(err, ERR_CONFIG, "too many headers");
	r->headers[n] = xasprintf("%s: %s", name, value);
	return 0;
}

void rest_release(struct rest *r)
{
	free(r->base);
	for (size_t n = 0; r->headers[n]; n++)
		mem_wipe(r->headers[n]);
	*r = (struct rest){ 0 };
}

void rest_encode(struct buf *out, struct str text)
{
	percent_encode(out, text, "");
}

/*
 * Gathers the server's headers, the type and the caller's headers in one list.
 * type is a buffer of the caller.
 */
static void gather_headers(const struct rest *r, const struct http_request *ask,
			   const char **list, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; r->headers[i]; i++)
		list[n++] = r->headers[i];
	if (ask->body.len || ask->source)
		list[n++] = type;
	for (size_t i = 0;
	     ask->headers && ask->headers[i] && n < (size_t)2 * REST_HEADERS;
	     i++)
		list[n++] = ask->headers[i];
	list[n] = NULL;
}

/*
 * True if the request may be sent again. That is always safe if no connection
 * was made, since nothing was sent.
 */
static bool is_repeatable(const struct http_request *ask,
			  const struct retry *retry, int64_t began,
			  const struct error *err)
{
	if (err->code != ERR_UNREACHABLE)
		return ask->flags & REST_AGAIN && !ask->source &&
		       err->code != ERR_PROTOCOL && retry_is_transient(err);
	return retry->attempt < TRIES_REACH && clock_ms() - began < REACH_MS;
}

int rest_call(const struct rest *r, const struct http_request *ask,
	      struct http_response *res, const struct stop *stop,
	      struct error *err)
{
	const char *list[2 * REST_HEADERS + 1];
	char *type = xasprintf("Content-Type: %s",
			       ask->type ? ask->type : "application/json");
	char *url = xasprintf("%s%s", r->base, ask->path);
	int64_t ms = ask->timeout_ms ? ask->timeout_ms : CALL_MS;
	struct http_request req = *ask;
	struct retry retry = { .max = TRIES_AGAIN };
	int64_t began = clock_ms();
	int rc;

	gather_headers(r, ask, list, type);
	req.url = url;
	req.headers = list;
	for (;;) {
		struct stop limit = stop_within(stop, ms);
		struct error why = { 0 };

		if (!res->body.max)
			res->body.max = ANSWER_MAX;
		rc = http_do(r->http, &req, res, &limit, &why);
		/* If only the time limit of one try has passed, this counts as
		 * a network failure. */
		if (rc < 0 && why.code == ERR_TIMEOUT &&
		    clock_ms() < stop->deadline)
			error_set(&why, ERR_NETWORK, "no answer within %lld s",
				  (long long)(ms / 1000));
		if (rc == 0 &&
		    (res->status < 400 ||
		     (res->status == 404 && ask->flags & REST_MISSING_OK)))
			break;
		if (rc == 0)
			rc = http_status_error(res, NULL, &why);
		if (!is_repeatable(ask, &retry, began, &why) ||
		    !retry_after(&retry, stop, &why)) {
			*err = why;
			(void)error_wrap(err, "%s", ask->what);
			break;
		}
	}
	free(type);
	free(url);
	return rc;
}

int rest_json(const struct rest *r, const struct http_request *ask,
	      cJSON **tree, int *status, const struct stop *stop,
	      struct error *err)
{
	struct http_response res = { 0 };
	int rc = rest_call(r, ask, &res, stop, err);

	*tree = NULL;
	if (rc == 0 && status)
		*status = res.status;
	if (rc == 0 && str_trim(buf_str(&res.body)).len) {
		*tree = json_parse(buf_str(&res.body));
		if (!*tree) {
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON", ask->what);
			err->http_status = res.status;
		}
	}
	http_response_release(&res);
	return rc;
}

cJSON *jwt_claims(const char *token)
{
	struct str rest = str_of(token);
	struct str part;
	char text[CLAIMS_MAX];
	size_t len = 0;

	for (int i = 0; i < 2; i++)
		if (!str_split(&rest, '.', &part))
			return NULL;
	if (!rest.len ||
	    sodium_base642bin((unsigned char *)text, sizeof(text), part.ptr,
			      part.len, "=", &len, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0)
		return NULL;
	return json_parse((struct str){ text, len });
}

int64_t jwt_expires(const char *token)
{
	cJSON *claims = jwt_claims(token);
	int64_t at = json_int(claims, "exp", 0);

	cJSON_Delete(claims);
	return at > 0 ? at : 0;
}
