/* intercept.c - carries a connection whose requests may get a secret. */
/* SPDX-License-Identifier: MIT */
/*
 * Both ends are TLS (egress/tls/tls.h), and one request is under way at a time.
 * take_request() reads what the client sends: a head is rewritten, a body is
 * passed on. take_answer() reads what the server sends: head and body are
 * searched for values, also over the borders of chunks, so chunks are made
 * anew. carry() calls both, as long as the buffers have room, and waits.
 */
#include "egress/intercept/intercept.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "egress/credential/credential.h"

enum {
	TLS_PORT = 443,
	BUFFER = 96 << 10, /* bytes that were read and are not sent yet */
	ROOM = 16 << 10,   /* bytes that are read at once */
	FULL = 64 << 10,   /* bytes to send, from which on nothing is added */
	HEAD_MAX = 256 << 10,
	HEAD_MS = 10000,
	LINGER_MS = 1000, /* until the client has read an answer */
	HANDSHAKE_MS = 60000,
	SEAM = 4 << 10,      /* bytes that are copied to search over a border */
	BODY_MAX = 16 << 20, /* of a request whose body is signed */
	BODIES_MAX = 128 << 20, /* of all connections together */
};

/* One end of the connection. */
struct end {
	struct tls_stream *tls;
	int fd;
	struct buf in, out;
	size_t taken; /* bytes at the front of in that are done with */
	bool ended;   /* it sends no more */
	bool broken;  /* nothing can be sent to it */
	short wants;  /* events that reading waits for */
	uint64_t sent;
};

struct carrier {
	struct end client, server;
	const struct egress_server *proxy;
	struct egress_record *record;
	struct request_reader requests;
	struct answer_reader answers;
	struct echo *echo;
	/* A request whose signature covers the body, until all of it is
	 * there: its head, as the client sent it, and the body. */
	struct buf held, body;
	size_t reserved;    /* bytes of BODIES_MAX */
	size_t body_sent;   /* bytes of body */
	bool sends_body;    /* it is complete, and not sent to its end */
	struct buf scan;    /* of the body: not searched to its end yet */
	bool pending;       /* an answer is awaited */
	bool upgrades;      /* the request wants to switch protocols */
	bool carries;       /* the request has a value */
	bool opaque;        /* protocols were switched */
	bool closing;       /* ends when everything is sent */
	bool reported;      /* the record was */
	int64_t held_since; /* clock_ms() since which a head is incomplete */
};

bool intercept_is_for(const struct intercept *i, const char *host,
		      unsigned port)
{
	for (size_t k = 0; port == TLS_PORT && k < i->secrets->n; k++)
		if (secret_has_host(&i->secrets->list[k], host))
			return true;
	return false;
}

/* Answers the client in place of the server, and ends. What the server has not
 * got yet it does not get any more. */
static void answer_client(struct carrier *c, const char *status,
			  enum egress_verdict verdict, const char *text)
{
	buf_addf(&c->client.out,
		 "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"
		 "Content-Length: %zu\r\nConnection: close\r\n\r\n"
		 "dcode: %s\n",
		 status, strlen(text) + sizeof("dcode: "), text);
	buf_wipe(&c->server.out);
	c->record->verdict = (uint16_t)verdict;
	c->closing = true;
	/* before a command that gets the answer ends: its result says why */
	c->proxy->report(c->record);
	c->reported = true;
}

static void refuse_secret(struct carrier *c, const struct secret *s,
			  const char *why)
{
	char *text = xasprintf("secrets.%s %s", s->name, why);

	answer_client(c, "403 Forbidden", EGRESS_SECRET, text);
	free(text);
}

static void refuse_signature(struct carrier *c, const struct head_fault *f)
{
	char *text = xasprintf("secrets.%s cannot sign this request: %s",
			       f->secret->name, f->why);

	answer_client(c, "403 Forbidden", EGRESS_SIGNATURE, text);
	free(text);
}

static atomic_size_t bodies; /* bytes that requests hold, or may hold */

/* Lets go of the request whose body was awaited. */
static void release_held(struct carrier *c)
{
	atomic_fetch_sub(&bodies, c->reserved);
	c->reserved = c->body_sent = 0;
	c->sends_body = false;
	buf_wipe(&c->held);
	buf_release(&c->body);
}

/* Keeps the head until the body is there. Attack: a thousand connections make
 * dcode keep all the memory of this machine. */
static void hold_head(struct carrier *c, struct str head)
{
	uint64_t len = c->requests.left;

	if (len > BODY_MAX ||
	    atomic_fetch_add(&bodies, (size_t)len) + len > BODIES_MAX) {
		if (len <= BODY_MAX)
			atomic_fetch_sub(&bodies, (size_t)len);
		answer_client(c, "413 Content Too Large", EGRESS_SIGNATURE,
			      "the signature covers the body, which is too "
			      "large: at most 16 MiB");
		return;
	}
	c->reserved = (size_t)len;
	buf_addstr(&c->held, head);
}

/* Sends the request's head on, rewritten. body: all of it, or ptr NULL. */
static void send_head(struct carrier *c, struct str head, struct str body)
{
	const struct secrets *all = c->proxy->intercept->secrets;
	const struct head_client client = { head, body };
	struct head_fault f = { 0 };
	struct buf out = BUF_INIT(HEAD_MAX);
	enum head_result r =
		head_rewrite(all, c->record->host, head, &out, &f.secret);
	enum head_result first = r;

	if (r == HEAD_PLAIN || r == HEAD_CARRIES)
		r = head_sign(all, c->record->host, &client, &out, &f);
	switch (r) {
	case HEAD_FOREIGN:
		refuse_secret(c, f.secret, "is not for this host");
		break;
	case HEAD_NOT_LIMITS:
		refuse_secret(c, f.secret, "is not for this method and path");
		break;
	case HEAD_TOO_LARGE:
		answer_client(c, "431 Request Header Fields Too Large",
			      EGRESS_PLAIN, "the request's head is too large");
		break;
	case HEAD_NOT_SIGNED:
		refuse_signature(c, &f);
		break;
	case HEAD_NEEDS_BODY:
		hold_head(c, head);
		break;
	default:
		buf_addstr(&c->server.out, buf_str(&out));
		c->carries = first == HEAD_CARRIES;
		c->pending = true;
		answer_begin(&c->answers, str_starts(head, "HEAD "),
			     c->upgrades);
	}
	buf_wipe(&out);
}

/* Takes bytes of a request's body. */
static void take_body(struct carrier *c, struct str bytes)
{
	if (!c->held.len) {
		buf_addstr(&c->server.out, bytes);
		return;
	}
	buf_addstr(&c->body, bytes);
	if (!request_is_at_head(&c->requests))
		return;
	send_head(c, buf_str(&c->held), buf_str(&c->body));
	c->sends_body = !c->closing;
	if (c->closing)
		release_held(c);
}

/* Sends a part of a body that was held. False if nothing may be sent on now. */
static bool send_body(struct carrier *c)
{
	struct str rest = str_skip(buf_str(&c->body), c->body_sent);

	if (!c->sends_body || c->closing || c->server.out.len >= FULL)
		return false;
	if (rest.len > ROOM)
		rest.len = ROOM;
	buf_addstr(&c->server.out, rest);
	c->body_sent += rest.len;
	if (c->body_sent == c->body.len)
		release_held(c);
	return true;
}

static struct str rest_of(const struct end *e)
{
	return str_skip(buf_str(&e->in), e->taken);
}

/* Reads the next part of what the client has sent. False if nothing may be sent
 * on now. */
static bool take_request(struct carrier *c)
{
	struct end *client = &c->client;
	struct str text = rest_of(client);
	bool at_head = request_is_at_head(&c->requests);
	size_t whole = 0;
	long n;

	if (!text.len || c->closing || c->sends_body ||
	    c->server.out.len >= FULL || (at_head && c->pending && !c->opaque))
		return false;
	if (c->opaque) {
		buf_addstr(&c->server.out, text);
		client->taken += text.len;
		return true;
	}
	n = request_read(&c->requests, text.ptr, text.len, &whole);
	if (at_head)
		c->upgrades = n == REQUEST_UPGRADE;
	if (n == REQUEST_UPGRADE)
		n = (long)whole;
	if (n < 0) {
		answer_client(c, "400 Bad Request",
			      n == REQUEST_OTHER_HOST ? EGRESS_MISMATCH
						      : EGRESS_PLAIN,
			      "this is not a request to this host");
		return false;
	}
	/* Attack: a head without a body waits for one, and takes that of the
	 * next request, whose body it then becomes. */
	if (n && at_head)
		send_head(c, (struct str){ text.ptr, (size_t)n },
			  request_is_at_head(&c->requests) ? STR("")
							   : (struct str){ 0 });
	else if (n)
		take_body(c, (struct str){ text.ptr, (size_t)n });
	client->taken += (size_t)n;
	if (n)
		c->held_since = 0;
	else if (!c->held_since)
		c->held_since = clock_ms();
	return n > 0;
}

/* Sends a part of the body, which has been searched. */
static void emit(struct carrier *c, struct str part)
{
	bool chunked = c->answers.chunked && part.len;

	if (chunked)
		buf_addf(&c->client.out, "%zx\r\n", part.len);
	buf_addstr(&c->client.out, part);
	if (chunked)
		buf_adds(&c->client.out, "\r\n");
}

/* Searches the scan. Sends what cannot be the beginning of a value. */
static void emit_scan(struct carrier *c)
{
	size_t len =
		c->scan.len - echo_replace(c->echo, c->scan.ptr, c->scan.len);

	emit(c, (struct str){ c->scan.ptr, len });
	buf_consume(&c->scan, len);
}

/* Takes bytes of an answer's body, which are in the server's buffer. They are
 * searched there, unless the bytes before them may begin a value. */
static void feed_body(struct carrier *c, char *bytes, size_t len)
{
	size_t held;

	while (c->scan.len && len) {
		size_t n = len < SEAM ? len : SEAM;

		buf_add(&c->scan, bytes, n);
		emit_scan(c);
		bytes += n;
		len -= n;
	}
	held = echo_replace(c->echo, bytes, len);
	emit(c, (struct str){ bytes, len - held });
	buf_add(&c->scan, bytes + len - held, held);
}

/* The answer is complete. */
static void end_answer(struct carrier *c)
{
	emit(c, buf_str(&c->scan));
	buf_clear(&c->scan);
	if (c->answers.chunked)
		buf_adds(&c->client.out, "0\r\n\r\n");
	c->pending = false;
	/* The server has not waited for the whole request: what follows on this
	 * connection could be taken for another one. */
	if (!request_is_at_head(&c->requests) || c->sends_body)
		c->closing = true;
}

static void take_head(struct carrier *c, struct str head)
{
	buf_addstr(&c->scan, head);
	(void)echo_replace(c->echo, c->scan.ptr, c->scan.len);
	buf_addstr(&c->client.out, buf_str(&c->scan));
	buf_clear(&c->scan);
	c->opaque = c->answers.switched;
}

static void refuse_answer(struct carrier *c)
{
	if (c->answers.began)
		c->closing = true;
	else
		answer_client(c, "502 Bad Gateway", EGRESS_ANSWER,
			      "the server's answer is compressed or malformed, "
			      "so dcode cannot hide the secret in it");
}

/* Reads the next part of what the server has sent. False if there is none, or
 * no room. */
static bool take_answer(struct carrier *c)
{
	struct end *server = &c->server;
	struct str text = rest_of(server);
	struct str part = { 0 };
	enum answer_part kind;
	size_t used;

	if (c->closing || c->client.out.len >= FULL)
		return false;
	if (!c->pending) {
		/* nobody has asked, or the connection is over */
		c->closing = text.len || server->ended;
		return false;
	}
	kind = answer_read(&c->answers, text, server->ended, &part, &used);
	if (kind == ANSWER_MORE)
		return false;
	if (kind == ANSWER_HEAD && c->carries && c->answers.encoded) {
		c->answers.began = false;
		kind = ANSWER_BAD;
	}
	if (kind == ANSWER_BAD) {
		refuse_answer(c);
		return false;
	}
	if (kind == ANSWER_HEAD)
		take_head(c, part);
	else if (part.len)
		feed_body(c, server->in.ptr + (part.ptr - server->in.ptr),
			  part.len);
	server->taken += used;
	if (c->answers.done)
		end_answer(c);
	return true;
}

/* Sends what there is. True if something was sent. */
static bool flush_end(struct end *e)
{
	size_t at = 0;

	while (at < e->out.len && !e->broken) {
		size_t n = e->out.len - at < ROOM ? e->out.len - at : ROOM;
		long done = tls_write(e->tls, e->out.ptr + at, n);

		if (done == TLS_WANTS_READ || done == TLS_WANTS_WRITE)
			break;
		e->broken = done <= 0;
		at += done > 0 ? (size_t)done : 0;
	}
	buf_consume(&e->out, at);
	e->sent += at;
	return at > 0;
}

/* Reads what there is room for. True if something was read. */
static bool fill_end(struct end *e)
{
	bool read = false;

	buf_consume(&e->in, e->taken);
	e->taken = 0;
	e->wants = 0;
	while (!e->ended && e->in.len + ROOM <= BUFFER) {
		char *room = buf_room(&e->in, ROOM);
		long n = room ? tls_read(e->tls, room, ROOM) : TLS_FAILED;

		if (n == TLS_WANTS_READ || n == TLS_WANTS_WRITE) {
			e->wants = n == TLS_WANTS_READ ? POLLIN : POLLOUT;
			break;
		}
		e->ended = n <= 0;
		read = true;
		if (n > 0)
			buf_added(&e->in, (size_t)n);
	}
	return read;
}

/* Waits for one of the sockets. False at a deadline. */
static bool await_ends(const struct carrier *c)
{
	const struct end *ends[2] = { &c->client, &c->server };
	struct pollfd set[2];
	int64_t left = -1;

	for (int i = 0; i < 2; i++) {
		short events = (short)(ends[i]->wants |
				       (ends[i]->out.len ? POLLOUT : 0));

		set[i] = (struct pollfd){ .fd = events ? ends[i]->fd : -1,
					  .events = events };
	}
	if (set[0].fd < 0 && set[1].fd < 0)
		return false;
	if (c->held_since)
		left = c->held_since + HEAD_MS - clock_ms();
	if (c->held_since && left <= 0)
		return false;
	return io_poll(set, 2, (int)left) > 0;
}

/* Ends the connection to the client. Reads what it still sends: unread bytes
 * would make the kernel drop the answer. */
static void end_client(struct end *e)
{
	int64_t limit = clock_ms() + LINGER_MS;
	struct pollfd set = { .fd = e->fd, .events = POLLIN };
	int64_t left;

	tls_end(e->tls);
	shutdown(e->fd, SHUT_WR);
	while ((left = limit - clock_ms()) > 0 &&
	       io_poll(&set, 1, (int)left) > 0) {
		char room[4096];

		if (recv(e->fd, room, sizeof(room), 0) <= 0)
			return;
	}
}

static void carry(struct carrier *c)
{
	for (;;) {
		bool moved = fill_end(&c->client);

		moved |= fill_end(&c->server);
		while (take_request(c))
			moved = true;
		while (send_body(c))
			moved = true;
		while (take_answer(c))
			moved = true;
		moved |= flush_end(&c->client);
		moved |= flush_end(&c->server);
		/* A client that is gone needs no answer. */
		if (c->client.broken || c->client.ended)
			return;
		if (c->closing && !c->client.out.len)
			break;
		if (c->server.broken && !c->closing && c->server.ended)
			break;
		if (!moved && !await_ends(c))
			return;
	}
	end_client(&c->client);
}

/* Makes the handshake of one end. */
static bool shake_hands(struct end *e)
{
	int64_t limit = clock_ms() + HANDSHAKE_MS;

	for (;;) {
		int rc = tls_handshake(e->tls);
		struct pollfd set = { .fd = e->fd,
				      .events = rc == TLS_WANTS_READ
							? POLLIN
							: POLLOUT };
		int64_t left = limit - clock_ms();

		if (rc == 1)
			return true;
		if (rc == TLS_FAILED || left <= 0 ||
		    io_poll(&set, 1, (int)left) <= 0)
			return false;
	}
}

static void open_end(struct end *e, struct tls_stream *tls, int fd)
{
	*e = (struct end){ .tls = tls,
			   .fd = fd,
			   .in = BUF_INIT(BUFFER),
			   .out = BUF_INIT(2 * BUFFER + HEAD_MAX) };
}

static void close_end(struct end *e)
{
	tls_free(e->tls);
	buf_wipe(&e->in);
	buf_wipe(&e->out);
}

static enum egress_verdict verdict_of(enum tls_fault fault)
{
	switch (fault) {
	case TLS_OTHER_NAME:
		return EGRESS_MISMATCH;
	case TLS_HTTP2_ONLY:
		return EGRESS_HTTP2;
	case TLS_UNTRUSTED:
		return EGRESS_PINNED;
	default:
		return EGRESS_FAILED;
	}
}

/* Connects both ends. The client's comes first: a reason can then be told in
 * an answer. */
static bool connect_ends(struct carrier *c)
{
	if (!c->client.tls || !c->server.tls) {
		c->record->verdict = EGRESS_FAILED;
		return false;
	}
	if (!shake_hands(&c->client)) {
		c->record->verdict =
			(uint16_t)verdict_of(tls_fault(c->client.tls));
		return false;
	}
	if (shake_hands(&c->server))
		return true;
	if (tls_fault(c->server.tls) == TLS_UNTRUSTED)
		answer_client(c, "502 Bad Gateway", EGRESS_SERVER,
			      "the server's certificate is not trusted on this "
			      "machine");
	else
		answer_client(c, "502 Bad Gateway", EGRESS_FAILED,
			      "no TLS connection to the server");
	c->server.ended = c->server.broken = true;
	return true;
}

bool intercept_serve(const struct egress_server *s, int client, int server,
		     struct egress_record *record)
{
	const struct intercept *i = s->intercept;
	struct carrier c = {
		.proxy = s,
		.record = record,
		.requests = { .host = record->host, .port = TLS_PORT },
		.held = BUF_INIT(BUFFER),
		.body = BUF_INIT(BODY_MAX),
		.scan = BUF_INIT(2 * BUFFER),
		.echo = echo_new(i->secrets, record->host),
	};

	open_end(&c.client, tls_accept(i->tls, client, record->host), client);
	open_end(&c.server, tls_connect(i->tls, server, record->host), server);
	if (connect_ends(&c))
		carry(&c);
	record->up = c.server.sent;
	record->down = c.client.sent;
	close_end(&c.client);
	close_end(&c.server);
	release_held(&c);
	buf_wipe(&c.scan);
	echo_free(c.echo);
	return c.reported;
}
