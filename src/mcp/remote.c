/* remote.c - a server behind an address: streamable HTTP. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "mcp/expand.h"
#include "mcp/link.h"
#include "net/loopback.h"
#include "net/sse.h"

/* modelcontextprotocol.io/specification/2025-11-25/basic/transports, read
 * 2026-11-23. */
enum {
	SESSION_MAX = 1024, /* bytes of a session's id */
	STREAM_MAX = 64 << 20,
	ASIDE_MS = 3000, /* what is sent beside a request, or at the end */
	CANCEL_MS = 500, /* the same where the user waits for nothing else */
	EXTRA_HEADERS = 6,
	STATUS_GONE = 404, /* of a session that the server has forgotten */
};

struct mcp_remote {
	struct mcp_link link;
	char *url;
	char **headers; /* of the entry, expanded; NULL-terminated */
	size_t n_headers;
	pthread_mutex_t lock; /* of all that follows */
	int64_t last_id;
	char session[SESSION_MAX + 1]; /* "": none */
	char version[32];              /* "" before initialize was answered */
	bool lost; /* the server has forgotten the session */
};

struct mcp_exchange { /* one POST */
	struct mcp_remote *remote;
	int64_t id; /* of the request; 0: nothing of its answer is read */
	const struct stop *stop; /* of the request, or NULL */
	bool streams;
	struct sse sse;
	struct buf body;
	size_t received;
	cJSON *answer;
};

static struct mcp_remote *remote_of(struct mcp_link *l)
{
	return (struct mcp_remote *)l;
}

/* ---- headers ---- */

/* What every request has beside the entry's own; list has room for them. */
static void add_headers(struct mcp_remote *r, const char **list,
			char (*room)[SESSION_MAX + 64])
{
	size_t n = 0;

	for (; n < r->n_headers; n++)
		list[n] = r->headers[n];
	list[n++] = "Content-Type: application/json";
	list[n++] = "Accept: application/json, text/event-stream";
	pthread_mutex_lock(&r->lock);
	if (r->version[0]) {
		snprintf(room[0], sizeof(room[0]), "MCP-Protocol-Version: %s",
			 r->version);
		list[n++] = room[0];
	}
	if (r->session[0]) {
		snprintf(room[1], sizeof(room[1]), "Mcp-Session-Id: %s",
			 r->session);
		list[n++] = room[1];
	}
	pthread_mutex_unlock(&r->lock);
	list[n] = NULL;
}

static bool header_value(struct str line, const char *name, struct str *value)
{
	size_t n = str_find(line, ':');

	if (n == line.len || !str_is_nocase((struct str){ line.ptr, n }, name))
		return false;
	*value = str_trim(str_skip(line, n + 1));
	return true;
}

static void on_header(void *arg, struct str line)
{
	struct mcp_exchange *x = arg;
	struct mcp_remote *r = x->remote;
	struct str value;

	if (header_value(line, "content-type", &value)) {
		value.len = str_find(value, ';');
		x->streams =
			str_is_nocase(str_trim(value), "text/event-stream");
	} else if (header_value(line, "mcp-session-id", &value) &&
		   value.len <= SESSION_MAX && str_is_visible(value)) {
		pthread_mutex_lock(&r->lock);
		if (!r->version[0]) { /* of the answer to initialize */
			memcpy(r->session, value.ptr, value.len);
			r->session[value.len] = '\0';
		}
		pthread_mutex_unlock(&r->lock);
	}
}

/* ---- sending ---- */

static int post(struct mcp_exchange *x, struct str body,
		struct http_response *res, const struct stop *stop,
		struct error *err);

/* Something that has no answer: what becomes of it is not looked at. Attack: a
 * server that answers with one more request each time, or asks for thousands of
 * such answers and takes none; all of them are within stop. */
static void post_aside(struct mcp_remote *r, struct str body,
		       const struct stop *stop)
{
	struct mcp_exchange x = { .remote = r, .body = BUF_INIT(1 << 16) };
	struct http_response res = { 0 };
	struct error ignored = { 0 };

	(void)post(&x, body, &res, stop, &ignored);
	http_response_release(&res);
	buf_release(&x.body);
}

static bool is_answer(const struct mcp_exchange *x, const cJSON *message)
{
	const cJSON *id = json_get(message, "id");

	return cJSON_IsNumber(id) && id->valuedouble == (double)x->id &&
	       !json_get(message, "method");
}

/* Takes message over. */
static void consume_message(struct mcp_exchange *x, cJSON *message)
{
	struct buf reply = BUF_INIT(1 << 16);
	struct stop soon;

	if (!x->answer && is_answer(x, message)) {
		x->answer = message;
		return;
	}
	if (cJSON_IsString(json_get(message, "method")))
		mcp_link_receive(&x->remote->link, message, &reply);
	if (reply.len) {
		soon = stop_within(x->stop, ASIDE_MS);
		post_aside(x->remote, buf_str(&reply), &soon);
	}
	buf_release(&reply);
	cJSON_Delete(message);
}

/* One message, or an array of them (version 2025-03-26). */
static void consume_text(struct mcp_exchange *x, struct str text)
{
	cJSON *tree = x->id && str_is_utf8(text) ? json_parse(text) : NULL;
	cJSON *item;

	if (!cJSON_IsArray(tree)) {
		if (tree)
			consume_message(x, tree);
		return;
	}
	while ((item = cJSON_DetachItemFromArray(tree, 0)))
		consume_message(x, item);
	cJSON_Delete(tree);
}

static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	(void)event;
	(void)err;
	if (data.len)
		consume_text(arg, data);
	return 0;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct mcp_exchange *x = arg;

	x->received += chunk.len;
	if (x->received > STREAM_MAX)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %d MiB",
				 STREAM_MAX >> 20);
	if (x->streams)
		return sse_feed(&x->sse, chunk, on_event, x, err);
	buf_addstr(&x->body, chunk);
	return buf_check(&x->body, "the answer", err);
}

/* A stream may stay open behind the answer. */
static int64_t on_idle(void *arg)
{
	return ((struct mcp_exchange *)arg)->answer ? 0 : -1;
}

static int send_body(struct mcp_exchange *x, const char *method,
		     struct str body, struct http_response *res,
		     const struct stop *stop, struct error *err)
{
	struct mcp_remote *r = x->remote;
	const char **headers =
		xcalloc(r->n_headers + EXTRA_HEADERS, sizeof(*headers));
	char(*room)[SESSION_MAX + 64] = xcalloc(2, sizeof(*room));
	const struct http_request req = {
		.method = method,
		.url = r->url,
		.headers = headers,
		.segments = &body,
		.n_segments = body.len ? 1 : 0,
		.data = on_data,
		.idle = on_idle,
		.header = on_header,
		.arg = x,
		.flags = HTTP_PROBE,
	};
	int rc;

	add_headers(r, headers, room);
	rc = http_do(r->link.setup.http, &req, res, stop, err);
	free(room);
	free(headers);
	return rc;
}

static int post(struct mcp_exchange *x, struct str body,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	int rc;

	sse_init(&x->sse);
	rc = send_body(x, "POST", body, res, stop, err);
	if (rc == 0 && res->status < 300 && !x->streams && x->body.len)
		consume_text(x, buf_str(&x->body));
	sse_release(&x->sse);
	return rc;
}

/* ---- requests ---- */

static int64_t next_id(struct mcp_remote *r)
{
	int64_t id;

	pthread_mutex_lock(&r->lock);
	id = ++r->last_id;
	pthread_mutex_unlock(&r->lock);
	return id;
}

/* A refusal has to be read as HTTP's, unless its body is JSON-RPC's. */
static int read_status(struct mcp_remote *r, const struct http_response *res,
		       struct error *err)
{
	pthread_mutex_lock(&r->lock);
	if (res->status == STATUS_GONE && r->session[0])
		r->lost = true;
	pthread_mutex_unlock(&r->lock);
	(void)http_status_error(res, NULL, err);
	if (res->status == 401)
		error_hint(err, "Give the server's token as a header in its "
				"entry: \"Authorization\": \"Bearer ${NAME}\"");
	return -1;
}

static int exchange(struct mcp_exchange *x, struct jsonrpc_ask *ask,
		    cJSON **result, const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct buf body = BUF_INIT(MCP_MESSAGE);
	int rc;

	buf_addf(&body,
		 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\","
		 "\"params\":",
		 (long long)x->id, ask->method);
	buf_addstr(&body, ask->params);
	buf_addc(&body, '}');
	rc = buf_check(&body, "the request", err);
	if (rc == 0)
		rc = post(x, buf_str(&body), &res, stop, err);
	if (rc == 0 && res.status >= 300)
		rc = read_status(x->remote, &res, err);
	else if (rc == 0 && !x->answer)
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer of %s has no result (HTTP %d)",
			       x->remote->link.name, res.status);
	else if (rc == 0)
		rc = jsonrpc_result(&x->remote->link.peer, x->answer, ask,
				    result, err);
	http_response_release(&res);
	buf_wipe(&body);
	return rc;
}

static void cancel_request(struct mcp_remote *r, int64_t id)
{
	struct buf line = BUF_INIT(1 << 10);
	struct stop soon = stop_cleanup(CANCEL_MS);

	mcp_link_cancel(&line, id);
	post_aside(r, buf_str(&line), &soon);
	buf_release(&line);
}

static int request(struct mcp_link *l, struct jsonrpc_ask *ask, cJSON **result,
		   const struct stop *stop, struct error *err)
{
	struct mcp_remote *r = remote_of(l);
	struct mcp_exchange x = { .remote = r,
				  .id = next_id(r),
				  .body = BUF_INIT(MCP_MESSAGE) };
	struct stop limit = stop_within(stop, ask->timeout_ms);
	struct error ignored = { 0 };
	int rc;

	x.stop = &limit;
	ask->error_code = JSONRPC_NO_ERROR;
	*result = NULL;
	rc = exchange(&x, ask, result, &limit, err);
	if (rc < 0 && err->code == ERR_TIMEOUT &&
	    stop_check(stop, &ignored) == 0)
		error_set(err, ERR_TIMEOUT, "%s gave no answer within %lld s",
			  l->name, (long long)(ask->timeout_ms + 999) / 1000);
	if (rc < 0 && !ask->lasting &&
	    (err->code == ERR_TIMEOUT || err->code == ERR_CANCELLED))
		cancel_request(r, x.id);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "%s", ask->what);
	cJSON_Delete(x.answer);
	buf_wipe(&x.body);
	return rc;
}

static void notify(struct mcp_link *l, const char *method, struct str params)
{
	struct buf body = BUF_INIT(1 << 16);
	struct stop soon = stop_cleanup(ASIDE_MS);

	buf_addf(&body,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	buf_addstr(&body, params);
	buf_addc(&body, '}');
	post_aside(remote_of(l), buf_str(&body), &soon);
	buf_release(&body);
}

static void set_version(struct mcp_link *l, const char *version)
{
	struct mcp_remote *r = remote_of(l);

	pthread_mutex_lock(&r->lock);
	snprintf(r->version, sizeof(r->version), "%s", version);
	pthread_mutex_unlock(&r->lock);
}

static bool is_broken(struct mcp_link *l)
{
	struct mcp_remote *r = remote_of(l);
	bool lost;

	pthread_mutex_lock(&r->lock);
	lost = r->lost;
	pthread_mutex_unlock(&r->lock);
	return lost;
}

static void said(struct mcp_link *l, struct buf *out)
{
	(void)l;
	(void)out;
}

static void leave(struct mcp_link *l)
{
	(void)l;
}

static void end_session(struct mcp_remote *r)
{
	struct mcp_exchange x = { .remote = r, .body = BUF_INIT(1 << 16) };
	struct http_response res = { 0 };
	struct stop stop = stop_cleanup(ASIDE_MS);
	struct error ignored = { 0 };

	(void)send_body(&x, "DELETE", (struct str){ 0 }, &res, &stop, &ignored);
	http_response_release(&res);
	buf_release(&x.body);
}

static void free_remote(struct mcp_remote *r)
{
	for (size_t i = 0; i < r->n_headers; i++)
		mem_wipe(r->headers[i]);
	free(r->headers);
	mem_wipe(r->url);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void close_remote(struct mcp_link *l)
{
	struct mcp_remote *r = remote_of(l);

	if (r->session[0] && !r->lost)
		end_session(r);
	free_remote(r);
}

static const struct mcp_link_ops ops = {
	.request = request,
	.notify = notify,
	.set_version = set_version,
	.is_broken = is_broken,
	.said = said,
	.leave = leave,
	.close = close_remote,
};

/* Headers hold keys: a network between must not read them. */
static int check_url(const struct mcp_remote *r, struct error *err)
{
	struct str url = str_of(r->url);

	if ((!str_starts(url, "https://") && !str_starts(url, "http://")) ||
	    !str_is_visible(url))
		return error_set(err, ERR_CONFIG,
				 "its \"url\" is no http or https address");
	if (!r->n_headers || str_starts(url, "https://") || loopback_url(url))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "refusing to send its headers over plain http: use "
			 "https");
}

static int expand_all(struct mcp_remote *r, struct error *err)
{
	const struct mcp_entry *e = r->link.setup.entry;
	const struct settings *set = r->link.setup.settings;
	struct buf value = BUF_INIT(MCP_VALUE_MAX);
	int rc = mcp_expand(e, set, e->url, &value, err);

	r->url = buf_detach(&value);
	for (size_t i = 0; rc == 0 && i < e->n_headers; i++) {
		value = BUF_INIT(MCP_VALUE_MAX);
		buf_addf(&value, "%s: ", e->headers[i].name);
		rc = mcp_expand(e, set, e->headers[i].value, &value, err);
		if (rc == 0 && str_find(buf_str(&value), '\n') < value.len)
			rc = error_set(err, ERR_CONFIG,
				       "the value of its header %.64s has a "
				       "line end",
				       e->headers[i].name);
		r->headers[r->n_headers++] = buf_detach(&value);
	}
	return rc;
}

struct mcp_link *mcp_remote_open(const struct mcp_link_setup *setup,
				 struct error *err)
{
	struct mcp_remote *r = xcalloc(1, sizeof(*r));

	mcp_link_init(&r->link, setup);
	r->link.ops = &ops;
	pthread_mutex_init(&r->lock, NULL);
	r->headers = xcalloc(setup->entry->n_headers + 1, sizeof(*r->headers));
	if (expand_all(r, err) == 0 && check_url(r, err) == 0)
		return &r->link;
	free_remote(r);
	return NULL;
}
