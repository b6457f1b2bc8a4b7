/* rpc.c - many calls at once over one WebSocket to a Deno sandbox. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	PING_MS = 2000,   /* transport.js of @deno/sandbox 0.13.2 */
	SEND_MS = 60000,  /* for one message, then the socket is dead */
	ROOM_MS = 5,      /* between looks at a full queue or output */
	CLOSINGS_MAX = 6, /* about 3 s, with the pauses between them */
	PARAMS_MAX = DENO_MESSAGE_MAX - 4096,
	QUEUE_MAX = 1 << 20, /* bytes; then a source is not asked for more */
	PIECE = 48 << 10,    /* of a stream that we send */
	QUICK_MS = 3000,     /* a process that ends sooner is not waited for */
};

struct deno_message { /* to send */
	struct deno_message *next;
	struct buf text;
};

struct deno_rpc {
	pthread_mutex_t lock; /* of all below but ws */
	struct ws *ws;        /* the thread's, while it runs */
	pthread_t thread;
	bool started; /* to be joined */
	bool alive;
	bool ending;
	struct cancel wake; /* there is something to send, or to leave */
	struct cancel quit; /* to leave */
	struct deno_message *first;
	struct deno_message **last;
	size_t queued; /* bytes */
	struct deno_calls calls;
	int close_code; /* of connections that ended with no message on them: */
	int closings;   /* so many in turn, all with this code */
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

/* Queues one message; id -1: a notification. With the lock. */
static void queue_message(struct deno_rpc *r, int64_t id, const char *method,
			  struct str params)
{
	struct deno_message *m = r->alive ? xcalloc(1, sizeof(*m)) : NULL;

	if (!m)
		return;
	m->text.max = DENO_MESSAGE_MAX;
	deno_frame_ask(&m->text, id, method, params);
	*r->last = m;
	r->last = &m->next;
	r->queued += m->text.len;
	cancel_trigger(&r->wake);
}

/* Takes the oldest message out, for the caller; false when there is none. With
 * the lock. */
static bool unqueue_message(struct deno_rpc *r, struct buf *text)
{
	struct deno_message *m = r->first;

	if (!m)
		return false;
	*text = m->text;
	r->first = m->next;
	if (!r->first)
		r->last = &r->first;
	r->queued -= text->len;
	free(m);
	return true;
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
	struct buf text = { 0 };
	bool ending;
	bool found;
	int rc;

	pthread_mutex_lock(&r->lock);
	ending = r->ending;
	found = !ending && unqueue_message(r, &text);
	if (!found)
		cancel_reset(&r->wake);
	pthread_mutex_unlock(&r->lock);
	if (ending)
		return error_set(err, ERR_CANCELLED, "ended");
	if (!found)
		return 0;
	rc = send_text(r, buf_str(&text), err);
	buf_release(&text);
	return rc < 0 ? -1 : 1;
}

/* Output comes faster than it is taken: 1 after a short wait. */
static int pause_when_full(struct deno_rpc *r)
{
	const struct stop stop = stop_on(&r->wake);
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
static int receive_message(struct deno_rpc *r, struct buf *text, int64_t ping,
			   struct error *err)
{
	const struct stop stop = { .cancel = &r->wake, .deadline = ping };
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
				 "the server closed the connection (%d)",
				 ws_code(r->ws));
	rc = deno_frame_parse(&f, buf_str(text), DENO_MESSAGE_MAX, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0)
		rc = deno_calls_apply(&r->calls, &f, err);
	if (rc == 0)
		r->closings = 0;
	pthread_mutex_unlock(&r->lock);
	deno_frame_release(&f);
	return rc;
}

/* A server that closes one connection after the other in the same way, and
 * says nothing on any of them, does so for a reason that stays. */
static void note_close(struct deno_rpc *r, int code, struct error *why)
{
	if (!code || code == WS_CODE_ABNORMAL)
		return;
	pthread_mutex_lock(&r->lock);
	r->closings = r->close_code == code ? r->closings + 1 : 1;
	r->close_code = code;
	pthread_mutex_unlock(&r->lock);
	if (r->closings >= CLOSINGS_MAX)
		error_set(why, ERR_REMOTE,
			  "the server closes every connection (%d)", code);
}

/* The socket is dead, and with it all calls. */
static void fail_all(struct deno_rpc *r, struct error *why)
{
	struct buf text;

	if (why->code == ERR_LIMIT)
		why->code = ERR_PROTOCOL;
	if (why->code != ERR_PROTOCOL && why->code != ERR_REMOTE)
		why->code = ERR_NETWORK;
	pthread_mutex_lock(&r->lock);
	r->alive = false;
	deno_calls_fail(&r->calls, why);
	while (unqueue_message(r, &text))
		buf_release(&text);
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
		if (rc == 0 && !pause_when_full(r))
			rc = receive_message(r, &text, ping, &why);
	}
	note_close(r, ws_code(r->ws), &why);
	ws_free(r->ws);
	r->ws = NULL;
	buf_release(&text);
	fail_all(r, &why);
	return NULL;
}

void deno_rpc_end(struct deno_rpc *r)
{
	if (!r->started)
		return;
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	cancel_trigger(&r->wake);
	cancel_trigger(&r->quit);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->started = false;
	cancel_release(&r->wake);
	cancel_release(&r->quit);
}

/* Starts the thread, with all signals blocked; 0 or an errno. */
static int start_thread(struct deno_rpc *r)
{
	sigset_t all;
	sigset_t old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int deno_rpc_set_socket(struct deno_rpc *r, struct ws *ws, struct error *err)
{
	int rc;

	deno_rpc_end(r);
	rc = cancel_init(&r->wake, err);
	if (rc == 0 && cancel_init(&r->quit, err) < 0) {
		cancel_release(&r->wake);
		rc = -1;
	}
	if (rc == 0) {
		pthread_mutex_lock(&r->lock);
		r->ending = false;
		r->ws = ws;
		errno = start_thread(r);
		r->started = r->alive = errno == 0;
		pthread_mutex_unlock(&r->lock);
		if (r->started)
			return 0;
		rc = error_errno(err, "cannot start a thread");
		cancel_release(&r->wake);
		cancel_release(&r->quit);
	}
	ws_free(ws);
	return rc;
}

void deno_rpc_free(struct deno_rpc *r)
{
	deno_rpc_end(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* As the SDK's error objects are (schema.js). */
#define NO_MORE(name)                                                          \
	",\"" name "\":{\"constructorName\":\"Error\",\"name\":\"Error\","     \
	"\"message\":\"no more\",\"code\":null,\"stack\":\"\",\"cause\":null," \
	"\"errors\":null,\"suppressed\":null,\"error\":null}"

/* About our stream. With the lock. */
static void notify(struct deno_rpc *r, const char *event, int64_t stream,
		   const char *more)
{
	char *method = xasprintf("$sandbox.stream.%s", event);
	char *params = xasprintf("{\"streamId\":%" PRId64 "%s}", stream, more);

	queue_message(r, -1, method, str_of(params));
	free(params);
	free(method);
}

/* Queues the request; NULL when err says why it was not. */
static struct deno_waiting *begin(struct deno_rpc *r, const struct deno_call *c,
				  struct error *err)
{
	struct buf params = BUF_INIT(DENO_MESSAGE_MAX);
	struct deno_waiting *w = NULL;

	buf_addstr(&params, c->params);
	pthread_mutex_lock(&r->lock);
	if (!r->alive)
		error_set(err, ERR_NETWORK, "the connection is closed");
	else if (params.len > PARAMS_MAX)
		error_set(err, ERR_LIMIT, "the request is too large");
	else
		w = deno_calls_add(&r->calls, r->next_id++, err);
	if (w) {
		w->spawn = c->out;
		w->out = c->out;
		w->live = c->sink;
		if (c->source) {
			w->sending = r->next_stream++;
			notify(r, "start", w->sending, "");
			buf_addf(&params, ",\"contentStreamId\":%" PRId64 "}",
				 w->sending);
		}
		queue_message(r, w->id, c->method, buf_str(&params));
	}
	pthread_mutex_unlock(&r->lock);
	buf_release(&params);
	return w;
}

/* Waits until the queue has room. 1: the server wants no more. */
static int wait_queue(struct deno_rpc *r, const struct deno_waiting *w,
		      const struct stop *stop, struct error *err)
{
	for (;;) {
		bool room;
		bool over;

		pthread_mutex_lock(&r->lock);
		room = r->queued < QUEUE_MAX;
		over = w->done || w->cancelled;
		pthread_mutex_unlock(&r->lock);
		if (over)
			return 1;
		if (room)
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

		rc = wait_queue(r, w, stop, err);
		if (rc == 0)
			n = c->source(c->arg, room, PIECE, err);
		if (rc == 0 && n > 0) {
			buf_adds(&more, ",\"data\":\"");
			json_base64(&more, (struct str){ room, (size_t)n });
			buf_addc(&more, '"');
		}
		if (n < 0)
			rc = -1;
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

/* Gives the output to the sink as it comes, until the call is done. */
static int drain(struct deno_rpc *r, const struct deno_call *c,
		 struct deno_waiting *w, const struct stop *stop,
		 struct error *err)
{
	struct buf chunk = BUF_INIT(c->out->max);
	bool done = false;
	int rc = 0;

	while (rc == 0 && !done) {
		struct buf taken;

		rc = deno_calls_wait(w, c->idle_ms, stop, err);
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

/* The output of a process that goes on is waited for as the SDK does it, with
 * a "processWait" whose answer does not matter. */
static void send_process_wait(struct deno_rpc *r, const struct deno_waiting *w)
{
	struct error ignored = { 0 };
	struct deno_waiting *asked = NULL;
	char params[64];

	pthread_mutex_lock(&r->lock);
	if (r->alive && !w->done && w->stream >= 0 && w->pid >= 0)
		asked = deno_calls_add(&r->calls, r->next_id++, &ignored);
	if (asked) {
		snprintf(params, sizeof(params), "{\"pid\":%" PRId64 "}",
			 w->pid);
		queue_message(r, asked->id, "processWait", str_of(params));
		deno_calls_leave(&r->calls, asked);
	}
	pthread_mutex_unlock(&r->lock);
}

static int wait_output(struct deno_rpc *r, const struct deno_call *c,
		       struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	struct error why = { 0 };
	int rc = deno_calls_wait(w, QUICK_MS, stop, &why);

	if (rc < 0 && why.code == ERR_NETWORK) {
		send_process_wait(r, w);
		return deno_calls_wait(w, c->idle_ms, stop, err);
	}
	if (rc < 0)
		*err = why;
	return rc;
}

int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err)
{
	struct deno_waiting *w = begin(r, c, err);
	int rc = 0;

	c->code[0] = '\0';
	if (!w)
		return -1;
	if (c->source)
		rc = send_stream(r, c, w, stop, err);
	if (rc == 0 && c->sink)
		rc = drain(r, c, w, stop, err);
	else if (rc == 0 && c->out)
		rc = wait_output(r, c, w, stop, err);
	else if (rc == 0)
		rc = deno_calls_wait(w, c->idle_ms, stop, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0) {
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
