/* ws.h - a WebSocket client (RFC 6455) over a raw libcurl connection. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_WS_H
#define NET_WS_H

#include "net/http.h"
#include "net/ws_frame.h"

/* One connection, used by one thread at a time. A cancel from another thread
 * ends a blocked call at once. Pings are sent, and pings and close frames are
 * answered, only during the calls below. No extensions are offered. */
struct ws;

struct ws_request {
	const char *url; /* ws:// or wss://; http:// and https:// mean the
			  * same */
	/* "Name: value", NULL-terminated, or NULL; must not repeat the
	 * handshake's headers */
	const char *const *headers;
	const char *protocols; /* subprotocols "a, b" to offer, or NULL */
	size_t message_max;    /* bytes of one message; 0: 16 MiB. A larger one
				* fails the connection */
	uint64_t total_max; /* bytes received on this connection; 0: no limit */
	int64_t open_ms;    /* limit for the whole opening; 0: 60 s */
	int64_t ping_ms;    /* between pings; 0: none */
	/* limit without any data after a ping was sent: then ERR_NETWORK; 0: 30
	 * s */
	int64_t pong_ms;
	/* Limit of silence: time spent waiting in calls (time between calls
	 * does not count) without a byte in either direction. Then ERR_NETWORK;
	 * 0: none. */
	int64_t idle_ms;
	unsigned flags; /* HTTP_NO_PROXY */
	/* Receives each header line of the answer, without line end. May be
	 * NULL. */
	void (*header)(void *arg, struct str line);
	void *arg;
	/* Filled if the server answered, whether the opening succeeds or not;
	 * status is 0 if it did not answer. The caller releases it. May be
	 * NULL. */
	struct http_response *answer;
};

/* Connects (with TLS and proxies, see conn.h) and does the handshake. A status
 * of 300 or more gives the error of http_status_error(). ERR_PROTOCOL: any
 * other answer that is not a correct 101 for the handshake's key. ERR_CONFIG: a
 * header contains a line end, or the address is invalid; nothing is sent. */
int ws_open(struct ws **ws, struct http *h, const struct ws_request *req,
	    const struct stop *stop, struct error *err);
/* Closes the connection without a handshake. Never blocks. NULL is allowed. */
void ws_free(struct ws *ws);
/* The subprotocol that the server chose, or "". */
const char *ws_protocol(const struct ws *ws);

/* Sends one message, in fragments. Returns when the system has taken all of it.
 * Messages received meanwhile are queued for ws_receive(), up to message_max
 * bytes; then reading pauses. ERR_USAGE: the text is not UTF-8, nothing is
 * sent. ERR_GONE: closed. After a cancel or timeout the message may have
 * arrived; further sends fail, but receiving and closing still work. If stop
 * has ended before the call, nothing is sent and the connection stays
 * usable. */
int ws_send(struct ws *ws, enum ws_kind kind, struct str message,
	    const struct stop *stop, struct error *err);
/* Waits for one complete message. Returns 1 with the message in *message and
 * its *kind; the memory of *message is swapped, its limit stays. Returns 0
 * after the server closed properly, see ws_code(). -1: ERR_PROTOCOL or
 * ERR_LIMIT (both close the connection with the matching code), ERR_NETWORK
 * (reset, truncated, stalled, no pong), or the error of stop: in that case
 * nothing is lost and ws_receive() may be called again. Messages received
 * before a failure are delivered first. */
int ws_receive(struct ws *ws, struct buf *message, enum ws_kind *kind,
	       const struct stop *stop, struct error *err);
/* The closing handshake: sends the code (valid for ws_code_valid()) and up to
 * 123 bytes of reason (UTF-8; truncated), discards incoming messages and waits
 * up to 5 s for the answer. 0: both sides have closed. Call ws_free() in every
 * case. */
int ws_close(struct ws *ws, int code, const char *reason,
	     const struct stop *stop, struct error *err);

/* Returns the server's close code: WS_CODE_NONE if it sent none,
 * WS_CODE_ABNORMAL if it did not close properly; 0 while the connection is
 * open. */
int ws_code(const struct ws *ws);
/* The server's close reason, or "". UTF-8, but otherwise untrusted. */
const char *ws_reason(const struct ws *ws);

/* The opening handshake (RFC 6455 §4) as pure functions, for the unit tests and
 * for Docker's upgraded connections. */
enum {
	WS_KEY_SIZE = 25,
	WS_ACCEPT_SIZE = 29,
	WS_PROTOCOL_SIZE = 64,
	SHA1_LEN = 20,
};
/* SHA-1 (RFC 3174). Not used for secrecy: in RFC 6455 §4.2.2 it shows that the
 * server has read the request. */
void sha1(struct str data, unsigned char out[SHA1_LEN]);
/* Computes Sec-WebSocket-Accept for key. */
void ws_accept(const char *key, char accept[WS_ACCEPT_SIZE]);
/* Converts the address to http:// or https:// for the connection; owned by the
 * caller. NULL with ERR_CONFIG if it is unusable. */
char *ws_connect_url(const char *url, struct error *err);
/* Appends the request. url must be valid for ws_connect_url(). ERR_CONFIG names
 * a header that cannot be sent, without its value. */
int ws_request_write(const struct ws_request *req, const char *key,
		     struct buf *out, struct error *err);
/* Size of the headers at the start of in, with the empty line; 0 if
 * incomplete. */
size_t ws_head_size(struct str in);
/* HTTP/1 status of an answer, or 0. */
int ws_head_status(struct str head);
/* Removes the next line from *rest and returns it in *line without its end.
 * False at the empty line. */
bool ws_head_line(struct str *rest, struct str *line);
/* 0 if the headers of a 101 answer match key as §4.1 requires. protocol
 * receives the subprotocol chosen from offered (may be NULL), or "". */
int ws_head_check(struct str head, const char *key, const char *offered,
		  char protocol[WS_PROTOCOL_SIZE], struct error *err);
/* Appends the part of the answer's body that is in raw, with chunks decoded.
 * True if the body is complete. False also if the body ends only when the
 * connection closes. */
bool ws_head_body(struct str head, struct str raw, struct buf *body);

#endif
