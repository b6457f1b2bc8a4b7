/* ws.c - a WebSocket client (RFC 6455) over a raw connection of libcurl. */
/* SPDX-License-Identifier: MIT */
#include "net/ws.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "net/conn.h"
#include "net/ws_impl.h"

enum {
	/* Payload of a frame of ours, between which others get. The vendors'
	 * own clients send no fragments: what is usual goes in one piece. */
	FRAGMENT = 256 << 10,
	CONTROL = 6 + WS_CONTROL_MAX, /* bytes of the largest control frame */
	OUT_MAX = WS_HEAD_MAX + FRAGMENT + 4 * CONTROL,
	IN_MAX = 65536,
	REASON_MAX = WS_CONTROL_MAX - 2,
	MESSAGE_MAX = 16 << 20,
	PONG_MS = 30000,
	CLOSE_MS = 5000,
};

/* A message that waits to be received. */
struct ws_message {
	struct buf bytes;
	enum ws_kind kind;
	struct ws_message *next;
};

struct ws {
	struct conn *conn;
	struct ws_parser parser;
	struct ws_message *first;
	struct ws_message **last;
	size_t queued;  /* bytes that they take */
	uint64_t total; /* bytes received */
	uint64_t total_max;
	/* Whole frames. Bytes never move while some are unsent: TLS must be
	 * offered the same ones again. */
	unsigned char *out; /* owned: OUT_MAX bytes */
	size_t out_at, out_len;
	char *in;        /* owned: IN_MAX bytes */
	struct buf pong; /* to send as soon as there is room */
	bool pong_due;
	bool unfinished; /* a message of ours was given up halfway */
	bool unsendable; /* the connection takes no more bytes */
	bool close_sent;
	bool closed;   /* the server's close frame came */
	bool ended;    /* the end of the stream came */
	bool awaiting; /* something, after our ping */
	int64_t ping_ms, pong_ms, idle_ms;
	int64_t pinged_at; /* clock_ms() */
	int64_t moved_at;  /* the last byte; stands still between calls */
	int64_t seen_at;   /* end of the last wait */
	int code;
	char reason[WS_CONTROL_MAX + 1];
	char protocol[WS_PROTOCOL_SIZE];
	struct error failed; /* what every later call says */
};

static int fail(struct ws *ws, enum err code, const char *why)
{
	if (!ws->failed.code)
		error_set(&ws->failed, code, "WebSocket: %s", why);
	if (!ws->code)
		ws->code = WS_CODE_ABNORMAL;
	return -1;
}

static size_t unsent(const struct ws *ws)
{
	return ws->out_len - ws->out_at;
}

static void put(struct ws *ws, unsigned first, struct str payload)
{
	unsigned char key[4];

	randombytes_buf(key, sizeof(key)); /* RFC 6455 §5.3: fresh each time */
	ws->out_len +=
		ws_frame_write(ws->out + ws->out_len, first, payload, key);
}

static void put_close(struct ws *ws, int code, struct str reason)
{
	char text[WS_CONTROL_MAX] = { (char)(code >> 8), (char)code };
	struct str payload = { text, 0 };

	if (ws->close_sent || ws->unsendable)
		return;
	ws->close_sent = true;
	ws->pong_due = false;
	if (reason.len > REASON_MAX) {
		reason.len = REASON_MAX;
		reason.len = str_utf8_prefix(reason);
	}
	if (reason.len)
		memcpy(text + 2, reason.ptr, reason.len);
	if (code != WS_CODE_NONE)
		payload.len = 2 + reason.len;
	put(ws, WS_FIN | WS_CLOSE, payload);
}

/* Sends what goes without waiting. True when something went. A connection
 * that takes nothing may still have something for us to read. */
static bool push(struct ws *ws)
{
	struct error ignored = { 0 };
	bool moved = false;

	/* The room for a close frame is never used up. */
	if (ws->pong_due && ws->out_len + 2 * CONTROL <= OUT_MAX) {
		put(ws, WS_FIN | WS_PONG, buf_str(&ws->pong));
		ws->pong_due = false;
	}
	while (unsent(ws)) {
		struct str rest = { (const char *)ws->out + ws->out_at,
				    unsent(ws) };
		int64_t n = conn_try_send(ws->conn, rest, &ignored);

		if (n == 0)
			return moved;
		if (n < 0) {
			ws->unsendable = true;
			break;
		}
		moved = true;
		ws->out_at += (size_t)n;
		ws->moved_at = clock_ms();
	}
	ws->out_at = ws->out_len = 0;
	return moved;
}

static void enqueue(struct ws *ws)
{
	struct ws_message *m = xcalloc(1, sizeof(*m));

	m->bytes = BUF_INIT(ws->parser.message.max);
	m->kind = ws_parser_take(&ws->parser, &m->bytes);
	ws->queued += sizeof(*m) + m->bytes.cap;
	*ws->last = m;
	ws->last = &m->next;
}

static bool dequeue(struct ws *ws, struct buf *to, enum ws_kind *kind)
{
	struct ws_message *m = ws->first;
	size_t max = to->max;

	if (!m)
		return false;
	ws->first = m->next;
	if (!m->next)
		ws->last = &ws->first;
	ws->queued -= sizeof(*m) + m->bytes.cap;
	buf_release(to);
	*to = m->bytes;
	to->max = max;
	*kind = m->kind;
	free(m);
	return true;
}

static void drop_queue(struct ws *ws)
{
	struct buf bytes = BUF_INIT(0);
	enum ws_kind kind;

	while (dequeue(ws, &bytes, &kind))
		;
	buf_release(&bytes);
}

static void on_close(struct ws *ws)
{
	struct ws_parser *p = &ws->parser;

	ws->closed = true;
	ws->code = p->code;
	memcpy(ws->reason, p->control, p->control_len);
	ws->reason[p->control_len] = '\0';
	put_close(ws, p->code, (struct str){ 0 });
}

static int parse(struct ws *ws, struct str data)
{
	struct ws_parser *p = &ws->parser;

	for (;;) {
		switch (ws_parser_next(p, &data, &ws->failed)) {
		case WS_MORE:
			return 0;
		case WS_MESSAGE:
			enqueue(ws);
			break;
		case WS_PINGED:
			/* RFC 6455 §5.5.3: the latest one will do. */
			buf_clear(&ws->pong);
			buf_add(&ws->pong, p->control, p->control_len);
			ws->pong_due = !ws->close_sent;
			break;
		case WS_PONGED:
			break; /* that it came is enough */
		case WS_CLOSED:
			on_close(ws);
			break;
		default:
			put_close(ws, p->code, (struct str){ 0 });
			(void)push(ws);
			return fail(ws, ERR_PROTOCOL, "broken");
		}
	}
}

/* The same within total_max: the rest is not looked at. */
static int feed(struct ws *ws, struct str data)
{
	uint64_t left = ws->total_max - ws->total;
	bool over = ws->total_max && data.len > left;

	if (over)
		data.len = (size_t)left;
	ws->total += data.len;
	if (parse(ws, data) < 0)
		return -1;
	if (!over || ws->closed)
		return 0;
	put_close(ws, WS_CODE_TOO_BIG, (struct str){ 0 });
	(void)push(ws);
	return fail(ws, ERR_LIMIT, "the server sends too much");
}

/* Reads what is there: 1 when something was, 0, or -1 with ws->failed. */
static int take(struct ws *ws)
{
	struct error why = { 0 };
	bool end = false;
	int64_t n;

	if (ws->ended)
		return 0;
	n = conn_try_recv(ws->conn, ws->in, IN_MAX, &end, &why);
	if (n < 0 || end) {
		ws->ended = true;
		if (ws->closed)
			return 1;
		return fail(ws, ERR_NETWORK,
			    end ? "the server ended the connection without "
				  "closing it"
				: why.message);
	}
	if (n == 0)
		return 0;
	ws->moved_at = clock_ms();
	ws->awaiting = false;
	return feed(ws, (struct str){ ws->in, (size_t)n }) < 0 ? -1 : 1;
}

static int64_t nearer(int64_t ms, int64_t at, int64_t now)
{
	int64_t left = at > now ? at - now : 0;

	return ms < 0 || left < ms ? left : ms;
}

/* Looks at the clocks: how many ms to wait at most (-1: no matter), or
 * ws->failed is set. reading: what the server sends is looked at. */
static int64_t watch(struct ws *ws, bool reading)
{
	int64_t now = clock_ms();
	int64_t ms = -1;

	if (ws->idle_ms && now >= ws->moved_at + ws->idle_ms)
		return fail(ws, ERR_NETWORK, "stalled");
	if (ws->idle_ms)
		ms = nearer(ms, ws->moved_at + ws->idle_ms, now);
	if (ws->awaiting && reading) {
		if (now >= ws->pinged_at + ws->pong_ms)
			return fail(ws, ERR_NETWORK,
				    "the server does not answer a ping");
		ms = nearer(ms, ws->pinged_at + ws->pong_ms, now);
	}
	if (!ws->ping_ms || ws->awaiting || ws->close_sent || unsent(ws))
		return ms;
	if (now >= ws->pinged_at + ws->ping_ms) {
		put(ws, WS_FIN | WS_PING, (struct str){ 0 });
		ws->pinged_at = now;
		ws->awaiting = true;
		return 0;
	}
	return nearer(ms, ws->pinged_at + ws->ping_ms, now);
}

/* Moves bytes, or waits until some can be moved. -1 for what stop says only:
 * the rest is in ws->failed, closed and unsendable. */
static int step(struct ws *ws, const struct stop *stop, struct error *err)
{
	bool moved = push(ws);
	bool reading = ws->queued < ws->parser.message.max;
	int64_t ms;
	int rc;

	if (stop_check(stop, err) < 0)
		return -1;
	if (reading && take(ws) != 0)
		return 0;
	if (moved || ws->ended || (ws->closed && !unsent(ws)))
		return 0;
	ms = watch(ws, reading);
	if (ws->failed.code || ms == 0)
		return 0;
	rc = reading ? conn_wait(ws->conn, unsent(ws) > 0, ms, stop, err)
		     : conn_wait_writable(ws->conn, ms, stop, err);
	ws->seen_at = clock_ms();
	return rc;
}

static int sendable(struct ws *ws, struct error *err)
{
	if (ws->failed.code) {
		*err = ws->failed;
		return -1;
	}
	if (ws->closed || ws->close_sent)
		return error_set(err, ERR_GONE, "WebSocket: closed (%d)",
				 ws->code);
	if (ws->unsendable)
		return error_set(err, ERR_NETWORK,
				 "WebSocket: the connection is broken");
	return 0;
}

/* Until everything is with the system. */
static int drain(struct ws *ws, const struct stop *stop, struct error *err)
{
	while (unsent(ws)) {
		if (step(ws, stop, err) < 0)
			return -1;
		if (unsent(ws) && sendable(ws, err) < 0)
			return -1;
	}
	if (ws->unsendable)
		return sendable(ws, err);
	return 0;
}

/* The clock of idle_ms runs while somebody waits. */
static int begin(struct ws *ws, const struct stop *stop, struct error *err)
{
	int64_t now = clock_ms();

	ws->moved_at += now - ws->seen_at;
	ws->seen_at = now;
	return stop_check(stop, err);
}

int ws_send(struct ws *ws, enum ws_kind kind, struct str message,
	    const struct stop *stop, struct error *err)
{
	unsigned first = kind;

	if (begin(ws, stop, err) < 0 || sendable(ws, err) < 0)
		return -1;
	if (ws->unfinished)
		return error_set(err, ERR_NETWORK,
				 "WebSocket: an earlier message was not sent "
				 "to its end");
	if (kind == WS_TEXT && !str_is_utf8(message))
		return error_set(err, ERR_USAGE, "text that is not UTF-8");
	do {
		struct str piece = message;

		if (piece.len > FRAGMENT)
			piece.len = FRAGMENT;
		message = str_skip(message, piece.len);
		if (drain(ws, stop, err) < 0)
			return -1;
		put(ws, message.len ? first : first | WS_FIN, piece);
		ws->unfinished = true;
		(void)push(ws);
		first = WS_CONTINUATION;
	} while (message.len);
	if (drain(ws, stop, err) < 0)
		return -1;
	ws->unfinished = false;
	return 0;
}

int ws_receive(struct ws *ws, struct buf *message, enum ws_kind *kind,
	       const struct stop *stop, struct error *err)
{
	if (begin(ws, stop, err) < 0)
		return -1;
	while (!dequeue(ws, message, kind)) {
		if (ws->failed.code) {
			*err = ws->failed;
			return -1;
		}
		if (ws->closed) {
			(void)push(ws); /* our own close frame */
			return 0;
		}
		if (step(ws, stop, err) < 0)
			return -1;
	}
	(void)push(ws); /* a pong should not wait for the next call */
	return 1;
}

int ws_close(struct ws *ws, int code, const char *reason,
	     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, CLOSE_MS);

	if (begin(ws, &within, err) < 0)
		return -1;
	if (!ws->failed.code)
		put_close(ws, code, str_of(reason));
	while (!ws->failed.code && (!ws->closed || unsent(ws))) {
		drop_queue(ws);
		if (ws->closed && (ws->unsendable || ws->ended))
			break;
		if (step(ws, &within, err) < 0)
			return -1;
	}
	drop_queue(ws);
	if (!ws->failed.code)
		return 0;
	*err = ws->failed;
	return -1;
}

int ws_open(struct ws **out, struct http *h, const struct ws_request *req,
	    const struct stop *stop, struct error *err)
{
	struct ws_link link = { 0 };
	struct ws *ws;

	if (ws_connect(&link, h, req, stop, err) < 0)
		return -1;
	ws = xcalloc(1, sizeof(*ws));
	ws->conn = link.conn;
	ws_parser_init(&ws->parser,
		       req->message_max ? req->message_max : MESSAGE_MAX);
	ws->last = &ws->first;
	ws->total_max = req->total_max;
	ws->out = xcalloc(OUT_MAX, 1);
	ws->in = xcalloc(IN_MAX, 1);
	ws->pong = BUF_INIT(WS_CONTROL_MAX);
	ws->ping_ms = req->ping_ms;
	ws->pong_ms = req->pong_ms ? req->pong_ms : PONG_MS;
	ws->idle_ms = req->idle_ms;
	ws->pinged_at = ws->moved_at = ws->seen_at = clock_ms();
	memcpy(ws->protocol, link.protocol, sizeof(ws->protocol));
	/* What came with the answer; a failure is told by the first call. */
	(void)feed(ws, buf_str(&link.rest));
	buf_release(&link.rest);
	*out = ws;
	return 0;
}

void ws_free(struct ws *ws)
{
	if (!ws)
		return;
	drop_queue(ws);
	ws_parser_release(&ws->parser);
	buf_release(&ws->pong);
	conn_close(ws->conn);
	free(ws->out);
	free(ws->in);
	free(ws);
}

const char *ws_protocol(const struct ws *ws)
{
	return ws->protocol;
}

int ws_code(const struct ws *ws)
{
	return ws->code;
}

const char *ws_reason(const struct ws *ws)
{
	return ws->reason;
}
