/* remote_send.c - one HTTP request to a server, and the messages it brings. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "mcp/remote_impl.h"
#include "net/http.h"

enum {
	EXTRA_HEADERS = 8,
	TOKEN_MAX = 16 << 10,    /* bytes of a header with a token */
	CHALLENGE_MAX = 8 << 10, /* bytes of WWW-Authenticate */
	MINUTE_MS = 60000,
	SCOPE_MAX = 1024,  /* bytes of the scopes of a login */
	STATUS_GONE = 404, /* of a session that the server has forgotten */
};

struct header_room {
	char version[64];
	char session[REMOTE_SESSION + 32];
	char resume[SSE_ID + 32];
	struct buf token;
};

void remote_exchange_init(struct mcp_exchange *x, struct mcp_remote *r,
			  const char *method)
{
	*x = (struct mcp_exchange){
		.remote = r,
		.method = method,
		.text = BUF_INIT(MCP_MESSAGE),
		.challenge = BUF_INIT(CHALLENGE_MAX),
	};
	sse_init(&x->sse);
}

void remote_exchange_release(struct mcp_exchange *x)
{
	sse_release(&x->sse);
	buf_wipe(&x->text);
	buf_release(&x->challenge);
	cJSON_Delete(x->answer);
}

int64_t remote_next_id(struct mcp_remote *r)
{
	int64_t id;

	pthread_mutex_lock(&r->lock);
	id = ++r->last_id;
	pthread_mutex_unlock(&r->lock);
	return id;
}

int remote_add_request(struct buf *out, int64_t id,
		       const struct jsonrpc_ask *ask, struct error *err)
{
	buf_addf(out,
		 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\","
		 "\"params\":",
		 (long long)id, ask->method);
	buf_addstr(out, ask->params);
	buf_addc(out, '}');
	return buf_check(out, "the request", err);
}

/* ---- headers ---- */

/* The entry's own, then the protocol's. */
static void add_headers(const struct mcp_exchange *x, const char **list,
			struct header_room *room)
{
	struct mcp_remote *r = x->remote;
	size_t n = 0;

	for (; n < r->n_headers; n++)
		list[n] = r->headers[n];
	if (x->body.len)
		list[n++] = "Content-Type: application/json";
	list[n++] = x->body.len ? "Accept: application/json, text/event-stream"
				: "Accept: text/event-stream";
	if (room->token.len)
		list[n++] = room->token.ptr;
	if (x->resume) {
		snprintf(room->resume, sizeof(room->resume),
			 "Last-Event-ID: %s", x->resume);
		list[n++] = room->resume;
	}
	pthread_mutex_lock(&r->lock);
	if (r->version[0]) {
		snprintf(room->version, sizeof(room->version),
			 "MCP-Protocol-Version: %s", r->version);
		list[n++] = room->version;
	}
	if (r->session[0]) {
		snprintf(room->session, sizeof(room->session),
			 "Mcp-Session-Id: %s", r->session);
		list[n++] = room->session;
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
	} else if (header_value(line, "www-authenticate", &value)) {
		buf_adds(&x->challenge, x->challenge.len ? ", " : "");
		buf_addstr(&x->challenge, value);
	} else if (header_value(line, "mcp-session-id", &value) &&
		   value.len <= REMOTE_SESSION && str_is_visible(value)) {
		pthread_mutex_lock(&r->lock);
		if (!r->version[0]) { /* of the answer to initialize */
			memcpy(r->session, value.ptr, value.len);
			r->session[value.len] = '\0';
		}
		pthread_mutex_unlock(&r->lock);
	}
}

/* ---- messages ---- */

/* Attack: a server that answers with one more request each time, or asks for
 * thousands of such answers and takes none; all of them are within stop. */
void remote_send_aside(struct mcp_remote *r, struct str body,
		       const struct stop *stop)
{
	struct http_response res = { 0 };
	struct error ignored = { 0 };
	struct mcp_exchange x;

	remote_exchange_init(&x, r, "POST");
	x.body = body;
	(void)remote_send(&x, &res, stop, &ignored);
	http_response_release(&res);
	remote_exchange_release(&x);
}

static bool is_answer(const struct mcp_exchange *x, const cJSON *message)
{
	const cJSON *id = json_get(message, "id");

	return x->id && cJSON_IsNumber(id) &&
	       id->valuedouble == (double)x->id && !json_get(message, "method");
}

/* Passes a notification about ask's progress on; false: it is none. */
static bool pass_progress(struct jsonrpc_ask *ask, const cJSON *message)
{
	const cJSON *params = json_get(message, "params");
	const cJSON *token = json_get(params, JSONRPC_PROGRESS);
	struct error ignored = { 0 };

	if (!ask || !ask->notify || json_get(message, "id") ||
	    !cJSON_IsNumber(token) ||
	    token->valuedouble != (double)ask->progress)
		return false;
	(void)ask->notify(ask->arg, json_string(message, "method", ""), params,
			  &ignored);
	return true;
}

void remote_consume(struct mcp_exchange *x, cJSON *message)
{
	struct buf reply = BUF_INIT(1 << 16);
	struct stop soon;

	if (!x->answer && is_answer(x, message)) {
		x->answer = message;
		return;
	}
	if (cJSON_IsString(json_get(message, "method")) &&
	    !pass_progress(x->ask, message))
		mcp_link_receive(&x->remote->link, message, &reply);
	if (reply.len) {
		soon = stop_within(x->stop, REMOTE_ASIDE_MS);
		remote_send_aside(x->remote, buf_str(&reply), &soon);
	}
	buf_release(&reply);
	cJSON_Delete(message);
}

/* One message, or an array of them (version 2025-03-26). */
static void consume_text(struct mcp_exchange *x, struct str text)
{
	cJSON *tree = x->reads && str_is_utf8(text) ? json_parse_repaired(text)
						    : NULL;
	cJSON *item;

	if (!cJSON_IsArray(tree)) {
		if (tree)
			remote_consume(x, tree);
		return;
	}
	while ((item = cJSON_DetachItemFromArray(tree, 0)))
		remote_consume(x, item);
	cJSON_Delete(tree);
}

static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	struct mcp_exchange *x = arg;

	if (x->event)
		return x->event(x, event, data, err);
	if (data.len)
		consume_text(x, data);
	return 0;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct mcp_exchange *x = arg;

	if (x->lasts && clock_ms() > x->since + MINUTE_MS) {
		x->since = clock_ms();
		x->received = 0;
	}
	x->received += chunk.len;
	if (x->received > REMOTE_STREAM_MAX)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %d MiB",
				 REMOTE_STREAM_MAX >> 20);
	if (x->streams)
		return sse_feed(&x->sse, chunk, on_event, x, err);
	buf_addstr(&x->text, chunk);
	return buf_check(&x->text, "the answer", err);
}

/* A stream may stay open behind the answer. */
static int64_t on_idle(void *arg)
{
	const struct mcp_exchange *x = arg;

	return x->answer || (x->ends_with_head && x->streams) ? 0 : -1;
}

/* ---- sending ---- */

/* The token of a login, for no other address than that of the login: see
 * struct mcp_link_setup. */
static int add_token(struct mcp_exchange *x, bool renew, struct buf *out,
		     const struct stop *stop, struct error *err)
{
	const struct mcp_link_setup *s = &x->remote->link.setup;
	const struct mcp_token_ask ask = { s->entry, x->remote->url, renew };
	int rc;

	if (x->remote->has_key || !s->token)
		return 0;
	buf_adds(out, "Authorization: Bearer ");
	rc = s->token(s->token_arg, &ask, out, stop, err);
	x->authorized = rc > 0;
	if (rc <= 0)
		buf_clear(out);
	return rc;
}

static const char *address_of(const struct mcp_exchange *x)
{
	const struct mcp_remote *r = x->remote;

	return x->body.len && r->post_url ? r->post_url : r->url;
}

static int send_once(struct mcp_exchange *x, bool renew,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	struct mcp_remote *r = x->remote;
	const char **headers =
		xcalloc(r->n_headers + EXTRA_HEADERS, sizeof(*headers));
	struct header_room *room = xcalloc(1, sizeof(*room));
	const struct http_request req = {
		.method = x->method,
		.url = address_of(x),
		.headers = headers,
		.segments = &x->body,
		.n_segments = x->body.len ? 1 : 0,
		.data = on_data,
		.idle = on_idle,
		.header = on_header,
		.arg = x,
		.flags = HTTP_PROBE,
	};
	int rc;

	room->token = BUF_INIT(TOKEN_MAX);
	rc = add_token(x, renew, &room->token, stop, err);
	if (rc >= 0) {
		add_headers(x, headers, room);
		rc = http_do(r->link.setup.http, &req, res, stop, err);
	}
	buf_wipe(&room->token);
	free(room);
	free(headers);
	return rc;
}

int remote_send(struct mcp_exchange *x, struct http_response *res,
		const struct stop *stop, struct error *err)
{
	int rc = send_once(x, false, res, stop, err);

	if (rc == 0 && res->status == 401 && x->authorized) {
		buf_clear(&x->challenge);
		http_response_release(res);
		*res = (struct http_response){ 0 };
		rc = send_once(x, true, res, stop, err);
	}
	if (rc == 0 && res->status < 300 && !x->streams && x->text.len)
		consume_text(x, buf_str(&x->text));
	return rc;
}

/* Attack: a scope that a shell reads as a command, in a line that users copy.
 * RFC 6749 allows more than these characters, servers use no others. */
static bool is_plain_scope(struct str scope)
{
	static const char marks[] = " :/._~+*=,@-";

	for (size_t i = 0; i < scope.len; i++) {
		unsigned char c = (unsigned char)scope.ptr[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && (!c || !strchr(marks, c)))
			return false;
	}
	return scope.len > 0;
}

/* Around a server's name in a command for the user to copy. */
static const char *quote_for(const char *name)
{
	return strchr(name, ' ') ? "\"" : "";
}

/* The login does not reach that far ("Scope Challenge Handling" of the
 * specification): what to ask for instead. */
static void forbidden(const struct mcp_exchange *x, struct error *err)
{
	const struct mcp_link_setup *s = &x->remote->link.setup;
	const struct mcp_token_ask ask = { s->entry, x->remote->url, false };
	const char *quote = quote_for(s->entry->name);
	struct str challenge = buf_str(&x->challenge);
	char *code = auth_challenge_value(challenge, "error");
	char *more = auth_challenge_value(challenge, "scope");
	struct buf scope = BUF_INIT(SCOPE_MAX);

	if (code && more && !strcmp(code, "insufficient_scope"))
		s->scope(s->token_arg, &ask, str_of(more), &scope);
	if (scope.over || !is_plain_scope(buf_str(&scope)))
		buf_clear(&scope);
	error_set(err, ERR_AUTH,
		  "HTTP 403: its login %s not reach that far: dcode mcp login "
		  "%s%s%s --scope %s%s%s",
		  scope.len ? "does" : "may", quote, s->entry->name, quote,
		  scope.len ? "\"" : "SCOPE", scope.len ? scope.ptr : "",
		  scope.len ? "\"" : "");
	buf_release(&scope);
	free(code);
	free(more);
}

/* A refusal has to be read as HTTP's, unless its body is JSON-RPC's. */
int remote_status_error(struct mcp_exchange *x, const struct http_response *res,
			struct error *err)
{
	struct mcp_remote *r = x->remote;
	const char *name = r->link.setup.entry->name;
	const char *quote = quote_for(name);

	pthread_mutex_lock(&r->lock);
	if (res->status == STATUS_GONE && r->session[0])
		r->lost = true;
	pthread_mutex_unlock(&r->lock);
	(void)http_status_error(res, NULL, err);
	if (res->status == 401 && r->has_key)
		return error_hint(err, "The server refuses the Authorization "
				       "header of its entry.");
	if (res->status == 401)
		return error_set(err, ERR_AUTH,
				 "HTTP 401: %s: dcode mcp login %s%s%s",
				 x->authorized ? "the login has expired"
					       : "it requires a login",
				 quote, name, quote);
	if ((res->status == 404 || res->status == 405) && !r->version[0] &&
	    r->link.setup.entry->kind == MCP_HTTP)
		error_hint(err, "A server from before 2025 needs \"type\": "
				"\"sse\" in its entry.");
	if (res->status == 403 && x->authorized)
		forbidden(x, err);
	return -1;
}
