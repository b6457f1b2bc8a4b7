/* deno_rpc.c - many calls at once over one WebSocket to a Deno sandbox. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno_rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	PING_MS = 2000,      /* transport.js of @deno/sandbox 0.13.2 */
	SEND_MS = 60000,     /* for one message, then the socket is dead */
	QUEUE_MAX = 1 << 20, /* bytes; then a source is not asked for more */
	PIECE = 48 << 10,    /* of a stream that we send */
	ROOM_MS = 5,         /* between looks at a full queue */
};

/* As the SDK's error objects are (schema.js). */
#define NO_MORE(name)                                                          \
	",\"" name "\":{\"constructorName\":\"Error\",\"name\":\"Error\","     \
	"\"message\":\"no more\",\"code\":null,\"stack\":\"\",\"cause\":null," \
	"\"errors\":null,\"suppressed\":null,\"error\":null}"

struct message { /* to send */
	struct message *next;
	struct buf text;
};

struct deno_rpc {
	pthread_mutex_t lock; /* of all below but ws */
	struct ws *ws;        /* the thread's, while it runs */
	pthread_t thread;
	bool started; /* to be joined */
	bool alive;
	bool leaving;
	bool pipes;         /* wake and quit are there */
	struct cancel wake; /* there is something to send, or to leave */
	struct cancel quit; /* to leave */
	struct message *first;
	struct message **last;
	size_t queued; /* bytes */
	struct deno_calls calls;
	int64_t next_id;
	int64_t next_stream;
};

struct deno_rpc *deno_rpc_new(void)
{
	struct deno_rpc *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	r->last = &r->first;
	return r;
}

bool deno_rpc_alive(struct deno_rpc *r)
{
	bool alive;

	pthread_mutex_lock(&r->lock);
	alive = r->alive;
	pthread_mutex_unlock(&r->lock);
	return alive;
}

/* With the lock. Takes the text over. */
static void queue(struct deno_rpc *r, struct buf *text)
{
	struct message *m;

	if (!r->alive) {
		buf_release(text);
		return;
	}
	m = xcalloc(1, sizeof(*m));
	m->text = *text;
	*text = (struct buf){ 0 };
	*r->last = m;
	r->last = &m->next;
	r->queued += m->text.len;
	cancel_trigger(&r->wake);
}

/* With the lock. */
static struct message *unqueue(struct deno_rpc *r)
{
	struct message *m = r->first;

	if (!m)
		return NULL;
	r->first = m->next;
	if (!r->first)
		r->last = &r->first;
	r->queued -= m->text.len;
	return m;
}

static void free_message(struct message *m)
{
	buf_release(&m->text);
	free(m);
}

static int send_text(struct deno_rpc *r, struct str text, struct error *err)
{
	struct stop base = stop_on(&r->quit);
	struct stop stop = stop_within(&base, SEND_MS);

	return ws_send(r->ws, WS_TEXT, text, &stop, err);
}

/* 1 when a message was sent, 0 when there was none, -1. */
static int send_next(struct deno_rpc *r, struct error *err)
{
	struct message *m = NULL;
	bool leaving;
	int rc;

	pthread_mutex_lock(&r->lock);
	leaving = r->leaving;
	if (!leaving)
		m = unqueue(r);
	if (!m)
		cancel_reset(&r->wake);
	pthread_mutex_unlock(&r->lock);
	if (leaving)
		return error_set(err, ERR_CANCELLED, "ended");
	if (!m)
		return 0;
	rc = send_text(r, buf_str(&m->text), err);
	free_message(m);
	return rc < 0 ? -1 : 1;
}

/* Output has come faster than it is taken: 1 after a short wait. */
static int hold(struct deno_rpc *r)
{
	const struct stop stop = { &r->wake, INT64_MAX };
	struct error ignored = { 0 };
	bool full;

	pthread_mutex_lock(&r->lock);
	full = deno_calls_full(&r->calls);
	pthread_mutex_unlock(&r->lock);
	if (full)
		(void)stop_sleep(&stop, ROOM_MS, &ignored);
	return full;
}

/* Waits for a message, until the next ping is due or there is work. */
static int hear(struct deno_rpc *r, struct buf *text, int64_t ping,
		struct error *err)
{
	const struct stop stop = { &r->wake, ping };
	struct deno_frame f = { 0 };
	struct error why = { 0 };
	enum ws_kind kind;
	int rc = ws_receive(r->ws, text, &kind, &stop, &why);

	if (rc < 0 && (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT))
		return 0;
	if (rc < 0) {
		*err = why;
		return -1;
	}
	if (rc == 0)
		return error_set(err, ERR_NETWORK,
				 "the server has closed the connection (%d)",
				 ws_code(r->ws));
	rc = deno_frame_parse(&f, buf_str(text), DENO_MESSAGE_MAX, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0)
		rc = deno_calls_take(&r->calls, &f, err);
	pthread_mutex_unlock(&r->lock);
	deno_frame_release(&f);
	return rc;
}

/* The socket is dead, and with it all calls. */
static void end_all(struct deno_rpc *r, struct error *why)
{
	if (why->code == ERR_LIMIT)
		why->code = ERR_PROTOCOL;
	if (why->code != ERR_PROTOCOL)
		why->code = ERR_NETWORK;
	pthread_mutex_lock(&r->lock);
	r->alive = false;
	deno_calls_fail(&r->calls, why);
	while (r->first)
		free_message(unqueue(r));
	pthread_mutex_unlock(&r->lock);
}

static void *run(void *arg)
{
	struct deno_rpc *r = arg;
	struct buf text = BUF_INIT(DENO_MESSAGE_MAX);
	int64_t ping = clock_ms() + PING_MS;
	struct error why = { 0 };
	int rc = 0;

	while (rc >= 0) {
		rc = send_next(r, &why);
		if (rc == 0 && clock_ms() >= ping) {
			ping = clock_ms() + PING_MS;
			rc = send_text(r, STR("ping"), &why);
		}
		if (rc == 0 && !hold(r))
			rc = hear(r, &text, ping, &why);
	}
	ws_free(r->ws);
	r->ws = NULL;
	buf_release(&text);
	end_all(r, &why);
	return NULL;
}

static void end_thread(struct deno_rpc *r)
{
	if (!r->started)
		return;
	pthread_mutex_lock(&r->lock);
	r->leaving = true;
	cancel_trigger(&r->wake);
	cancel_trigger(&r->quit);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->started = false;
}

static int open_pipes(struct deno_rpc *r, struct error *err)
{
	if (r->pipes)
		return 0;
	if (cancel_init(&r->wake, err) < 0)
		return -1;
	if (cancel_init(&r->quit, err) < 0) {
		cancel_release(&r->wake);
		return -1;
	}
	r->pipes = true;
	return 0;
}

int deno_rpc_adopt(struct deno_rpc *r, struct ws *ws, struct error *err)
{
	sigset_t all;
	sigset_t old;
	int rc;

	end_thread(r);
	if (open_pipes(r, err) < 0) {
		ws_free(ws);
		return -1;
	}
	pthread_mutex_lock(&r->lock);
	cancel_reset(&r->wake);
	cancel_reset(&r->quit);
	r->leaving = false;
	r->ws = ws;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	r->started = r->alive = rc == 0;
	pthread_mutex_unlock(&r->lock);
	if (rc == 0)
		return 0;
	ws_free(ws);
	errno = rc;
	return error_errno(err, "cannot start a thread");
}

void deno_rpc_free(struct deno_rpc *r)
{
	if (!r)
		return;
	end_thread(r);
	if (r->pipes) {
		cancel_release(&r->wake);
		cancel_release(&r->quit);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* The calls. */

static void notify(struct deno_rpc *r, const char *event, int64_t stream,
		   const char *more)
{
	struct buf text = BUF_INIT(DENO_MESSAGE_MAX);
	char *method = xasprintf("$sandbox.stream.%s", event);
	char *params = xasprintf("{\"streamId\":%" PRId64 "%s}", stream, more);

	deno_frame_ask(&text, -1, method, str_of(params));
	queue(r, &text);
	free(params);
	free(method);
}

/* The request is on its way, or the error says why not. */
static struct deno_waiting *begin(struct deno_rpc *r, const struct deno_call *c,
				  struct error *err)
{
	struct buf params = BUF_INIT(DENO_MESSAGE_MAX);
	struct buf text = BUF_INIT(DENO_MESSAGE_MAX);
	struct deno_waiting *w = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->alive)
		w = deno_calls_add(&r->calls, r->next_id++, err);
	else
		error_set(err, ERR_NETWORK, "the connection has ended");
	if (w) {
		w->spawn = c->out;
		w->out = c->out;
		w->live = c->sink;
		buf_addstr(&params, c->params);
		if (c->source) {
			w->sending = r->next_stream++;
			notify(r, "start", w->sending, "");
			buf_addf(&params, ",\"contentStreamId\":%" PRId64 "}",
				 w->sending);
		}
		deno_frame_ask(&text, w->id, c->method, buf_str(&params));
		if (text.over || params.over) {
			error_set(err, ERR_LIMIT, "the request is too large");
			w->done = true; /* it was not sent */
			deno_calls_leave(&r->calls, w);
			w = NULL;
		} else {
			queue(r, &text);
		}
	}
	pthread_mutex_unlock(&r->lock);
	buf_release(&text);
	buf_release(&params);
	return w;
}

/* Waits until the queue has room. 1: nobody wants more. */
static int wait_room(struct deno_rpc *r, const struct deno_waiting *w,
		     const struct stop *stop, struct error *err)
{
	for (;;) {
		bool enough;
		bool over;

		pthread_mutex_lock(&r->lock);
		enough = r->queued < QUEUE_MAX;
		over = w->done || w->cancelled;
		pthread_mutex_unlock(&r->lock);
		if (over)
			return 1;
		if (enough)
			return stop_check(stop, err);
		if (stop_sleep(stop, ROOM_MS, err) < 0)
			return -1;
	}
}

static int send_stream(struct deno_rpc *r, const struct deno_call *c,
		       const struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	char *room = xcalloc(1, PIECE);
	int64_t n = 1;
	int rc = 0;

	while (rc == 0 && n > 0) {
		struct buf more = BUF_INIT(2 * PIECE);

		rc = wait_room(r, w, stop, err);
		if (rc == 0)
			n = c->source(c->arg, room, PIECE, err);
		if (rc == 0 && n < 0)
			rc = -1;
		if (rc == 0 && n > 0) {
			buf_adds(&more, ",\"data\":\"");
			deno_frame_base64(&more,
					  (struct str){ room, (size_t)n });
			buf_addc(&more, '"');
		}
		pthread_mutex_lock(&r->lock);
		if (rc < 0)
			notify(r, "error", w->sending, NO_MORE("error"));
		else if (rc == 0)
			notify(r, n ? "enqueue" : "end", w->sending,
			       n ? more.ptr : "");
		pthread_mutex_unlock(&r->lock);
		buf_release(&more);
	}
	free(room);
	return rc < 0 ? -1 : 0;
}

static int wait_ready(struct deno_waiting *w, int64_t idle_ms,
		      const struct stop *stop, struct error *err)
{
	struct stop within = idle_ms ? stop_within(stop, idle_ms) : *stop;
	struct pollfd fds[] = {
		{ .fd = w->ready.fd[0], .events = POLLIN },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};

	for (;;) {
		int n = poll(fds, 2, stop_poll_ms(&within, -1));

		if (n > 0 && fds[0].revents)
			return 0;
		if (stop_check(stop, err) < 0)
			return -1;
		if (clock_ms() >= within.deadline)
			return error_set(err, ERR_NETWORK, "no answer for %d s",
					 (int)(idle_ms / 1000));
		if (n < 0 && errno != EINTR)
			return error_errno(err, "poll");
	}
}

/* Gives what has come to the sink, until the call is done. */
static int drain(struct deno_rpc *r, const struct deno_call *c,
		 struct deno_waiting *w, const struct stop *stop,
		 struct error *err)
{
	struct buf chunk = BUF_INIT(c->out->max);
	bool done = false;
	int rc = 0;

	while (rc == 0 && !done) {
		struct buf taken;

		rc = wait_ready(w, c->idle_ms, stop, err);
		pthread_mutex_lock(&r->lock);
		taken = *c->out;
		*c->out = chunk;
		done = w->done;
		if (!done)
			cancel_reset(&w->ready);
		pthread_mutex_unlock(&r->lock);
		chunk = taken;
		if (rc == 0 && chunk.len)
			rc = c->sink(c->arg, buf_str(&chunk), err);
		if (rc == 0)
			rc = buf_check(&chunk, "the output", err);
		buf_clear(&chunk);
	}
	buf_release(&chunk);
	return rc;
}

int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err)
{
	struct deno_waiting *w = begin(r, c, err);
	int rc = 0;

	c->ok = NULL;
	c->code[0] = '\0';
	if (!w)
		return -1;
	if (c->source)
		rc = send_stream(r, c, w, stop, err);
	if (rc == 0)
		rc = c->sink ? drain(r, c, w, stop, err)
			     : wait_ready(w, c->idle_ms, stop, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0) {
		c->ok = w->ok;
		w->ok = NULL;
		snprintf(c->code, sizeof(c->code), "%s", w->code);
		if (w->why.code) {
			*err = w->why;
			rc = -1;
		}
	} else if (w->stream >= 0 && !w->done)
		notify(r, "cancel", w->stream, NO_MORE("reason"));
	deno_calls_leave(&r->calls, w);
	pthread_mutex_unlock(&r->lock);
	return rc == 0 && c->out ? buf_check(c->out, "the answer", err) : rc;
}
