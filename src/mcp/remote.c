/* remote.c - a server behind an address: streamable HTTP, and the older SSE. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "mcp/challenge.h"
#include "mcp/expand.h"
#include "mcp/remote_impl.h"
#include "net/loopback.h"

enum {
	CANCEL_MS = 500, /* where the user waits for nothing else */
	RETRY_MS = 1000, /* before an answer is asked for again, */
	RETRIES_MAX = 8, /* and how often without a new event */
};

/* ---- requests ---- */

/*
 * Asks for the rest of an answer whose stream has ended before it, as long as
 * the events have ids ("Resumability and Redelivery" of the specification).
 */
static int resume(struct mcp_exchange *x, struct http_response *res,
		  const struct stop *stop, struct error *err)
{
	char last[SSE_ID] = "";
	int rc = 0;

	for (int fruitless = 0;
	     rc == 0 && !x->answer && x->sse.id[0] && fruitless < RETRIES_MAX;
	     fruitless++) {
		int64_t wait = x->sse.retry_ms < 0 ? RETRY_MS : x->sse.retry_ms;

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

static int exchange(struct mcp_exchange *x, struct jsonrpc_ask *ask,
		    cJSON **result, const struct stop *stop, struct error *err)
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
			rc = resume(x, &res, stop, err);
	}
	if (rc == 0 && res.status >= 300) {
		rc = remote_status_error(x, &res, err);
		/* Of a stream that went on: the request itself was taken, so
		 * that it must not be sent again. */
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

static int request(struct mcp_link *l, struct jsonrpc_ask *ask, cJSON **result,
		   const struct stop *stop, struct error *err)
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
	remote_exchange_release(&x);
	return rc;
}

static void notify(struct mcp_link *l, const char *method, struct str params)
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

static void said(struct mcp_link *l, struct buf *out)
{
	(void)l;
	(void)out;
}

static void leave(struct mcp_link *l)
{
	cancel_trigger(&remote_of(l)->cancel);
}

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

static const struct mcp_link_ops ops = {
	.request = request,
	.notify = notify,
	.set_version = set_version,
	.listen = begin_listening,
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
				 "its \"url\" is not an http or https address");
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
