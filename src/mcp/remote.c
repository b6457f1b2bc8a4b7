/* remote.c - an MCP server over HTTP: requests, answers and its event
 * stream. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at mcp_remote_open(), at the end. A request is one HTTP
 * exchange; its answer is JSON or an event stream (Streamable HTTP). With the
 * old transport ("sse") answers come over a separate stream, which a thread
 * reads. With both transports this thread also reads the messages that the
 * server sends without a request. The thread and the callers share struct
 * mcp_remote, under its lock.
 * Source: modelcontextprotocol.io/specification/2025-11-25/basic/transports,
 * read 2026-11-23. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "mcp/entry.h"
#include "mcp/link.h"
#include "net/events.h"
#include "net/http.h"
#include "net/resolve.h"
#include "web/url.h"

enum {
	REMOTE_SESSION = 1024, /* bytes of a session id */
	REMOTE_STREAM_MAX = 64 << 20,
	/* limit for a message sent while a request runs, and for ending the
	 * session */
	REMOTE_ASIDE_MS = 3000,
	REMOTE_WAIT_MIN_MS = 100,   /* shortest wait before a stream is
				     * reopened */
	REMOTE_WAIT_MAX_MS = 30000, /* longest wait before a stream is
				     * reopened */
};

struct mcp_waiter { /* a request whose answer comes over the stream */
	int64_t id;
	int event; /* eventfd: answered, or the stream has ended */
	cJSON *answer;
	struct mcp_waiter *next;
};

struct mcp_remote {
	struct mcp_link link;
	char *url;
	char **headers; /* the entry's, expanded; NULL-terminated */
	size_t n_headers;
	bool has_key;         /* one of the headers is Authorization */
	pthread_mutex_t lock; /* guards all fields below */
	int64_t last_id;
	char session[REMOTE_SESSION + 1]; /* "" without a session */
	char version[32];                 /* "" until initialize is answered */
	bool lost; /* the server no longer knows the session */
	/* The fields below are for the stream of messages that the server sends
	 * without a request. With the old transport all messages come on it. */
	struct cancel cancel;
	pthread_t thread;
	bool listens;
	bool stream_over;
	struct error why; /* why the stream ended, if stream_over */
	/* old transport: the address for requests, announced on the stream */
	char *post_url;
	int named; /* eventfd: post_url is set, or the stream has ended */
	struct mcp_waiter *waiters;
};

struct mcp_exchange { /* one HTTP request */
	struct mcp_remote *remote;
	const char *method; /* HTTP method */
	struct str body;
	int64_t id; /* the request's id; 0: no answer is expected */
	struct jsonrpc_ask *ask; /* the request, or NULL */
	/* of the request; messages sent in reply to the server obey it too */
	const struct stop *stop;
	const char *resume; /* id of the last event received, or NULL */
	/* Handles an event. NULL: treat each event's data as a message. */
	int (*event)(struct mcp_exchange *x, struct str event, struct str data,
		     struct error *err);
	bool ends_with_head; /* do not read the body of an answer that is an
			      * event stream */
	bool reads;   /* the answer contains JSON-RPC messages: parse them */
	bool streams; /* the answer is an event stream */
	/* lasts for the whole session: the limit on received bytes is then per
	 * minute */
	bool lasts;
	int64_t since;   /* clock_ms() at the start of the current minute */
	bool authorized; /* a token of the user's login was sent */
	struct sse sse;
	struct buf text;      /* body of an answer that is not a stream */
	struct buf challenge; /* values of WWW-Authenticate */
	size_t received;
	cJSON *answer;
};

static inline struct mcp_remote *remote_of(struct mcp_link *l)
{
	return (struct mcp_remote *)l;
}

static int remote_send(struct mcp_exchange *x, struct http_response *res,
		       const struct stop *stop, struct error *err);

enum {
	EXTRA_HEADERS = 8,
	TOKEN_MAX = 16 << 10,    /* bytes of a header with a token */
	CHALLENGE_MAX = 8 << 10, /* bytes of WWW-Authenticate */
	MINUTE_MS = 60000,
	SCOPE_MAX = 1024,  /* bytes of a login's scopes */
	STATUS_GONE = 404, /* HTTP status for an unknown session */
};

struct header_room {
	char version[64];
	char session[REMOTE_SESSION + 32];
	char resume[SSE_ID + 32];
	struct buf token;
};

static void remote_exchange_init(struct mcp_exchange *x, struct mcp_remote *r,
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

static void remote_exchange_release(struct mcp_exchange *x)
{
	sse_release(&x->sse);
	buf_wipe(&x->text);
	buf_release(&x->challenge);
	cJSON_Delete(x->answer);
}

static int64_t remote_next_id(struct mcp_remote *r)
{
	int64_t id;

	pthread_mutex_lock(&r->lock);
	id = ++r->last_id;
	pthread_mutex_unlock(&r->lock);
	return id;
}

/* Appends the request as JSON-RPC. */
static int remote_add_request(struct buf *out, int64_t id,
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

/* Fills list with the entry's headers and then the protocol's own. */
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

/* Records the answer's type, its WWW-Authenticate and the session id. */
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
		if (!r->version[0]) { /* this answers initialize */
			memcpy(r->session, value.ptr, value.len);
			r->session[value.len] = '\0';
		}
		pthread_mutex_unlock(&r->lock);
	}
}

/* ---- messages ---- */

/* Sends a message while a request runs, until stop at the latest. Attack: a
 * server answers each such message with a new request, or sends thousands of
 * requests and reads no reply. So the time is limited. */
static void remote_send_aside(struct mcp_remote *r, struct str body,
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

/* Passes a notification about the progress of `ask` to ask->notify. False if
 * the message is something else. */
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

/* Handles one message: stores the answer, passes on notifications and replies
 * to requests of the server. Takes ownership of message. */
static void remote_consume(struct mcp_exchange *x, cJSON *message)
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

/* Handles one message, or an array of them (protocol version 2025-03-26). */
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

/* Receives a chunk of the answer: part of an event stream, or of a body. */
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

/* Returns how many ms to wait for more data; -1: the usual limits. Returns 0
 * once the answer is there, because the server may keep the stream open. */
static int64_t on_idle(void *arg)
{
	const struct mcp_exchange *x = arg;

	return x->answer || (x->ends_with_head && x->streams) ? 0 : -1;
}

/* ---- sending ---- */

/* Appends the Authorization header with the login's token. The token is sent
 * only to the address that the user logged in to: see struct mcp_link_setup. */
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

/* Sends the HTTP request once. renew: get a new token first. */
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
		.body = x->body,
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

/* Sends the request, with the login's token if there is one. If the server
 * refuses the token (401), renews it and sends the request once more. Returns 0
 * whatever the HTTP status. */
static int remote_send(struct mcp_exchange *x, struct http_response *res,
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

/* True if the scope has only characters that need no quoting. Attack: the
 * server names a scope that a shell would run, and the user copies the command
 * in the message. RFC 6749 allows more characters, but servers use only
 * these. */
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

/* Returns the quotes that a server's name needs in a command that the user
 * copies. */
static const char *quote_for(const char *name)
{
	return strchr(name, ' ') ? "\"" : "";
}

/* Makes the error for a login whose scopes do not suffice ("Scope Challenge
 * Handling" of the specification): it tells the user which login command to
 * run. */
static void explain_forbidden(const struct mcp_exchange *x, struct error *err)
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
		  "HTTP 403: the login %s a permission (scope). Log in again: "
		  "dcode mcp login %s%s%s --scope %s%s%s",
		  scope.len ? "lacks" : "may lack", quote, s->entry->name,
		  quote, scope.len ? "\"" : "SCOPE", scope.len ? scope.ptr : "",
		  scope.len ? "\"" : "");
	buf_release(&scope);
	free(code);
	free(more);
}

/* Makes an error of an HTTP refusal. Its message has the status and the body's
 * message, or says what the user can do. */
static int remote_status_error(struct mcp_exchange *x,
			       const struct http_response *res,
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
		explain_forbidden(x, err);
	return -1;
}

enum {
	STACK = 256 << 10,
	FIRST_WAIT_MS = 1000, /* before the first attempt to reopen the
			       * stream */
	FAILURES_MAX = 10,    /* consecutive failures before the thread gives
			       * up */
};

static bool is_old(const struct mcp_remote *r)
{
	return r->link.setup.entry->kind == MCP_SSE;
}

static void signal_event(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

/* ---- the old transport (2024-11-05, "HTTP with SSE") ---- */

/* Sets the address for requests that the stream announced. Attack: the server
 * announces another host, which would receive the entry's headers or the
 * login's token. So scheme, host and port must be those of the entry's url. */
static int set_endpoint(struct mcp_remote *r, struct str data,
			struct error *err)
{
	struct buf joined = BUF_INIT(URL_BYTES);
	struct web_url own;
	struct web_url named;
	int rc = web_url_parse(&own, str_of(r->url), err);

	if (rc == 0 && !web_url_join(&own, data, &joined))
		rc = error_set(err, ERR_LIMIT, "its endpoint is too long");
	if (rc == 0)
		rc = web_url_parse(&named, buf_str(&joined), err);
	if (rc == 0 && (own.tls != named.tls || own.port != named.port ||
			strcmp(own.host, named.host) != 0))
		rc = error_set(err, ERR_PROTOCOL,
			       "refused: its stream sends requests to another "
			       "server, %.100s",
			       named.host);
	if (rc == 0) {
		pthread_mutex_lock(&r->lock);
		if (!r->post_url)
			r->post_url = xstrdup(named.text);
		pthread_mutex_unlock(&r->lock);
		signal_event(r->named);
	}
	buf_release(&joined);
	return rc;
}

/* Passes an answer to the request that waits for it and takes ownership of it.
 * False if no request waits for it. */
static bool deliver_answer(struct mcp_remote *r, cJSON *message)
{
	const cJSON *id = json_get(message, "id");
	bool given = false;

	if (!cJSON_IsNumber(id) || json_get(message, "method"))
		return false;
	pthread_mutex_lock(&r->lock);
	for (struct mcp_waiter *w = r->waiters; w && !given; w = w->next)
		if (id->valuedouble == (double)w->id && !w->answer) {
			w->answer = message;
			signal_event(w->event);
			given = true;
		}
	pthread_mutex_unlock(&r->lock);
	return given;
}

static int on_old_event(struct mcp_exchange *x, struct str event,
			struct str data, struct error *err)
{
	cJSON *message;

	if (str_is(event, "endpoint"))
		return set_endpoint(x->remote, data, err);
	message = str_is_utf8(data) ? json_parse_repaired(data) : NULL;
	if (message && !deliver_answer(x->remote, message))
		remote_consume(x, message);
	return 0;
}

static void end_waits(struct mcp_remote *r, const struct error *why)
{
	pthread_mutex_lock(&r->lock);
	r->stream_over = true;
	r->why = *why;
	for (struct mcp_waiter *w = r->waiters; w; w = w->next)
		signal_event(w->event);
	pthread_mutex_unlock(&r->lock);
	if (r->named >= 0)
		signal_event(r->named);
}

/* ---- the thread ---- */

/* Reads one event stream until it closes. False: do not reconnect. */
static bool read_stream(struct mcp_remote *r, struct mcp_exchange *x,
			struct error *err)
{
	struct http_response res = { 0 };
	struct stop stop = stop_on(&r->cancel);
	int rc;

	x->stop = &stop;
	x->streams = false;
	rc = remote_send(x, &res, &stop, err);
	if (rc == 0 && res.status >= 300)
		rc = remote_status_error(x, &res, err);
	else if (rc == 0 && !x->streams)
		rc = error_set(err, ERR_PROTOCOL,
			       "its answer is not an event stream");
	else if (rc == 0)
		error_set(err, ERR_NETWORK, "%s has closed its stream",
			  r->link.name);
	http_response_release(&res);
	x->stop = NULL;
	return (rc == 0 || err->code == ERR_NETWORK) && !is_old(r);
}

/* Thread: reads the event stream and reconnects when it closes. Ends when
 * cancelled, when the server refuses, or after FAILURES_MAX attempts in a row
 * without an event. With the old transport it does not reconnect. */
static void *run_listen(void *arg)
{
	struct mcp_remote *r = arg;
	struct stop stop = stop_on(&r->cancel);
	struct error err = { 0 };
	struct mcp_exchange x;
	char last[SSE_ID] = "";
	int64_t wait = FIRST_WAIT_MS;
	int failures = 0;

	remote_exchange_init(&x, r, "GET");
	x.reads = true;
	x.lasts = true;
	x.event = is_old(r) ? on_old_event : NULL;
	while (read_stream(r, &x, &err) && failures++ < FAILURES_MAX) {
		/* an event with a new id was received */
		if (strcmp(last, x.sse.id) != 0) {
			failures = 0;
			wait = FIRST_WAIT_MS;
		}
		memcpy(last, x.sse.id, sizeof(last));
		x.resume = last[0] ? last : NULL;
		if (x.sse.retry_ms > wait)
			wait = x.sse.retry_ms;
		if (wait > REMOTE_WAIT_MAX_MS)
			wait = REMOTE_WAIT_MAX_MS;
		if (stop_sleep(&stop, wait, &err) < 0)
			break;
		wait *= 2;
		sse_cut(&x.sse);
	}
	end_waits(r, &err);
	remote_exchange_release(&x);
	return NULL;
}

/* Starts the thread that reads the messages that the server sends without a
 * request. */
static void remote_listen(struct mcp_remote *r)
{
	pthread_attr_t attr;
	sigset_t all;
	sigset_t old;

	if (r->listens)
		return;
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r->listens = pthread_create(&r->thread, &attr, run_listen, r) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

static void remote_stop_listening(struct mcp_remote *r)
{
	cancel_trigger(&r->cancel);
	if (r->listens)
		(void)pthread_join(r->thread, NULL);
	r->listens = false;
}

/* ---- requests of the old transport ---- */

/* -1 with err if the old transport's stream has ended. */
static int check_stream(struct mcp_remote *r, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (r->stream_over) {
		*err = r->why;
		rc = -1;
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int send_message(struct mcp_exchange *x, const struct stop *stop,
			struct error *err)
{
	struct http_response res = { 0 };
	int rc = remote_send(x, &res, stop, err);

	if (rc == 0 && res.status >= 300)
		rc = remote_status_error(x, &res, err);
	http_response_release(&res);
	return rc;
}

/* Removes a request that has stopped waiting for its answer. */
static void drop_waiter(struct mcp_remote *r, struct mcp_waiter *w)
{
	struct mcp_waiter **at = &r->waiters;

	pthread_mutex_lock(&r->lock);
	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	pthread_mutex_unlock(&r->lock);
	close(w->event);
}

/* Sends a request of the old transport ("sse") and waits for its answer on the
 * stream. */
static int remote_ask_by_stream(struct mcp_exchange *x, const struct stop *stop,
				struct error *err)
{
	struct mcp_remote *r = x->remote;
	struct mcp_waiter w = {
		.id = x->id, .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
	};
	int rc;

	if (w.event < 0)
		return error_errno(err, "creating an event");
	remote_listen(r);
	pthread_mutex_lock(&r->lock);
	w.next = r->waiters;
	r->waiters = &w;
	pthread_mutex_unlock(&r->lock);
	rc = stop_await(stop, r->named, err);
	if (rc == 0)
		rc = check_stream(r, err);
	if (rc == 0)
		rc = send_message(x, stop, err);
	if (rc == 0)
		rc = stop_await(stop, w.event, err);
	if (rc == 0 && !w.answer)
		rc = check_stream(r, err);
	drop_waiter(r, &w);
	if (rc == 0)
		x->answer = w.answer;
	else
		cJSON_Delete(w.answer);
	return rc;
}

enum {
	/* limit for sending the cancellation: the user is waiting */
	CANCEL_MS = 500,
	RETRY_MS = 1000, /* wait before an answer's stream is resumed */
	RETRIES_MAX = 8, /* resumptions without a new event before giving up */
};

/* ---- requests ---- */

/* If the stream ended before the answer came, asks the server to resume it
 * after the last event. Repeats that as long as the events have ids
 * ("Resumability and Redelivery" of the specification). */
static int read_rest(struct mcp_exchange *x, struct http_response *res,
		     const struct stop *stop, struct error *err)
{
	char last[SSE_ID] = "";
	int rc = 0;

	for (int fruitless = 0;
	     rc == 0 && !x->answer && x->sse.id[0] && fruitless < RETRIES_MAX;
	     fruitless++) {
		int64_t wait = x->sse.retry_ms < 0 ? RETRY_MS : x->sse.retry_ms;

		/* A new id means that events arrived. Only tries without events
		 * count. */
		if (strcmp(last, x->sse.id) != 0)
			fruitless = 0;
		memcpy(last, x->sse.id, sizeof(last));
		if (wait < REMOTE_WAIT_MIN_MS)
			wait = REMOTE_WAIT_MIN_MS;
		if (wait > REMOTE_WAIT_MAX_MS)
			wait = REMOTE_WAIT_MAX_MS;
		rc = stop_sleep(stop, wait, err);
		if (rc < 0)
			break;
		x->method = "GET";
		x->body = (struct str){ 0 };
		x->resume = last;
		sse_cut(&x->sse);
		http_response_release(res);
		*res = (struct http_response){ 0 };
		rc = remote_send(x, res, stop, err);
		if (rc == 0 && res->status >= 300)
			break;
		if (rc < 0 && err->code == ERR_NETWORK)
			rc = 0;
	}
	return rc;
}

/* Sends the request and sets *result (owned) from its answer. */
static int exchange_request(struct mcp_exchange *x, struct jsonrpc_ask *ask,
			    cJSON **result, const struct stop *stop,
			    struct error *err)
{
	struct mcp_remote *r = x->remote;
	struct http_response res = { 0 };
	struct buf body = BUF_INIT(MCP_MESSAGE);
	int rc = remote_add_request(&body, x->id, ask, err);

	x->body = buf_str(&body);
	if (rc == 0 && r->link.setup.entry->kind == MCP_SSE) {
		rc = remote_ask_by_stream(x, stop, err);
	} else if (rc == 0) {
		rc = remote_send(x, &res, stop, err);
		if ((rc == 0 && res.status < 300) ||
		    (rc < 0 && err->code == ERR_NETWORK && x->sse.id[0]))
			rc = read_rest(x, &res, stop, err);
	}
	if (rc == 0 && res.status >= 300) {
		rc = remote_status_error(x, &res, err);
		/* This error is about resuming the stream, not about the
		 * request, which the server has. Without the status the caller
		 * does not send the request again. */
		if (strcmp(x->method, "POST") != 0)
			err->http_status = 0;
	} else if (rc == 0 && !x->answer)
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer to %s has no result (HTTP %d)",
			       r->link.name, res.status);
	else if (rc == 0)
		rc = jsonrpc_result(&r->link.peer, x->answer, ask, result, err);
	http_response_release(&res);
	buf_wipe(&body);
	return rc;
}

static void cancel_request(struct mcp_remote *r, int64_t id)
{
	struct buf line = BUF_INIT(1 << 10);
	struct stop soon = stop_cleanup(CANCEL_MS);

	mcp_link_cancel(&line, id);
	remote_send_aside(r, buf_str(&line), &soon);
	buf_release(&line);
}

/* Sends a request and waits for its answer. Implements mcp_link_ops.request. */
static int send_request(struct mcp_link *l, struct jsonrpc_ask *ask,
			cJSON **result, const struct stop *stop,
			struct error *err)
{
	struct mcp_remote *r = remote_of(l);
	struct stop limit = stop_within(stop, ask->timeout_ms);
	struct error ignored = { 0 };
	struct mcp_exchange x;
	int rc;

	remote_exchange_init(&x, r, "POST");
	x.id = remote_next_id(r);
	x.ask = ask;
	x.stop = &limit;
	x.reads = true;
	ask->error_code = JSONRPC_NO_ERROR;
	*result = NULL;
	rc = exchange_request(&x, ask, result, &limit, err);
	if (rc < 0 && err->code == ERR_TIMEOUT &&
	    stop_check(stop, &ignored) == 0)
		error_set(err, ERR_TIMEOUT, "%s gave no answer within %lld s",
			  l->name, (long long)(ask->timeout_ms + 999) / 1000);
	if (rc < 0 && !ask->lasting &&
	    (err->code == ERR_TIMEOUT || err->code == ERR_CANCELLED))
		cancel_request(r, x.id);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "%s", ask->what);
	remote_exchange_release(&x);
	return rc;
}

static void send_notification(struct mcp_link *l, const char *method,
			      struct str params)
{
	struct buf body = BUF_INIT(1 << 16);
	struct stop soon = stop_cleanup(REMOTE_ASIDE_MS);

	buf_addf(&body,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	buf_addstr(&body, params);
	buf_addc(&body, '}');
	remote_send_aside(remote_of(l), buf_str(&body), &soon);
	buf_release(&body);
}

static void set_version(struct mcp_link *l, const char *version)
{
	struct mcp_remote *r = remote_of(l);

	pthread_mutex_lock(&r->lock);
	snprintf(r->version, sizeof(r->version), "%s", version);
	pthread_mutex_unlock(&r->lock);
}

static void begin_listening(struct mcp_link *l)
{
	remote_listen(remote_of(l));
}

static bool is_broken(struct mcp_link *l)
{
	struct mcp_remote *r = remote_of(l);
	bool broken;

	pthread_mutex_lock(&r->lock);
	broken = r->lost || (r->stream_over && l->setup.entry->kind == MCP_SSE);
	pthread_mutex_unlock(&r->lock);
	return broken;
}

static void write_said(struct mcp_link *l, struct buf *out)
{
	(void)l;
	(void)out;
}

static void cancel_link(struct mcp_link *l)
{
	cancel_trigger(&remote_of(l)->cancel);
}

/* Tells the server that the session is over and ignores its answer. */
static void end_session(struct mcp_remote *r)
{
	struct http_response res = { 0 };
	struct stop stop = stop_cleanup(REMOTE_ASIDE_MS);
	struct error ignored = { 0 };
	struct mcp_exchange x;

	remote_exchange_init(&x, r, "DELETE");
	(void)remote_send(&x, &res, &stop, &ignored);
	http_response_release(&res);
	remote_exchange_release(&x);
}

static void free_remote(struct mcp_remote *r)
{
	for (size_t i = 0; i < r->n_headers; i++)
		mem_wipe(r->headers[i]);
	free(r->headers);
	mem_wipe(r->url);
	mem_wipe(r->post_url);
	cancel_release(&r->cancel);
	if (r->named >= 0)
		close(r->named);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void close_remote(struct mcp_link *l)
{
	struct mcp_remote *r = remote_of(l);

	remote_stop_listening(r);
	if (r->session[0] && !r->lost)
		end_session(r);
	free_remote(r);
}

/* Refuses plain HTTP to another machine if the entry has headers, since they
 * contain keys. */
static int check_url(const struct mcp_remote *r, struct error *err)
{
	struct str url = str_of(r->url);

	if ((!str_starts(url, "https://") && !str_starts(url, "http://")) ||
	    !str_is_visible(url))
		return error_set(err, ERR_CONFIG,
				 "its \"url\" is not an http or https address");
	if (!r->n_headers || str_starts(url, "https://") || loopback_url(url))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "refusing to send its headers over plain http: use "
			 "https");
}

/* Expands ${NAME} in the entry's url and headers into r. */
static int expand_all(struct mcp_remote *r, struct error *err)
{
	const struct mcp_entry *e = r->link.setup.entry;
	const struct settings *set = r->link.setup.settings;
	struct buf value = BUF_INIT(MCP_VALUE_MAX);
	int rc = mcp_expand(e, set, e->url, &value, err);

	r->url = buf_detach(&value);
	for (size_t i = 0; rc == 0 && i < e->n_headers; i++) {
		const char *name = e->headers[i].name;

		value = BUF_INIT(MCP_VALUE_MAX);
		buf_addf(&value, "%s: ", name);
		rc = mcp_expand(e, set, e->headers[i].value, &value, err);
		if (rc == 0 && str_find(buf_str(&value), '\n') < value.len)
			rc = error_set(err, ERR_CONFIG,
				       "the value of its header %.64s contains "
				       "a line break",
				       name);
		r->has_key |= str_is_nocase(str_of(name), "authorization");
		r->headers[r->n_headers++] = buf_detach(&value);
	}
	return rc;
}

static const struct mcp_link_ops ops = {
	.request = send_request,
	.notify = send_notification,
	.set_version = set_version,
	.listen = begin_listening,
	.is_broken = is_broken,
	.said = write_said,
	.leave = cancel_link,
	.close = close_remote,
};

struct mcp_link *mcp_remote_open(const struct mcp_link_setup *setup,
				 struct error *err)
{
	struct mcp_remote *r = xcalloc(1, sizeof(*r));
	int rc;

	mcp_link_init(&r->link, setup);
	r->link.ops = &ops;
	pthread_mutex_init(&r->lock, NULL);
	r->named = -1;
	r->headers = xcalloc(setup->entry->n_headers + 1, sizeof(*r->headers));
	rc = cancel_init(&r->cancel, err);
	if (rc == 0 && setup->entry->kind == MCP_SSE) {
		r->named = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		rc = r->named < 0 ? error_errno(err, "creating an event") : 0;
	}
	if (rc == 0 && expand_all(r, err) == 0 && check_url(r, err) == 0)
		return &r->link;
	free_remote(r);
	return NULL;
}

int mcp_challenge_get(const struct mcp_link_setup *setup,
		      struct mcp_challenge *out, const struct stop *stop,
		      struct error *err)
{
	struct jsonrpc_ask ask = { .method = "initialize",
				   .params = str_of(MCP_INITIALIZE),
				   .what = "initialize" };
	struct mcp_link *l = mcp_remote_open(setup, err);
	struct buf body = BUF_INIT(1 << 12);
	struct http_response res = { 0 };
	struct mcp_exchange x;
	int rc;

	if (!l)
		return -1;
	remote_exchange_init(&x, remote_of(l),
			     setup->entry->kind == MCP_SSE ? "GET" : "POST");
	x.ends_with_head = true;
	rc = remote_add_request(&body, 1, &ask, err);
	if (setup->entry->kind == MCP_HTTP)
		x.body = buf_str(&body);
	if (rc == 0)
		rc = remote_send(&x, &res, stop, err);
	if (rc == 0) {
		out->url = xstrdup(remote_of(l)->url);
		out->status = res.status;
		out->has_key = remote_of(l)->has_key;
		out->header = buf_detach(&x.challenge);
	}
	http_response_release(&res);
	remote_exchange_release(&x);
	buf_release(&body);
	l->ops->close(l);
	return rc;
}

void mcp_challenge_release(struct mcp_challenge *c)
{
	free(c->url);
	free(c->header);
	*c = (struct mcp_challenge){ 0 };
}
