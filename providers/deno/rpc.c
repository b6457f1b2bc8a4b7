/* rpc.c - many calls at once over one WebSocket to a Deno sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * Deno's JSON-RPC, from bottom to top: parse_frame() parses a message of the
 * server; apply_frame() finds the waiting request that the message belongs to,
 * without socket or lock; serve_socket() is the thread that owns the socket.
 * Begin with deno_rpc_call().
 *
 * The output of a process is a numbered stream. The server's reply to "spawn"
 * contains the number, but may arrive after the first data. So while such a
 * reply is due, data of unknown streams is stored (the "early" streams).
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "providers/deno/deno.h"

enum {
	/* streams with data whose number no reply has contained yet */
	EARLY = 64,
	EARLY_MAX = 8 << 20, /* bytes of one early stream */
	WORDS_MAX = 300,
	PING_MS = 2000,  /* transport.js of @deno/sandbox 0.13.2 */
	SEND_MS = 60000, /* for one message; then the socket is closed */
	ROOM_MS = 5,     /* pause between checks of a full queue or output */
	/* see count_close(); about 3 s with the pauses between them */
	CLOSINGS_MAX = 6,
	PARAMS_MAX = DENO_MESSAGE_MAX - 4096,
	/* bytes; while more is queued, no source is read */
	QUEUE_MAX = 1 << 20,
	PIECE = 48 << 10, /* bytes of a source's data in one message */
	QUICK_MS = 3000, /* ms in which most processes end: see wait_output() */
};

enum deno_kind {
	DENO_OTHER, /* unknown kind, ignored */
	DENO_REPLY, /* reply to the request id: ok, or code and message */
	DENO_DATA,  /* data of the server's stream with number id */
	DENO_END,   /* end of that stream; failed: it was aborted */
	/* the server no longer reads dcode's stream with number id */
	DENO_CANCEL,
};

/* One message of the server, as in @deno/sandbox 0.13.2 (proto.js, schema.js;
 * read 2026-11). */
struct deno_frame {
	cJSON *tree; /* owned; the pointers below point into it */
	enum deno_kind kind;
	int64_t id;
	const cJSON *ok; /* the result; NULL: the request failed */
	bool failed;
	const char *code; /* "ENOENT", "NotFound" or "" */
	const char *message;
	struct buf data; /* owned: the stream's bytes */
};

static int refuse_message(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL, "unexpected server response: %s",
			 what);
}

static int decode_base64(struct buf *out, const char *text, size_t max,
			 struct error *err)
{
	size_t len = strlen(text);
	size_t most = len / 4 * 3 + 3;
	size_t got = 0;
	char *room;

	out->max = most;
	room = buf_room(out, most);
	buf_added(out, 0);
	if (sodium_base642bin((unsigned char *)room, most, text, len, NULL,
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL))
		return refuse_message(err, "not base64");
	buf_added(out, got);
	if (got > max)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %zu bytes", max);
	return 0;
}

/* Reads {"constructorName":"NotFound","message":M,"code":"ENOENT",...}. */
static void parse_failure(struct deno_frame *f, const cJSON *error)
{
	const char *name = json_string(error, "constructorName", "");

	f->failed = true;
	f->code = json_string(error, "code", name);
	f->message = json_string(error, "message", "");
}

static int parse_reply(struct deno_frame *f, struct error *err)
{
	const cJSON *result = json_get(f->tree, "result");
	const cJSON *fault = json_get(f->tree, "error");

	f->kind = DENO_REPLY;
	f->id = json_int(f->tree, "id", -1);
	if (f->id < 0)
		return refuse_message(
			err, fault ? json_string(fault, "message", "a refusal")
				   : "a reply without an id");
	if (!result && cJSON_IsObject(fault)) {
		parse_failure(f, fault);
		return 0;
	}
	f->ok = json_get(result, "ok");
	if (!f->ok && cJSON_IsObject(json_get(result, "error")))
		parse_failure(f, json_get(result, "error"));
	else if (!f->ok)
		return refuse_message(err, "a reply without a result");
	return 0;
}

/* Parses a notification about a stream. event is the part of the method's name
 * after "$sandbox.stream.". */
static int parse_stream(struct deno_frame *f, const char *event, size_t max,
			struct error *err)
{
	const cJSON *params = json_get(f->tree, "params");
	const char *data = json_string(params, "data", NULL);

	f->id = json_int(params, "streamId", -1);
	if (f->id < 0)
		return refuse_message(err, "a stream without an id");
	if (strcmp(event, "enqueue") == 0) {
		f->kind = DENO_DATA;
		return data ? decode_base64(&f->data, data, max, err)
			    : refuse_message(err, "a stream without data");
	}
	if (strcmp(event, "end") == 0 || strcmp(event, "error") == 0) {
		f->kind = DENO_END;
		f->failed = event[1] == 'r';
	} else if (strcmp(event, "cancel") == 0) {
		f->kind = DENO_CANCEL;
	}
	return 0;
}

/* Parses one message of the server, which may contain any bytes. The text
 * "pong" becomes DENO_OTHER. ERR_PROTOCOL if it is not a message of this
 * protocol, ERR_LIMIT if it contains more data than max bytes. The caller
 * releases f even on error. */
static int parse_frame(struct deno_frame *f, struct str text, size_t max,
		       struct error *err)
{
	static const char stream[] = "$sandbox.stream.";
	const char *method;

	*f = (struct deno_frame){ .id = -1, .code = "", .message = "" };
	if (str_is(text, "pong"))
		return 0;
	f->tree = json_parse(text);
	if (!cJSON_IsObject(f->tree))
		return refuse_message(err, "not a message");
	method = json_string(f->tree, "method", NULL);
	if (!method)
		return parse_reply(f, err);
	if (strncmp(method, stream, sizeof(stream) - 1) == 0)
		return parse_stream(f, method + sizeof(stream) - 1, max, err);
	return 0;
}

static void release_frame(struct deno_frame *f)
{
	cJSON_Delete(f->tree);
	buf_release(&f->data);
	*f = (struct deno_frame){ 0 };
}

/* Appends {"jsonrpc":"2.0","id":N,"method":M,"params":P}. id -1 makes a
 * notification. params is JSON. */
static void add_request(struct buf *out, int64_t id, const char *method,
			struct str params)
{
	buf_adds(out, "{\"jsonrpc\":\"2.0\",");
	if (id >= 0)
		buf_addf(out, "\"id\":%" PRId64 ",", id);
	json_member(out, "method", str_of(method));
	buf_adds(out, ",\"params\":");
	buf_addstr(out, params);
	buf_addc(out, '}');
}

struct deno_waiting { /* a request that waits for its answer; on the heap */
	struct deno_waiting *next;
	int64_t id;
	/* done when the process's output ends, not when the reply comes */
	bool spawn;
	struct buf *out; /* borrowed: receives that output; NULL: dropped */
	bool live;       /* output triggers ready, too */
	/* number of the stream that dcode sends for it; -1: none */
	int64_t sending;
	/* the fields below are set by the thread that owns the socket */
	bool cancelled; /* the server no longer reads the stream sending */
	bool done;
	cJSON *ok; /* owned: the result */
	char code[DENO_CODE];
	struct error why;    /* why the request failed */
	struct cancel ready; /* triggered when done */
	/* number of the process's output stream; -1: not known yet */
	int64_t stream;
	int64_t pid; /* id of that process */
	bool abandoned;
};

struct deno_stream {
	struct deno_stream *next;
	int64_t id;
	struct buf data;
	bool ended;
	bool failed;
};

/* All waiting requests. Initialise with { 0 }. The caller locks. */
struct deno_calls {
	struct deno_waiting *list;
	struct deno_stream *early; /* early streams, see the top of the file */
};

static struct deno_waiting *add_call(struct deno_calls *c, int64_t id,
				     struct error *err)
{
	struct deno_waiting *w = xcalloc(1, sizeof(*w));

	if (cancel_init(&w->ready, err) < 0) {
		free(w);
		return NULL;
	}
	w->id = id;
	w->sending = -1;
	w->stream = -1;
	w->next = c->list;
	c->list = w;
	return w;
}

static void remove_call(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_waiting **at = &c->list;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	cancel_release(&w->ready);
	cJSON_Delete(w->ok);
	free(w);
}

static void finish_call(struct deno_calls *c, struct deno_waiting *w)
{
	w->done = true;
	if (w->abandoned)
		remove_call(c, w);
	else
		cancel_trigger(&w->ready);
}

/* Call when the caller no longer needs w. It is freed now, or when its reply
 * comes. */
static void release_call(struct deno_calls *c, struct deno_waiting *w)
{
	w->out = NULL;
	if (w->done || w->stream >= 0)
		remove_call(c, w);
	else
		w->abandoned = true;
}

static void free_stream(struct deno_stream *s)
{
	buf_release(&s->data);
	free(s);
}

/* True while the reply to a "spawn" is due. Only then data of unknown streams
 * is stored. */
static bool is_naming(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->spawn && w->stream < 0 && !w->done)
			return true;
	return false;
}

static void free_early_streams(struct deno_calls *c)
{
	while (c->early && !is_naming(c)) {
		struct deno_stream *s = c->early;

		c->early = s->next;
		free_stream(s);
	}
}

static void deliver_output(struct deno_waiting *w, const struct buf *data)
{
	if (!w->out)
		return;
	buf_addstr(w->out, buf_str(data));
	w->out->over = w->out->over || data->over;
	if (w->live)
		cancel_trigger(&w->ready);
}

/* True if the caller of a live call has not read DENO_FULL bytes of output. The
 * socket is then not read. */
static bool is_full(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->live && w->out && w->out->len >= DENO_FULL)
			return true;
	return false;
}

static void end_output(struct deno_calls *c, struct deno_waiting *w,
		       bool failed)
{
	if (failed)
		error_set(&w->why, ERR_NETWORK,
			  "the command's output ends early");
	finish_call(c, w);
}

/* Moves data that arrived before the reply from the early stream to the
 * call. */
static void claim_early(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_stream **at = &c->early;
	struct deno_stream *s;

	while (*at && (*at)->id != w->stream)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	*at = s->next;
	deliver_output(w, &s->data);
	if (s->ended)
		end_output(c, w, s->failed);
	free_stream(s);
}

static void set_failure(struct deno_waiting *w, const struct deno_frame *f)
{
	struct buf words = BUF_INIT(WORDS_MAX);

	snprintf(w->code, sizeof(w->code), "%s", f->code);
	if (f->code[0])
		buf_addf(&words, "%.*s: ", DENO_CODE, f->code);
	sanitize_text(str_of(f->message), &words);
	error_set(&w->why, ERR_REMOTE, "%s",
		  words.len ? words.ptr : "refused without a reason");
	buf_release(&words);
}

/* Applies a reply: it ends a call, or tells the number of a process's output
 * stream. */
static void apply_reply(struct deno_calls *c, const struct deno_frame *f)
{
	struct deno_waiting *w = c->list;

	while (w && (w->id != f->id || w->done || w->stream >= 0))
		w = w->next;
	if (!w)
		return;
	if (f->failed) {
		set_failure(w, f);
		finish_call(c, w);
	} else if (!w->spawn || w->abandoned) {
		w->ok = cJSON_Duplicate(f->ok, true);
		finish_call(c, w);
	} else {
		w->pid = json_int(f->ok, "pid", -1);
		w->stream = json_int(f->ok, "stdoutStreamId", -1);
		if (w->stream >= 0) {
			claim_early(c, w);
		} else {
			error_set(&w->why, ERR_PROTOCOL,
				  "unexpected server response: no output");
			finish_call(c, w);
		}
	}
	free_early_streams(c);
}

/* Returns the early stream with this number; creates it if it does not
 * exist. */
static struct deno_stream *get_early_stream(struct deno_calls *c, int64_t id,
					    struct error *err)
{
	struct deno_stream *s;
	int n = 0;

	for (s = c->early; s; s = s->next, n++)
		if (s->id == id)
			return s;
	if (n == EARLY) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: too many streams");
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->id = id;
	s->data.max = EARLY_MAX;
	s->next = c->early;
	c->early = s;
	return s;
}

/* Applies data, or the end, of a stream of the server. Ignored if no request
 * can be waiting for it. */
static int apply_stream(struct deno_calls *c, const struct deno_frame *f,
			struct error *err)
{
	struct deno_waiting *w = c->list;
	struct deno_stream *s;

	while (w && (w->stream != f->id || w->done))
		w = w->next;
	if (w && f->kind == DENO_END)
		end_output(c, w, f->failed);
	else if (w)
		deliver_output(w, &f->data);
	if (w || !is_naming(c))
		return 0;
	s = get_early_stream(c, f->id, err);
	if (!s)
		return -1;
	if (!s->ended)
		buf_addstr(&s->data, buf_str(&f->data));
	s->ended = s->ended || f->kind == DENO_END;
	s->failed = s->failed || f->failed;
	return 0;
}

/* Applies one message to the request that waits for it. -1 with
 * ERR_PROTOCOL. */
static int apply_frame(struct deno_calls *c, const struct deno_frame *f,
		       struct error *err)
{
	switch (f->kind) {
	case DENO_REPLY:
		apply_reply(c, f);
		return 0;
	case DENO_DATA:
	case DENO_END:
		return apply_stream(c, f, err);
	case DENO_CANCEL:
		for (struct deno_waiting *w = c->list; w; w = w->next)
			w->cancelled = w->cancelled || w->sending == f->id;
		return 0;
	default:
		return 0;
	}
}

/* Fails all requests that are not done. */
static void fail_calls(struct deno_calls *c, const struct error *why)
{
	struct deno_waiting *next;

	for (struct deno_waiting *w = c->list; w; w = next) {
		next = w->next;
		if (w->done)
			continue;
		w->why = *why;
		finish_call(c, w);
	}
	free_early_streams(c);
}

/* Waits until w is done or live output has arrived. ERR_NETWORK if neither
 * happens within idle_ms (0: no limit). Called without the lock. */
static int wait_call(struct deno_waiting *w, int64_t idle_ms,
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

struct deno_message { /* a queued message */
	struct deno_message *next;
	struct buf text;
};

struct deno_rpc {
	pthread_mutex_t lock; /* guards all fields below except ws */
	struct ws *ws;        /* used only by the thread while it runs */
	pthread_t thread;
	bool started; /* the thread must be joined */
	bool alive;
	bool ending;
	/* triggered when there is something to send, or to quit */
	struct cancel wake;
	struct cancel quit; /* triggered to end the thread */
	struct deno_message *first;
	struct deno_message **last;
	size_t queued; /* bytes */
	struct deno_calls calls;
	/* code with which the server closed the last silent connection */
	int close_code;
	/* how many connections in a row ended silently with that code */
	int closings;
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

/* Queues one message; id -1 makes a notification. Called with the lock. */
static void queue_message(struct deno_rpc *r, int64_t id, const char *method,
			  struct str params)
{
	struct deno_message *m = r->alive ? xcalloc(1, sizeof(*m)) : NULL;

	if (!m)
		return;
	m->text.max = DENO_MESSAGE_MAX;
	add_request(&m->text, id, method, params);
	*r->last = m;
	r->last = &m->next;
	r->queued += m->text.len;
	cancel_trigger(&r->wake);
}

/* Moves the oldest message to *text, which the caller releases. False if the
 * queue is empty. Called with the lock. */
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

/* Sends the oldest message. Returns 1 if one was sent, 0 if the queue was
 * empty, -1 on error. */
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

/* If output arrives faster than the caller reads it, pauses and returns 1. */
static int pause_if_full(struct deno_rpc *r)
{
	const struct stop stop = stop_on(&r->wake);
	struct error ignored = { 0 };
	bool full;

	pthread_mutex_lock(&r->lock);
	full = is_full(&r->calls);
	pthread_mutex_unlock(&r->lock);
	if (full)
		(void)stop_sleep(&stop, ROOM_MS, &ignored);
	return full;
}

/* Waits for a message, until the next ping is due or there is something to
 * send. busy: something was sent just now, so only what is there is read. */
static int receive_message(struct deno_rpc *r, struct buf *text, int64_t ping,
			   bool busy, struct error *err)
{
	const struct stop stop = { .cancel = busy ? &r->quit : &r->wake,
				   .deadline = busy ? clock_ms() + 1 : ping };
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
	rc = parse_frame(&f, buf_str(text), DENO_MESSAGE_MAX, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0)
		rc = apply_frame(&r->calls, &f, err);
	if (rc == 0)
		r->closings = 0;
	pthread_mutex_unlock(&r->lock);
	release_frame(&f);
	return rc;
}

/* Counts connections in a row that the server closed with the same code before
 * it sent a message. After CLOSINGS_MAX of them the next one would fail, too:
 * ERR_REMOTE, which is not retried. */
static void count_close(struct deno_rpc *r, int code, struct error *why)
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

/* Fails all calls after the socket has ended, and empties the queue. */
static void fail_all(struct deno_rpc *r, struct error *why)
{
	struct buf text;

	if (why->code == ERR_LIMIT)
		why->code = ERR_PROTOCOL;
	if (why->code != ERR_PROTOCOL && why->code != ERR_REMOTE)
		why->code = ERR_NETWORK;
	pthread_mutex_lock(&r->lock);
	r->alive = false;
	fail_calls(&r->calls, why);
	while (unqueue_message(r, &text))
		buf_release(&text);
	pthread_mutex_unlock(&r->lock);
}

/* Main function of the thread: sends, pings and receives until the socket
 * ends. */
static void *serve_socket(void *arg)
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
		/* also between messages: a long upload must not delay what the
		 * server sends */
		if (rc >= 0 && !pause_if_full(r))
			rc = receive_message(r, &text, ping, rc > 0, &why);
	}
	count_close(r, ws_code(r->ws), &why);
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

/* Ends the previous socket, then starts a thread for the new one. */
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
		rc = thread_start(&r->thread, serve_socket, r, err);
		r->started = r->alive = rc == 0;
		pthread_mutex_unlock(&r->lock);
		if (r->started)
			return 0;
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

/* An error object as the SDK sends it (schema.js). */
#define NO_MORE(name)                                                          \
	",\"" name "\":{\"constructorName\":\"Error\",\"name\":\"Error\","     \
	"\"message\":\"no more\",\"code\":null,\"stack\":\"\",\"cause\":null," \
	"\"errors\":null,\"suppressed\":null,\"error\":null}"

/* Queues an event about a stream of dcode. more is JSON that follows
 * "streamId". Called with the lock. */
static void queue_stream_event(struct deno_rpc *r, const char *event,
			       int64_t stream, const char *more)
{
	char *method = xasprintf("$sandbox.stream.%s", event);
	char *params = xasprintf("{\"streamId\":%" PRId64 "%s}", stream, more);

	queue_message(r, -1, method, str_of(params));
	free(params);
	free(method);
}

/* Queues the request of a call. Returns NULL with err filled if that fails. */
static struct deno_waiting *
queue_call(struct deno_rpc *r, const struct deno_call *c, struct error *err)
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
		w = add_call(&r->calls, r->next_id++, err);
	if (w) {
		w->spawn = c->out;
		w->out = c->out;
		w->live = c->sink;
		if (c->source) {
			w->sending = r->next_stream++;
			queue_stream_event(r, "start", w->sending, "");
			buf_addf(&params, ",\"%s\":%" PRId64 "}", c->stream,
				 w->sending);
		}
		queue_message(r, w->id, c->method, buf_str(&params));
	}
	pthread_mutex_unlock(&r->lock);
	buf_release(&params);
	return w;
}

/* Waits until the queue has room for more data of w's stream. Returns 1 if the
 * server no longer reads that stream. */
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

/* Sends what the source has: a piece, or the end of the stream. Returns the
 * number of bytes, EXEC_LATER if there is nothing yet, or -1. */
static int64_t send_piece(struct deno_rpc *r, const struct deno_call *c,
			  const struct deno_waiting *w, char room[PIECE],
			  struct error *err)
{
	struct buf more = BUF_INIT(2 * PIECE);
	int64_t n = c->source(c->source_arg, room, PIECE, err);

	if (n > 0) {
		buf_adds(&more, ",\"data\":\"");
		json_base64(&more, (struct str){ room, (size_t)n });
		buf_addc(&more, '"');
	}
	pthread_mutex_lock(&r->lock);
	if (n >= 0)
		queue_stream_event(r, n ? "enqueue" : "end", w->sending,
				   n ? more.ptr : "");
	else if (n != EXEC_LATER)
		queue_stream_event(r, "error", w->sending, NO_MORE("error"));
	pthread_mutex_unlock(&r->lock);
	buf_release(&more);
	return n;
}

/* Sends the source's data and then the end of the stream. */
static int send_stream(struct deno_rpc *r, const struct deno_call *c,
		       const struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	char *room = xcalloc(1, PIECE);
	int64_t n = 1;
	int rc = 0;

	while (rc == 0 && n > 0) {
		rc = wait_queue(r, w, stop, err);
		if (rc == 0)
			n = send_piece(r, c, w, room, err);
		if (n < 0)
			rc = -1;
	}
	free(room);
	return rc < 0 ? -1 : 0;
}

/* Passes the output that has arrived to the sink. Output arrives in one buffer
 * while the sink reads the other, so the sink runs without the lock. Returns 1
 * when the call is done. */
static int pass_arrived(struct deno_rpc *r, const struct deno_call *c,
			struct deno_waiting *w, struct buf *chunk,
			struct error *err)
{
	struct buf taken;
	bool done;
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	taken = *c->out;
	*c->out = *chunk;
	done = w->done;
	if (!done)
		cancel_reset(&w->ready);
	pthread_mutex_unlock(&r->lock);
	*chunk = taken;
	if (chunk->len)
		rc = c->sink(c->arg, buf_str(chunk), err);
	if (rc == 0)
		rc = buf_check(chunk, "the output", err);
	buf_clear(chunk);
	return rc < 0 ? -1 : done;
}

/* Passes the output to the sink as it arrives, until the call is done. */
static int pass_output(struct deno_rpc *r, const struct deno_call *c,
		       struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	struct buf chunk = BUF_INIT(c->out->max);
	int rc = 0;

	while (rc == 0) {
		rc = wait_call(w, c->idle_ms, stop, err);
		if (rc == 0)
			rc = pass_arrived(r, c, w, &chunk, err);
	}
	buf_release(&chunk);
	return rc < 0 ? -1 : 0;
}

/* True if the queue has room for more data of w's stream. *over: nobody reads
 * that stream any more. */
static bool has_room(struct deno_rpc *r, const struct deno_waiting *w,
		     bool *over)
{
	bool room;

	pthread_mutex_lock(&r->lock);
	room = r->queued < QUEUE_MAX;
	*over = *over || w->done || w->cancelled;
	pthread_mutex_unlock(&r->lock);
	return room && !*over;
}

/* Passes data in both directions, until the call is done. */
static int pass_both(struct deno_rpc *r, const struct deno_call *c,
		     struct deno_waiting *w, const struct stop *stop,
		     struct error *err)
{
	struct buf chunk = BUF_INIT(c->out->max);
	char *room = xcalloc(1, PIECE);
	bool over = false; /* the source has ended */
	int rc = 0;

	while (rc == 0) {
		bool sends = has_room(r, w, &over);
		struct pollfd fds[] = {
			{ .fd = w->ready.fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
			{ .fd = sends ? c->source_fd : -1, .events = POLLIN },
		};
		int64_t n = 1;

		if (io_poll(fds, 3, sends || over ? -1 : ROOM_MS) < 0)
			rc = error_errno(err, "poll");
		if (rc == 0)
			rc = stop_check(stop, err);
		if (rc == 0 && fds[2].revents)
			n = send_piece(r, c, w, room, err);
		over = over || !n;
		if (n == -1)
			rc = -1;
		if (rc == 0 && fds[0].revents)
			rc = pass_arrived(r, c, w, &chunk, err);
	}
	free(room);
	buf_release(&chunk);
	return rc < 0 ? -1 : 0;
}

/* Sends "processWait" for a process that still runs, as the SDK does. The
 * answer is ignored. */
static void send_process_wait(struct deno_rpc *r, const struct deno_waiting *w)
{
	struct error ignored = { 0 };
	struct deno_waiting *asked = NULL;
	char params[64];

	pthread_mutex_lock(&r->lock);
	if (r->alive && !w->done && w->stream >= 0 && w->pid >= 0)
		asked = add_call(&r->calls, r->next_id++, &ignored);
	if (asked) {
		snprintf(params, sizeof(params), "{\"pid\":%" PRId64 "}",
			 w->pid);
		queue_message(r, asked->id, "processWait", str_of(params));
		release_call(&r->calls, asked);
	}
	pthread_mutex_unlock(&r->lock);
}

static int wait_output(struct deno_rpc *r, const struct deno_call *c,
		       struct deno_waiting *w, const struct stop *stop,
		       struct error *err)
{
	struct error why = { 0 };
	int rc = wait_call(w, QUICK_MS, stop, &why);

	if (rc < 0 && why.code == ERR_NETWORK) {
		send_process_wait(r, w);
		return wait_call(w, c->idle_ms, stop, err);
	}
	if (rc < 0)
		*err = why;
	return rc;
}

int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err)
{
	struct deno_waiting *w = queue_call(r, c, err);
	int rc = 0;

	c->code[0] = '\0';
	c->pid = -1;
	if (!w)
		return -1;
	if (c->source && !c->sink)
		rc = send_stream(r, c, w, stop, err);
	if (rc == 0 && c->source && c->sink)
		rc = pass_both(r, c, w, stop, err);
	else if (rc == 0 && c->sink)
		rc = pass_output(r, c, w, stop, err);
	else if (rc == 0 && c->out)
		rc = wait_output(r, c, w, stop, err);
	else if (rc == 0)
		rc = wait_call(w, c->idle_ms, stop, err);
	pthread_mutex_lock(&r->lock);
	if (rc == 0) {
		snprintf(c->code, sizeof(c->code), "%s", w->code);
		if (w->why.code) {
			*err = w->why;
			rc = -1;
		}
	} else if (w->stream >= 0 && !w->done) {
		/* nobody reads the rest: the server must not send it */
		queue_stream_event(r, "cancel", w->stream, NO_MORE("reason"));
		c->pid = w->pid;
	}
	release_call(&r->calls, w);
	pthread_mutex_unlock(&r->lock);
	return rc == 0 && c->out ? buf_check(c->out, "the answer", err) : rc;
}
