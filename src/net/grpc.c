/* grpc.c - one gRPC call over HTTP/2, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at grpc_do(), at the end. The first part parses the
 * length-prefixed messages of a stream (struct envelope); Connect streams of
 * other vendors use the same framing. */
#include "net/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

/* Parses a complete 5-byte message prefix. */
static int read_head(struct envelope *e, struct error *err)
{
	const unsigned char *h = e->head;
	size_t most = e->largest ? e->largest : ENVELOPE_LARGEST;

	e->size = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 |
		  h[4];
	if (h[0] & ~e->last)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message with "
				 "flags %u",
				 h[0]);
	if (e->size > most)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message of %zu "
				 "bytes (limit %zu)",
				 e->size, most);
	e->body.max = most;
	return 0;
}

/* Moves bytes of the current message from chunk to e. */
static int add_bytes(struct envelope *e, struct str *chunk, struct error *err)
{
	size_t n;

	if (e->ended)
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: data after the end");
	while (chunk->len && e->have < ENVELOPE_HEAD) {
		e->head[e->have++] = (unsigned char)chunk->ptr[0];
		*chunk = str_skip(*chunk, 1);
		if (e->have == ENVELOPE_HEAD && read_head(e, err) < 0)
			return -1;
	}
	n = e->have == ENVELOPE_HEAD ? e->size - e->body.len : 0;
	if (n > chunk->len)
		n = chunk->len;
	buf_add(&e->body, chunk->ptr, n);
	*chunk = str_skip(*chunk, n);
	return 0;
}

int envelope_feed(struct envelope *e, struct str chunk,
		  int (*message)(void *arg, struct str bytes, bool last,
				 struct error *err),
		  void *arg, struct error *err)
{
	while (chunk.len) {
		if (add_bytes(e, &chunk, err) < 0)
			return -1;
		if (e->have < ENVELOPE_HEAD || e->body.len < e->size)
			continue;
		e->ended = e->head[0] & e->last;
		e->have = 0;
		if (message(arg, buf_str(&e->body), e->ended, err) < 0)
			return -1;
		buf_clear(&e->body);
	}
	return 0;
}

void envelope_release(struct envelope *e)
{
	buf_release(&e->body);
	*e = (struct envelope){ 0 };
}

void envelope_head(struct buf *out, size_t len)
{
	const char head[ENVELOPE_HEAD] = {
		0,
		(char)(len >> 24),
		(char)(len >> 16),
		(char)(len >> 8),
		(char)len,
	};

	buf_add(out, head, sizeof(head));
}

void envelope_add(struct buf *out, struct str bytes)
{
	envelope_head(out, bytes.len);
	buf_addstr(out, bytes);
}

enum {
	MESSAGE_MAX = 400, /* bytes kept of grpc-message */
	/* extra wait after the deadline that the server was told: the server
	 * should end the call first */
	BACKSTOP_MS = 2000,
	/* waits so long for libcurl to notice that the call has ended */
	SETTLE_MS = 50,
};

struct grpc_run { /* shared by the callbacks of one attempt */
	const struct grpc_call *call;
	struct grpc_outcome *outcome;
	struct envelope frames;
	char message[MESSAGE_MAX + 1]; /* grpc-message, decoded */
};

/* The name of a code: "UNAVAILABLE". */
static const char *code_name(enum grpc_code code)
{
	static const char *const names[] = {
		"OK",
		"CANCELLED",
		"UNKNOWN",
		"INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED",
		"NOT_FOUND",
		"ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION",
		"ABORTED",
		"OUT_OF_RANGE",
		"UNIMPLEMENTED",
		"INTERNAL",
		"UNAVAILABLE",
		"DATA_LOSS",
		"UNAUTHENTICATED",
	};

	if (code < GRPC_OK || code > GRPC_UNAUTHENTICATED)
		return "no status";
	return names[code];
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes grpc-message, which is percent-encoded UTF-8. Invalid escapes stay as
 * they are. */
static void decode_message(struct grpc_run *r, struct str text)
{
	struct buf raw = BUF_INIT(MESSAGE_MAX);
	struct buf clean = BUF_INIT(MESSAGE_MAX);

	for (size_t i = 0; i < text.len && !raw.over; i++) {
		int a = -1;
		int b = -1;

		if (text.ptr[i] == '%' && i + 2 < text.len) {
			a = hex_value(text.ptr[i + 1]);
			b = hex_value(text.ptr[i + 2]);
		}
		if (a >= 0 && b >= 0)
			i += 2;
		buf_addc(&raw,
			 a >= 0 && b >= 0 ? (char)(a * 16 + b) : text.ptr[i]);
	}
	sanitize_line(buf_str(&raw), &clean);
	snprintf(r->message, sizeof(r->message), "%.*s", (int)clean.len,
		 clean.len ? clean.ptr : "");
	buf_release(&raw);
	buf_release(&clean);
}

/* Decodes grpc-status-details-bin: base64 with or without padding. */
static void decode_details(struct grpc_run *r, struct str text)
{
	struct buf *out = &r->outcome->details;
	size_t n = 0;
	char *room;

	buf_clear(out);
	while (str_ends(text, "="))
		text.len--;
	if (!text.len || text.len > GRPC_DETAILS_MAX)
		return;
	room = buf_room(out, text.len);
	if (room &&
	    sodium_base642bin((unsigned char *)room, text.len, text.ptr,
			      text.len, NULL, &n, NULL,
			      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0)
		buf_added(out, n);
}

/* Reads a status header. gRPC sends it in the trailers, or in the headers if
 * the answer has no message. If it comes twice, the last one counts. */
static void on_header(void *arg, struct str line)
{
	struct grpc_run *r = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));
	int64_t code;

	if (str_is_nocase(name, "grpc-status")) {
		if (!str_to_int(value, &code) || code < GRPC_OK ||
		    code > GRPC_UNAUTHENTICATED)
			code = GRPC_UNKNOWN;
		r->outcome->code = (enum grpc_code)code;
	} else if (str_is_nocase(name, "grpc-message")) {
		decode_message(r, value);
	} else if (str_is_nocase(name, "grpc-status-details-bin")) {
		decode_details(r, value);
	}
}

static int on_message(void *arg, struct str message, bool last,
		      struct error *err)
{
	struct grpc_run *r = arg;

	(void)last;
	r->outcome->replies++;
	return r->call->reply ? r->call->reply(r->call->arg, message, err) : 0;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct grpc_run *r = arg;

	return envelope_feed(&r->frames, chunk, on_message, r, err);
}

static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	struct grpc_run *r = arg;

	return r->call->source(r->call->arg, room, len, err);
}

/* Ends the transfer once the gRPC status is known. If a server refuses a call
 * before it has read the whole request, libcurl would otherwise keep
 * waiting. */
static int64_t on_idle(void *arg)
{
	const struct grpc_run *r = arg;

	return r->outcome->code != GRPC_NONE ? SETTLE_MS : -1;
}

/* Maps an HTTP status, for example of a proxy, as
 * doc/http-grpc-status-mapping.md says. */
static enum grpc_code code_of_http(int status)
{
	switch (status) {
	case 400:
		return GRPC_INTERNAL;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

/* Maps a gRPC status to dcode's error codes. */
static enum err err_of(enum grpc_code code)
{
	switch (code) {
	case GRPC_UNAUTHENTICATED:
	case GRPC_PERMISSION_DENIED:
		return ERR_AUTH;
	case GRPC_NOT_FOUND:
		return ERR_NOT_FOUND;
	case GRPC_RESOURCE_EXHAUSTED:
		return ERR_LIMIT;
	case GRPC_DEADLINE_EXCEEDED:
		return ERR_NETWORK;
	default:
		return ERR_REMOTE;
	}
}

/* Classifies a complete exchange: 0, or -1 with err. */
static int classify_outcome(struct grpc_run *r, const struct http_response *res,
			    struct error *err)
{
	struct grpc_outcome *o = r->outcome;
	bool grpc = strncasecmp(res->content_type, "application/grpc", 16) == 0;

	if (res->status != 200 && o->code == GRPC_NONE) {
		o->code = code_of_http(res->status);
		return error_set(err, err_of(o->code), "HTTP %d: %s",
				 res->status, code_name(o->code));
	}
	if (!grpc && o->code == GRPC_NONE)
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: not gRPC but '%.60s'",
			res->content_type);
	if (o->code == GRPC_NONE)
		return error_set(err, ERR_NETWORK,
				 "the connection broke before the answer was "
				 "complete (no grpc-status)");
	if (o->code == GRPC_OK && r->frames.have)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: it ends in the "
				 "middle of a message");
	if (o->code == GRPC_OK)
		return 0;
	return error_set(err, err_of(o->code), "%s%s%s", code_name(o->code),
			 r->message[0] ? ": " : "", r->message);
}

static int finish_outcome(struct grpc_run *r, const struct http_response *res,
			  struct error *err)
{
	int rc = classify_outcome(r, res, err);

	if (rc == 0)
		return 0;
	err->http_status = res->status == 200 ? 0 : res->status;
	err->grpc_status =
		r->outcome->code > GRPC_OK ? (int)r->outcome->code : 0;
	err->retry_after_ms = res->retry_after_ms > 0 ? res->retry_after_ms : 0;
	return -1;
}

/* Returns the value of grpc-timeout, owned: at most eight digits and a unit. */
static char *timeout_header(int64_t ms)
{
	if (ms < 100000000)
		return xasprintf("grpc-timeout: %lldm", (long long)ms);
	return xasprintf("grpc-timeout: %lldS", (long long)(ms / 1000));
}

/* Makes one attempt. */
static int attempt_call(struct http *h, struct grpc_run *r, unsigned flags,
			const struct stop *stop, struct error *err)
{
	const struct grpc_call *call = r->call;
	const char *headers[GRPC_HEADERS + 6] = {
		"content-type: application/grpc",
		"te: trailers",
		"grpc-accept-encoding: identity",
		"accept:",
	};
	struct buf head = BUF_INIT(ENVELOPE_HEAD);
	struct str body[2];
	char *url = xasprintf("%s%s", call->base, call->path);
	char *timeout =
		call->timeout_ms > 0 ? timeout_header(call->timeout_ms) : NULL;
	struct http_request req = { .method = "POST",
				    .url = url,
				    .headers = headers,
				    .segments = body,
				    .n_segments = call->source ? 0 : 2,
				    .source = call->source ? on_source : NULL,
				    .source_size = call->source_size,
				    .data = on_data,
				    .idle = on_idle,
				    .header = on_header,
				    .arg = r,
				    .connect_ms = call->connect_ms,
				    .flags = HTTP_2 | flags };
	struct http_response res = { 0 };
	size_t n = 4;
	int rc;

	if (timeout)
		headers[n++] = timeout;
	for (size_t i = 0; call->headers && call->headers[i]; i++)
		if (i < GRPC_HEADERS)
			headers[n++] = call->headers[i];
	envelope_head(&head, call->message.len);
	body[0] = buf_str(&head);
	body[1] = call->message;
	rc = http_do(h, &req, &res, stop, err);
	r->outcome->began = res.began;
	if (rc == 0)
		rc = finish_outcome(r, &res, err);
	http_response_release(&res);
	buf_release(&head);
	free(timeout);
	free(url);
	return rc;
}

static void start_over(struct grpc_run *r)
{
	envelope_release(&r->frames);
	r->frames.largest = r->call->largest ? r->call->largest : GRPC_LARGEST;
	r->message[0] = '\0';
	r->outcome->code = GRPC_NONE;
	r->outcome->replies = 0;
	r->outcome->began = false;
	buf_clear(&r->outcome->details);
}

int grpc_do(struct http *h, const struct grpc_call *call,
	    struct grpc_outcome *outcome, const struct stop *stop,
	    struct error *err)
{
	struct grpc_run r = { .call = call, .outcome = outcome };
	struct stop within =
		call->timeout_ms > 0
			? stop_within(stop, call->timeout_ms + BACKSTOP_MS)
			: *stop;
	bool warm = strncasecmp(call->base, "https://", 8) == 0;
	struct error why = { 0 };
	int rc;

	outcome->details.max = GRPC_DETAILS_MAX;
	start_over(&r);
	rc = attempt_call(h, &r, 0, &within, &why);
	if (rc < 0 && why.code == ERR_NETWORK && !outcome->began && warm &&
	    !call->source && stop_check(&within, &why) == 0) {
		why = (struct error){ 0 };
		start_over(&r);
		rc = attempt_call(h, &r, HTTP_FRESH, &within, &why);
	}
	envelope_release(&r.frames);
	/* If the call's own limit expired, and not the caller's deadline, it is
	 * a network failure: a retry may work. */
	if (rc < 0 && why.code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(&why, ERR_NETWORK, "no answer within %lld s",
			  (long long)(call->timeout_ms / 1000));
	if (rc < 0)
		*err = why;
	return rc;
}

void grpc_outcome_release(struct grpc_outcome *outcome)
{
	buf_release(&outcome->details);
}
