/* rpc.c - many calls at once over one WebSocket to a Deno sandbox. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/deno/rpc_impl.h"

enum {
	PING_MS = 2000,   /* transport.js of @deno/sandbox 0.13.2 */
	SEND_MS = 60000,  /* for one message, then the socket is dead */
	ROOM_MS = 5,      /* between looks at output that waits */
	CLOSINGS_MAX = 6, /* about 3 s, with the pauses between them */
};

struct deno_message { /* to send */
	struct deno_message *next;
	struct buf text;
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

void deno_rpc_queue(struct deno_rpc *r, struct buf *text)
{
	struct deno_message *m;

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
static struct deno_message *unqueue(struct deno_rpc *r)
{
	struct deno_message *m = r->first;

	if (!m)
		return NULL;
	r->first = m->next;
	if (!r->first)
		r->last = &r->first;
	r->queued -= m->text.len;
	return m;
}

static void free_message(struct deno_message *m)
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
	struct deno_message *m = NULL;
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
static int hear(struct deno_rpc *r, struct buf *text, int64_t ping,
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
				 "the server has closed the connection (%d)",
				 ws_code(r->ws));
	rc = deno_frame_parse(&f, buf_str(text), DENO_MESSAGE_MAX, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0)
		rc = deno_calls_take(&r->calls, &f, err);
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
			  "the server closes each connection (%d)", code);
}

/* The socket is dead, and with it all calls. */
static void end_all(struct deno_rpc *r, struct error *why)
{
	if (why->code == ERR_LIMIT)
		why->code = ERR_PROTOCOL;
	if (why->code != ERR_PROTOCOL && why->code != ERR_REMOTE)
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
	note_close(r, ws_code(r->ws), &why);
	ws_free(r->ws);
	r->ws = NULL;
	buf_release(&text);
	end_all(r, &why);
	return NULL;
}

void deno_rpc_end(struct deno_rpc *r)
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

	deno_rpc_end(r);
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
	deno_rpc_end(r);
	if (r->pipes) {
		cancel_release(&r->wake);
		cancel_release(&r->quit);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}
