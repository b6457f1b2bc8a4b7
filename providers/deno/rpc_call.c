/* rpc_call.c - one request over the socket, and the wait for its end. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/deno/rpc_impl.h"

enum {
	QUEUE_MAX = 1 << 20, /* bytes; then a source is not asked for more */
	PIECE = 48 << 10,    /* of a stream that we send */
	ROOM_MS = 5,         /* between looks at a full queue */
	QUICK_MS = 3000,     /* a process whose end we do not ask for */
};

/* As the SDK's error objects are (schema.js). */
#define NO_MORE(name)                                                          \
	",\"" name "\":{\"constructorName\":\"Error\",\"name\":\"Error\","     \
	"\"message\":\"no more\",\"code\":null,\"stack\":\"\",\"cause\":null," \
	"\"errors\":null,\"suppressed\":null,\"error\":null}"

static void notify(struct deno_rpc *r, const char *event, int64_t stream,
		   const char *more)
{
	struct buf text = BUF_INIT(DENO_MESSAGE_MAX);
	char *method = xasprintf("$sandbox.stream.%s", event);
	char *params = xasprintf("{\"streamId\":%" PRId64 "%s}", stream, more);

	deno_frame_ask(&text, -1, method, str_of(params));
	deno_rpc_queue(r, &text);
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
			deno_rpc_queue(r, &text);
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

/* The output of a process that goes on is waited for as the SDK does it, with
 * a "processWait" whose answer does not matter. */
static void ask_for_end(struct deno_rpc *r, const struct deno_waiting *w)
{
	struct buf text = BUF_INIT(DENO_MESSAGE_MAX);
	struct error ignored = { 0 };
	struct deno_waiting *asked = NULL;
	char params[64];

	pthread_mutex_lock(&r->lock);
	if (r->alive && !w->done && w->stream >= 0 && w->pid >= 0)
		asked = deno_calls_add(&r->calls, r->next_id++, &ignored);
	if (asked) {
		snprintf(params, sizeof(params), "{\"pid\":%" PRId64 "}",
			 w->pid);
		deno_frame_ask(&text, asked->id, "processWait", str_of(params));
		deno_rpc_queue(r, &text);
		deno_calls_leave(&r->calls, asked);
	}
	pthread_mutex_unlock(&r->lock);
}

static int wait_output(struct deno_rpc *r, const struct deno_call *c,
		       struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	struct error why = { 0 };

	if (wait_ready(w, QUICK_MS, stop, &why) == 0)
		return 0;
	if (why.code != ERR_NETWORK) {
		*err = why;
		return -1;
	}
	ask_for_end(r, w);
	return wait_ready(w, c->idle_ms, stop, err);
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
	if (rc == 0 && c->sink)
		rc = drain(r, c, w, stop, err);
	else if (rc == 0 && c->out)
		rc = wait_output(r, c, w, stop, err);
	else if (rc == 0)
		rc = wait_ready(w, c->idle_ms, stop, err);
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
