/* remote_stream.c - the stream by which a server says things by itself. */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "mcp/remote_impl.h"
#include "web/url.h"

enum {
	STACK = 256 << 10,
	FIRST_WAIT_MS = 1000, /* before the stream is asked for again */
	FAILURES_MAX = 10,    /* one after the other, then it is left */
};

static bool is_old(const struct mcp_remote *r)
{
	return r->link.setup.entry->kind == MCP_SSE;
}

static void poke(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

/* ---- the old transport (2024-11-05, "HTTP with SSE") ---- */

/* Attack: the stream names an address of somebody else, which then gets the
 * entry's headers, or the token of its login. */
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
		poke(r->named);
	}
	buf_release(&joined);
	return rc;
}

/* Takes message over. False: it is nobody's answer. */
static bool give_answer(struct mcp_remote *r, cJSON *message)
{
	const cJSON *id = json_get(message, "id");
	bool given = false;

	if (!cJSON_IsNumber(id) || json_get(message, "method"))
		return false;
	pthread_mutex_lock(&r->lock);
	for (struct mcp_waiter *w = r->waiters; w && !given; w = w->next)
		if (id->valuedouble == (double)w->id && !w->answer) {
			w->answer = message;
			poke(w->event);
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
	if (message && !give_answer(x->remote, message))
		remote_consume(x, message);
	return 0;
}

static void end_waits(struct mcp_remote *r, const struct error *why)
{
	pthread_mutex_lock(&r->lock);
	r->stream_over = true;
	r->why = *why;
	for (struct mcp_waiter *w = r->waiters; w; w = w->next)
		poke(w->event);
	pthread_mutex_unlock(&r->lock);
	if (r->named >= 0)
		poke(r->named);
}

/* ---- the thread ---- */

/* One connection, to its end; false: there is no use in another one. */
static bool follow(struct mcp_remote *r, struct mcp_exchange *x,
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
	return (rc == 0 || err->code == ERR_NETWORK) && !is_old(r);
}

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
	while (follow(r, &x, &err) && failures++ < FAILURES_MAX) {
		if (strcmp(last, x.sse.id) != 0) { /* it has said something */
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

void remote_listen(struct mcp_remote *r)
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

void remote_stop_listening(struct mcp_remote *r)
{
	cancel_trigger(&r->cancel);
	if (r->listens)
		(void)pthread_join(r->thread, NULL);
	r->listens = false;
}

/* ---- requests of the old transport ---- */

static int wait_for(int event, const struct stop *stop, struct error *err)
{
	struct pollfd set[] = { { .fd = event, .events = POLLIN },
				{ .fd = stop_fd(stop), .events = POLLIN } };

	while (!set[0].revents) {
		if (stop_check(stop, err) < 0)
			return -1;
		(void)poll(set, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

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

int remote_ask_by_stream(struct mcp_exchange *x, const struct stop *stop,
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
	rc = wait_for(r->named, stop, err);
	if (rc == 0)
		rc = check_stream(r, err);
	if (rc == 0)
		rc = send_message(x, stop, err);
	if (rc == 0)
		rc = wait_for(w.event, stop, err);
	if (rc == 0 && !w.answer)
		rc = check_stream(r, err);
	drop_waiter(r, &w);
	if (rc == 0)
		x->answer = w.answer;
	else
		cJSON_Delete(w.answer);
	return rc;
}
