/* ws.c - a WebSocket client (RFC 6455) over a raw libcurl connection. */
/* SPDX-License-Identifier: MIT */
/* The first half is the opening handshake: SHA-1, the request and the checks of
 * the answer as pure functions (§4), then ws_connect(), which uses conn.c. The
 * second half is the open connection: ws_send(), ws_receive() and ws_close()
 * all use move_bytes(), which moves bytes in both directions. ws_frame.c
 * encodes and parses frames. */
#include "net/ws.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/mem.h"
#include "net/conn.h"
#include "net/handles.h"
#include "net/http.h"

/* A connection after the handshake. */
struct ws_link {
	struct conn *conn;
	struct buf rest; /* bytes received after the headers */
	char protocol[WS_PROTOCOL_SIZE];
};

/* SHA-1: block size in bytes, number of rounds */
enum { BLOCK = 64, ROUNDS = 80 };

static uint32_t rotate_left(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

/* The function and constant of a round (RFC 3174 §5). */
static uint32_t round_value(int round, const uint32_t v[5])
{
	if (round < 20)
		return ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5a827999u;
	if (round < 40)
		return (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1u;
	if (round < 60)
		return ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) +
		       0x8f1bbcdcu;
	return (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6u;
}

/* Adds one block to the SHA-1 state. */
static void add_block(uint32_t h[5], const unsigned char *p)
{
	uint32_t w[ROUNDS];
	uint32_t v[5];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 |
		       (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
	for (int i = 16; i < ROUNDS; i++)
		w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16],
				   1);
	memcpy(v, h, sizeof(v));
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t next =
			rotate_left(v[0], 5) + round_value(i, v) + v[4] + w[i];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate_left(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (int i = 0; i < 5; i++)
		h[i] += v[i];
}

void sha1(struct str data, unsigned char out[SHA1_LEN])
{
	uint32_t h[5] = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
			  0xc3d2e1f0u };
	unsigned char tail[2 * BLOCK] = { 0 };
	uint64_t bits = (uint64_t)data.len * 8;
	size_t end;

	while (data.len >= BLOCK) {
		add_block(h, (const unsigned char *)data.ptr);
		data = str_skip(data, BLOCK);
	}
	if (data.len)
		memcpy(tail, data.ptr, data.len);
	tail[data.len] = 0x80;
	end = data.len < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (size_t i = 0; i < 8; i++)
		tail[end - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < end; at += BLOCK)
		add_block(h, tail + at);
	for (size_t i = 0; i < SHA1_LEN; i++)
		out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

/* Fixed by RFC 6455 §1.3. */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

void ws_accept(const char *key, char accept[WS_ACCEPT_SIZE])
{
	struct buf text = BUF_INIT(256);
	unsigned char digest[SHA1_LEN];

	buf_adds(&text, key);
	buf_adds(&text, GUID);
	sha1(buf_str(&text), digest);
	sodium_bin2base64(accept, WS_ACCEPT_SIZE, digest, sizeof(digest),
			  sodium_base64_VARIANT_ORIGINAL);
	buf_release(&text);
}

/* Returns the part of an address after its scheme and sets *secure. Empty for
 * an unknown scheme. */
static struct str after_scheme(const char *url, bool *secure)
{
	static const struct {
		const char *scheme;
		bool secure;
	} schemes[] = {
		{ "ws://", false },
		{ "wss://", true },
		{ "http://", false },
		{ "https://", true },
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t len = strlen(schemes[i].scheme);

		if (strncasecmp(url, schemes[i].scheme, len) == 0) {
			*secure = schemes[i].secure;
			return str_of(url + len);
		}
	}
	return (struct str){ 0 };
}

static struct str authority_of(struct str rest)
{
	size_t n = 0;

	while (n < rest.len && !strchr("/?#", rest.ptr[n]))
		n++;
	return (struct str){ rest.ptr, n };
}

char *ws_connect_url(const char *url, struct error *err)
{
	bool secure = false;
	struct str rest = after_scheme(url, &secure);
	struct str host = authority_of(rest);

	if (!host.len || !str_is_visible(rest) ||
	    str_find(host, '@') < host.len) {
		error_set(err, ERR_CONFIG,
			  "not a WebSocket address (wss://host/path)");
		return NULL;
	}
	return xasprintf("%s://%.*s/", secure ? "https" : "http", (int)host.len,
			 host.ptr);
}

static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* True for a header that the handshake sends itself: the caller must not set
 * it. */
static bool is_ours(struct str name)
{
	static const char *const ours[] = { "Host",       "Upgrade",
					    "Connection", "Content-Length",
					    "User-Agent", "Transfer-Encoding" };
	static const char prefix[] = "Sec-WebSocket-";

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (str_is_nocase(name, ours[i]))
			return true;
	return name.len >= sizeof(prefix) - 1 &&
	       strncasecmp(name.ptr, prefix, sizeof(prefix) - 1) == 0;
}

/* True if the value may be sent. Line ends and other control characters may
 * not: they could be in a pasted token. */
static bool is_value(struct str value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* Appends a header of the caller after checking it. */
static int add_header(struct buf *out, const char *header, struct error *err)
{
	struct str line = str_of(header);
	struct str name = { line.ptr, str_find(line, ':') };
	size_t good = 0;

	while (good < name.len && is_token(name.ptr[good]))
		good++;
	if (!good || good < name.len || name.len == line.len)
		return error_set(err, ERR_CONFIG,
				 "a header has an invalid name");
	if (is_ours(name) || !is_value(str_skip(line, name.len)))
		return error_set(err, ERR_CONFIG, "header %.*s: %s",
				 (int)(name.len < 64 ? name.len : 64), name.ptr,
				 is_ours(name)
					 ? "it is part of the handshake"
					 : "its value has control characters");
	buf_addstr(out, line);
	buf_adds(out, "\r\n");
	return 0;
}

int ws_request_write(const struct ws_request *req, const char *key,
		     struct buf *out, struct error *err)
{
	bool secure;
	struct str rest = after_scheme(req->url, &secure);
	struct str host = authority_of(rest);
	struct str path = str_skip(rest, host.len);

	path.len = str_find(path, '#');
	buf_addf(out,
		 "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: dcode\r\n"
		 "Upgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
		 path.len && path.ptr[0] == '/' ? "" : "/", (int)path.len,
		 path.len ? path.ptr : "", (int)host.len, host.ptr, key);
	if (req->protocols && !is_value(str_of(req->protocols)))
		return error_set(err, ERR_CONFIG, "a bad subprotocol");
	if (req->protocols)
		buf_addf(out, "Sec-WebSocket-Protocol: %s\r\n", req->protocols);
	for (size_t i = 0; req->headers && req->headers[i]; i++)
		if (add_header(out, req->headers[i], err) < 0)
			return -1;
	buf_adds(out, "\r\n");
	return buf_check(out, "the WebSocket's request", err);
}

size_t ws_head_size(struct str in)
{
	size_t at = str_search(in, STR("\r\n\r\n"));

	return at < in.len ? at + 4 : 0;
}

int ws_head_status(struct str head)
{
	struct str rest = str_skip(head, 9);
	int64_t status;

	if (!str_starts(head, "HTTP/1.") || head.len < 13 ||
	    head.ptr[8] != ' ' || (head.ptr[12] != ' ' && head.ptr[12] != '\r'))
		return 0;
	rest.len = 3;
	return str_to_int(rest, &status) && status >= 100 ? (int)status : 0;
}

bool ws_head_line(struct str *rest, struct str *line)
{
	size_t end = str_search(*rest, STR("\r\n"));

	*line = (struct str){ rest->ptr, end };
	*rest = str_skip(*rest, end + 2);
	return line->len > 0;
}

/* Counts the headers of that name; *value is the last one. */
static int find_field(struct str head, const char *name, struct str *value)
{
	struct str line;
	int n = 0;

	*value = (struct str){ 0 };
	(void)ws_head_line(&head, &line); /* skip the status line */
	while (ws_head_line(&head, &line)) {
		struct str before = { line.ptr, str_find(line, ':') };

		if (!str_is_nocase(before, name))
			continue;
		*value = str_trim(str_skip(line, before.len + 1));
		n++;
	}
	return n;
}

/* True if item is in a comma-separated list. */
static bool list_has(struct str values, struct str item, bool any_case)
{
	struct str one;

	while (str_split(&values, ',', &one)) {
		one = str_trim(one);
		if (one.len != item.len || !item.len)
			continue;
		if (any_case ? strncasecmp(one.ptr, item.ptr, item.len) == 0
			     : str_eq(one, item))
			return true;
	}
	return false;
}

/* True if item is listed in any header of that name. */
static bool field_lists(struct str head, const char *name, struct str item)
{
	struct str line;

	(void)ws_head_line(&head, &line);
	while (ws_head_line(&head, &line)) {
		struct str before = { line.ptr, str_find(line, ':') };

		if (str_is_nocase(before, name) &&
		    list_has(str_skip(line, before.len + 1), item, true))
			return true;
	}
	return false;
}

static int refuse_opening(struct error *err, const char *why)
{
	return error_set(err, ERR_PROTOCOL,
			 "the server did not open the WebSocket: %s", why);
}

int ws_head_check(struct str head, const char *key, const char *offered,
		  char protocol[WS_PROTOCOL_SIZE], struct error *err)
{
	char accept[WS_ACCEPT_SIZE];
	struct str value;
	int n;

	protocol[0] = '\0';
	ws_accept(key, accept);
	if (!str_starts(head, "HTTP/1.1"))
		return refuse_opening(err, "it uses an older HTTP version");
	if (find_field(head, "Upgrade", &value) != 1 ||
	    !str_is_nocase(value, "websocket"))
		return refuse_opening(err, "it upgrades to another protocol");
	if (!field_lists(head, "Connection", STR("Upgrade")))
		return refuse_opening(err, "Connection is not Upgrade");
	if (find_field(head, "Sec-WebSocket-Accept", &value) != 1 ||
	    !str_is(value, accept))
		return refuse_opening(err,
				      "Sec-WebSocket-Accept does not match");
	if (find_field(head, "Sec-WebSocket-Extensions", &value) && value.len)
		return refuse_opening(
			err, "it uses an extension that was not offered");
	n = find_field(head, "Sec-WebSocket-Protocol", &value);
	if (!n)
		return 0;
	if (n > 1 || value.len >= WS_PROTOCOL_SIZE ||
	    !list_has(str_of(offered), value, false))
		return refuse_opening(err,
				      "it chose a subprotocol not offered");
	memcpy(protocol, value.ptr, value.len);
	protocol[value.len] = '\0';
	return 0;
}

/* Parses a chunk's size in hexadecimal; false if it is invalid. */
static bool chunk_size(struct str line, size_t *size)
{
	static const char digits[] = "0123456789abcdef";

	line.len = str_find(line, ';');
	line = str_trim(line);
	*size = 0;
	if (!line.len || line.len > 7)
		return false;
	for (size_t i = 0; i < line.len; i++) {
		char low = line.ptr[i] >= 'A' && line.ptr[i] <= 'F'
				   ? (char)(line.ptr[i] + ('a' - 'A'))
				   : line.ptr[i];
		const char *at = memchr(digits, low, sizeof(digits) - 1);

		if (!at)
			return false;
		*size = *size * 16 + (size_t)(at - digits);
	}
	return true;
}

/* Decodes the chunks (RFC 9112 §7.1) in raw. True if the body is complete. */
static bool decode_chunks(struct str raw, struct buf *body)
{
	for (;;) {
		size_t end = str_search(raw, STR("\r\n"));
		size_t size;

		if (end >= raw.len)
			return false;
		if (!chunk_size((struct str){ raw.ptr, end }, &size) || !size)
			return true;
		raw = str_skip(raw, end + 2);
		if (raw.len < size + 2) {
			raw.len = raw.len < size ? raw.len : size;
			buf_addstr(body, raw);
			return false;
		}
		buf_add(body, raw.ptr, size);
		raw = str_skip(raw, size + 2);
	}
}

bool ws_head_body(struct str head, struct str raw, struct buf *body)
{
	struct str value;
	int64_t len;

	if (field_lists(head, "Transfer-Encoding", STR("chunked")))
		return decode_chunks(raw, body);
	if (find_field(head, "Content-Length", &value) != 1 ||
	    !str_to_int(value, &len) || len < 0) {
		buf_addstr(body, raw);
		return false;
	}
	if (raw.len > (uint64_t)len)
		raw.len = (size_t)len;
	buf_addstr(body, raw);
	return raw.len == (uint64_t)len;
}

enum {
	OPEN_MS = 60000,
	REFUSED_MS = 5000,   /* limit for reading the body of a refusal */
	REQUEST_MAX = 65536, /* bytes */
	HEAD_MAX = 65536,    /* bytes of the headers of one response */
	BODY_MAX = 65536,    /* bytes read of a refusal's body */
	PIECE = 4096,
};

struct opening {
	struct ws_link *link;
	struct http *http;
	const struct ws_request *req;
	/* the caller's response, or a local one */
	struct http_response *answer;
	char key[WS_KEY_SIZE];
};

/* Connects and sends the handshake's request. */
static int send_request(struct opening *o, const struct stop *stop,
			struct error *err)
{
	struct buf text = BUF_INIT(REQUEST_MAX);
	struct conn_target to = { .flags = o->req->flags };
	unsigned char raw[16];
	char *url = ws_connect_url(o->req->url, err);
	int rc = -1;

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2base64(o->key, sizeof(o->key), raw, sizeof(raw),
			  sodium_base64_VARIANT_ORIGINAL);
	to.url = url;
	if (url && ws_request_write(o->req, o->key, &text, err) == 0 &&
	    conn_open(&o->link->conn, o->http, &to, stop, err) == 0)
		rc = conn_send(o->link->conn, buf_str(&text), stop, err);
	buf_wipe(&text); /* tokens */
	free(url);
	return rc;
}

/* Reads more of the answer: 1, 0 at the end of the stream, or -1. */
static int read_more(struct opening *o, size_t max, const struct stop *stop,
		     struct error *err)
{
	struct buf *in = &o->link->rest;
	char *room = in->len < max ? buf_room(in, PIECE) : NULL;
	int64_t n;

	if (!room)
		return error_set(err, ERR_PROTOCOL,
				 "the server's answer is too long");
	n = conn_recv(o->link->conn, room, PIECE, stop, err);
	if (n > 0)
		buf_added(in, (size_t)n);
	return n > 0 ? 1 : (int)n;
}

/* Reads until the headers are complete; *size is their length. */
static int read_head(struct opening *o, size_t *size, const struct stop *stop,
		     struct error *err)
{
	for (;;) {
		int got;

		*size = ws_head_size(buf_str(&o->link->rest));
		if (*size)
			return 0;
		got = read_more(o, HEAD_MAX, stop, err);
		if (got < 0)
			return -1;
		if (!got)
			return error_set(err, ERR_NETWORK,
					 "the server ended the connection "
					 "before it answered");
	}
}

/* Passes the answer's headers to the caller. */
static void note_head(struct opening *o, struct str head,
		      const struct curl_api *api)
{
	struct str line;

	(void)ws_head_line(&head, &line);
	head_status(o->answer, line);
	while (ws_head_line(&head, &line)) {
		head_field(o->answer, line, api);
		if (o->req->header)
			o->req->header(o->req->arg, line);
	}
}

/* Reads the body of a refusal for a short time and makes an error of it. */
static int read_refusal(struct opening *o, size_t head, const struct stop *stop,
			struct error *err)
{
	struct http_response *answer = o->answer;
	struct stop brief = stop_within(stop, REFUSED_MS);
	struct error ignored = { 0 };
	bool whole;

	if (!answer->body.max)
		answer->body.max = BODY_MAX;
	do {
		struct str all = buf_str(&o->link->rest);

		buf_clear(&answer->body);
		whole = ws_head_body((struct str){ all.ptr, head },
				     str_skip(all, head), &answer->body);
	} while (!whole && read_more(o, head + BODY_MAX, &brief, &ignored) > 0);
	if (stop_check(stop, err) < 0)
		return -1;
	http_status_error(answer, "opening the WebSocket", err);
	if (answer->status < 300)
		err->code = ERR_PROTOCOL;
	return -1;
}

/* Does the handshake: sends the request and checks the answer. */
static int shake_hands(struct opening *o, const struct stop *stop,
		       struct error *err)
{
	const struct curl_api *api = http_api(o->http, stop, err);
	struct buf *in = &o->link->rest;
	struct str text;
	size_t head;
	int status;

	if (!api || send_request(o, stop, err) < 0)
		return -1;
	for (;;) {
		if (read_head(o, &head, stop, err) < 0)
			return -1;
		text = (struct str){ in->ptr, head };
		status = ws_head_status(text);
		if (status < 100 || status >= 200 || status == 101)
			break;
		buf_consume(in, head); /* skip an interim answer, such as 103
					* Early Hints */
	}
	if (!status)
		return error_set(err, ERR_PROTOCOL,
				 "the server does not speak HTTP/1.1");
	o->answer->began = true;
	note_head(o, text, api);
	if (status != 101)
		return read_refusal(o, head, stop, err);
	if (ws_head_check(text, o->key, o->req->protocols, o->link->protocol,
			  err) < 0)
		return -1;
	buf_consume(in, head);
	return 0;
}

/* Opens the connection as ws_open() describes. If it returns 0, the caller owns
 * the members of *link. */
static int ws_connect(struct ws_link *link, struct http *h,
		      const struct ws_request *req, const struct stop *stop,
		      struct error *err)
{
	int64_t ms = req->open_ms ? req->open_ms : OPEN_MS;
	struct stop within = stop_within(stop, ms);
	struct http_response own = { .retry_after_ms = -1 };
	struct opening o = { .link = link,
			     .http = h,
			     .req = req,
			     .answer = req->answer ? req->answer : &own };
	int rc;

	*link = (struct ws_link){ .rest = BUF_INIT(HEAD_MAX + BODY_MAX +
						   2 * PIECE) };
	o.answer->status = 0;
	o.answer->retry_after_ms = -1;
	rc = shake_hands(&o, &within, err);
	http_response_release(&own);
	if (rc == 0)
		return 0;
	if (!err->http_status)
		err->http_status = o.answer->status;
	conn_close(link->conn);
	buf_release(&link->rest);
	*link = (struct ws_link){ 0 };
	/* If the limit for the opening expired, and not the caller's deadline,
	 * it is a network failure: a retry may work. */
	if (err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		return error_set(
			err, ERR_NETWORK,
			"the server did not open the WebSocket within %d s",
			(int)(ms / 1000));
	return -1;
}

enum {
	/* Largest payload of a frame sent, so that pongs fit between frames.
	 * Rarely reached: the vendors' own clients do not fragment. */
	FRAGMENT = 256 << 10,
	CONTROL = 6 + WS_CONTROL_MAX, /* bytes of the largest control frame */
	OUT_MAX = WS_HEAD_MAX + FRAGMENT + 4 * CONTROL,
	IN_MAX = 65536,
	REASON_MAX = WS_CONTROL_MAX - 2,
	MESSAGE_MAX = 16 << 20,
	PONG_MS = 30000,
	CLOSE_MS = 5000,
};

/* A received message that waits for ws_receive(). */
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
	size_t queued;  /* total bytes of these messages */
	uint64_t total; /* bytes received on this connection */
	uint64_t total_max;
	/* Complete frames to send. Bytes must not move while some are unsent:
	 * TLS must be given the same buffer again. */
	unsigned char *out; /* owned: OUT_MAX bytes */
	size_t out_at, out_len;
	char *in;        /* owned: IN_MAX bytes */
	struct buf pong; /* payload of a pong, sent when there is room */
	bool pong_due;
	bool unfinished; /* sending a message was cancelled midway */
	bool unsendable; /* the connection accepts no more bytes */
	bool close_sent;
	bool closed;   /* the server's close frame was received */
	bool ended;    /* the end of the stream was reached */
	bool awaiting; /* a ping was sent and nothing received since */
	int64_t ping_ms, pong_ms, idle_ms;
	int64_t pinged_at; /* clock_ms() */
	int64_t moved_at;  /* clock_ms() of the last byte; time between calls
			    * is not counted */
	int64_t seen_at;   /* clock_ms() at the end of the last wait */
	int code;
	char reason[WS_CONTROL_MAX + 1];
	char protocol[WS_PROTOCOL_SIZE];
	struct error failed; /* the error of every later call */
};

static int fail_connection(struct ws *ws, enum err code, const char *why)
{
	if (!ws->failed.code)
		error_set(&ws->failed, code, "WebSocket: %s", why);
	if (!ws->code)
		ws->code = WS_CODE_ABNORMAL;
	return -1;
}

static size_t count_unsent(const struct ws *ws)
{
	return ws->out_len - ws->out_at;
}

static void append_frame(struct ws *ws, unsigned first, struct str payload)
{
	unsigned char key[4];

	randombytes_buf(key, sizeof(key)); /* RFC 6455 §5.3: a new key for
					    * each frame */
	ws->out_len +=
		ws_frame_write(ws->out + ws->out_len, first, payload, key);
}

/* Queues a close frame, at most once. */
static void queue_close(struct ws *ws, int code, struct str reason)
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
	append_frame(ws, WS_FIN | WS_CLOSE, payload);
}

/* Sends what fits without waiting. True if something was sent. Does not report
 * a failure: there may still be received data to read first. */
static bool send_pending(struct ws *ws)
{
	struct error ignored = { 0 };
	bool moved = false;

	/* leave room for a close frame */
	if (ws->pong_due && ws->out_len + 2 * CONTROL <= OUT_MAX) {
		append_frame(ws, WS_FIN | WS_PONG, buf_str(&ws->pong));
		ws->pong_due = false;
	}
	while (count_unsent(ws)) {
		struct str rest = { (const char *)ws->out + ws->out_at,
				    count_unsent(ws) };
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

static void enqueue_message(struct ws *ws)
{
	struct ws_message *m = xcalloc(1, sizeof(*m));

	m->bytes = BUF_INIT(ws->parser.message.max);
	m->kind = ws_parser_take(&ws->parser, &m->bytes);
	ws->queued += sizeof(*m) + m->bytes.cap;
	*ws->last = m;
	ws->last = &m->next;
}

/* Takes the oldest received message; false if there is none. */
static bool dequeue_message(struct ws *ws, struct buf *to, enum ws_kind *kind)
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

	while (dequeue_message(ws, &bytes, &kind))
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
	queue_close(ws, p->code, (struct str){ 0 });
}

/* Parses received bytes: queues messages, notes pings and the close frame. */
static int parse_frames(struct ws *ws, struct str data)
{
	struct ws_parser *p = &ws->parser;

	for (;;) {
		switch (ws_parser_next(p, &data, &ws->failed)) {
		case WS_MORE:
			return 0;
		case WS_MESSAGE:
			enqueue_message(ws);
			break;
		case WS_PINGED:
			/* RFC 6455 §5.5.3: only the latest ping needs an
			 * answer. */
			buf_clear(&ws->pong);
			buf_add(&ws->pong, p->control, p->control_len);
			ws->pong_due = !ws->close_sent;
			break;
		case WS_PONGED:
			break; /* any data counts as the answer to a ping */
		case WS_CLOSED:
			on_close(ws);
			break;
		default:
			queue_close(ws, p->code, (struct str){ 0 });
			(void)send_pending(ws);
			return fail_connection(ws, ERR_PROTOCOL, "broken");
		}
	}
}

/* Counts and parses received bytes. More than total_max on one connection are
 * an error. */
static int parse_within_limit(struct ws *ws, struct str data)
{
	uint64_t left = ws->total_max - ws->total;
	bool over = ws->total_max && data.len > left;

	if (over)
		data.len = (size_t)left;
	ws->total += data.len;
	if (parse_frames(ws, data) < 0)
		return -1;
	if (!over || ws->closed)
		return 0;
	queue_close(ws, WS_CODE_TOO_BIG, (struct str){ 0 });
	(void)send_pending(ws);
	return fail_connection(ws, ERR_LIMIT, "the server sends too much data");
}

/* Reads available data: 1 if there was some, 0 if not, or -1 with
 * ws->failed. */
static int read_bytes(struct ws *ws)
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
		return fail_connection(
			ws, ERR_NETWORK,
			end ? "the server ended the connection without "
			      "closing it"
			    : why.message);
	}
	if (n == 0)
		return 0;
	ws->moved_at = clock_ms();
	ws->awaiting = false;
	return parse_within_limit(ws, (struct str){ ws->in, (size_t)n }) < 0
		       ? -1
		       : 1;
}

static int64_t shorten_wait(int64_t ms, int64_t at, int64_t now)
{
	int64_t left = at > now ? at - now : 0;

	return ms < 0 || left < ms ? left : ms;
}

/* Returns the ms until the next timer expires (-1: none); 0 also if ws->failed
 * is set. reading: incoming data is being read, so a pong can arrive. */
static int64_t check_clocks(struct ws *ws, bool reading)
{
	int64_t now = clock_ms();
	int64_t ms = -1;

	if (ws->idle_ms && now >= ws->moved_at + ws->idle_ms)
		return fail_connection(ws, ERR_NETWORK, "stalled");
	if (ws->idle_ms)
		ms = shorten_wait(ms, ws->moved_at + ws->idle_ms, now);
	if (ws->awaiting && reading) {
		if (now >= ws->pinged_at + ws->pong_ms)
			return fail_connection(
				ws, ERR_NETWORK,
				"the server does not answer a ping");
		ms = shorten_wait(ms, ws->pinged_at + ws->pong_ms, now);
	}
	if (!ws->ping_ms || ws->awaiting || ws->close_sent || count_unsent(ws))
		return ms;
	if (now >= ws->pinged_at + ws->ping_ms) {
		append_frame(ws, WS_FIN | WS_PING, (struct str){ 0 });
		ws->pinged_at = now;
		ws->awaiting = true;
		return 0;
	}
	return shorten_wait(ms, ws->pinged_at + ws->ping_ms, now);
}

/* Sends and receives what is possible, or waits until something is. -1 only if
 * stop ended the wait: other outcomes are in ws->failed, closed and
 * unsendable. */
static int move_bytes(struct ws *ws, const struct stop *stop, struct error *err)
{
	bool moved = send_pending(ws);
	bool reading = ws->queued < ws->parser.message.max;
	int64_t ms;
	int rc;

	if (stop_check(stop, err) < 0)
		return -1;
	if (reading && read_bytes(ws) != 0)
		return 0;
	if (moved || ws->ended || (ws->closed && !count_unsent(ws)))
		return 0;
	ms = check_clocks(ws, reading);
	if (ws->failed.code || ms == 0)
		return 0;
	rc = reading ? conn_wait(ws->conn, count_unsent(ws) > 0, ms, stop, err)
		     : conn_wait_writable(ws->conn, ms, stop, err);
	ws->seen_at = clock_ms();
	return rc;
}

/* -1 with err if no message can be sent any more. */
static int check_sendable(struct ws *ws, struct error *err)
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

/* Waits until all queued bytes are sent. */
static int drain_output(struct ws *ws, const struct stop *stop,
			struct error *err)
{
	while (count_unsent(ws)) {
		if (move_bytes(ws, stop, err) < 0)
			return -1;
		if (count_unsent(ws) && check_sendable(ws, err) < 0)
			return -1;
	}
	if (ws->unsendable)
		return check_sendable(ws, err);
	return 0;
}

/* Starts a call. The idle timer runs only during calls. */
static int start_call(struct ws *ws, const struct stop *stop, struct error *err)
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

	if (start_call(ws, stop, err) < 0 || check_sendable(ws, err) < 0)
		return -1;
	if (ws->unfinished)
		return error_set(
			err, ERR_NETWORK,
			"WebSocket: an earlier message was sent only in part");
	if (kind == WS_TEXT && !str_is_utf8(message))
		return error_set(err, ERR_USAGE, "text that is not UTF-8");
	do {
		struct str piece = message;

		if (piece.len > FRAGMENT)
			piece.len = FRAGMENT;
		message = str_skip(message, piece.len);
		if (drain_output(ws, stop, err) < 0)
			return -1;
		append_frame(ws, message.len ? first : first | WS_FIN, piece);
		ws->unfinished = true;
		(void)send_pending(ws);
		first = WS_CONTINUATION;
	} while (message.len);
	if (drain_output(ws, stop, err) < 0)
		return -1;
	ws->unfinished = false;
	return 0;
}

int ws_receive(struct ws *ws, struct buf *message, enum ws_kind *kind,
	       const struct stop *stop, struct error *err)
{
	if (start_call(ws, stop, err) < 0)
		return -1;
	while (!dequeue_message(ws, message, kind)) {
		if (ws->failed.code) {
			*err = ws->failed;
			return -1;
		}
		if (ws->closed) {
			(void)send_pending(ws); /* the answering close frame */
			return 0;
		}
		if (move_bytes(ws, stop, err) < 0)
			return -1;
	}
	(void)send_pending(ws); /* send the pong now, not in the next call */
	return 1;
}

int ws_close(struct ws *ws, int code, const char *reason,
	     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, CLOSE_MS);

	if (start_call(ws, &within, err) < 0)
		return -1;
	if (!ws->failed.code)
		queue_close(ws, code, str_of(reason));
	while (!ws->failed.code && (!ws->closed || count_unsent(ws))) {
		drop_queue(ws);
		if (ws->closed && (ws->unsendable || ws->ended))
			break;
		if (move_bytes(ws, &within, err) < 0)
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
	/* Data that arrived together with the handshake's answer. If parsing
	 * fails, the first call reports it. */
	(void)parse_within_limit(ws, buf_str(&link.rest));
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
