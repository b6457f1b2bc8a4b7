/* ws.h - a WebSocket client (RFC 6455) over a raw connection of libcurl. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_WS_H
#define NET_WS_H

#include "net/http.h"
#include "net/ws_frame.h"

/*
 * One connection. One thread at a time; a cancel from elsewhere ends a blocked
 * call at once. Pings are answered and sent, and close frames answered, while
 * a call below waits, at no other time. No extension is offered.
 */
struct ws;

struct ws_request {
	const char *url; /* ws:// or wss://; http:// and https:// mean the same
			  */
	const char *const *headers; /* "Name: value", NULL-terminated, or NULL;
				       none of the handshake's own */
	const char *protocols;      /* subprotocols "a, b" to offer, or NULL */
	size_t message_max; /* bytes of one message; 0: 16 MiB. A larger one
			       fails the connection */
	uint64_t total_max; /* bytes received altogether; 0: no limit */
	int64_t open_ms;    /* for the whole opening; 0: 60 s */
	int64_t ping_ms;    /* between our pings; 0: none */
	int64_t pong_ms;    /* nothing at all comes for so long after a ping:
			       ERR_NETWORK; 0: 30 s */
	int64_t idle_ms;    /* calls wait for so long, in all, without a byte in
			       either direction: ERR_NETWORK; 0: never */
	unsigned flags;     /* HTTP_NO_PROXY */
	/* Each header line of the answer, without line end; may be NULL. */
	void (*header)(void *arg, struct str line);
	void *arg;
	/* Filled when the server answered, whether it agreed or refused
	 * (status 0: no answer); the caller releases it. May be NULL. */
	struct http_response *answer;
};

/*
 * Connects (TLS, proxies: conn.h) and shakes hands. A status of 400 and more
 * is the error of http_status_error(); below that, and whatever else is not a
 * correct 101 for our key, is ERR_PROTOCOL. A header with a line end in it or
 * a bad address is ERR_CONFIG, nothing is sent then.
 */
int ws_open(struct ws **ws, struct http *h, const struct ws_request *req,
	    const struct stop *stop, struct error *err);
/* Ends the connection as it is; never blocks; NULL is fine. */
void ws_free(struct ws *ws);
/* The subprotocol that the server chose, or "". */
const char *ws_protocol(const struct ws *ws);

/*
 * Sends one message, in fragments, and returns when the system has all of it.
 * What comes meanwhile is kept for ws_receive() (up to message_max, then it
 * stays with the sender). Text must be UTF-8: else ERR_USAGE, nothing sent.
 * After -1 by a cancel or deadline the message may have arrived; further ones
 * are refused, receiving and closing still work. A call whose stop is over
 * before it begins sends nothing and spoils nothing. ERR_GONE: closed.
 */
int ws_send(struct ws *ws, enum ws_kind kind, struct str message,
	    const struct stop *stop, struct error *err);
/*
 * Waits for one whole message: 1 with *message holding nothing else (its
 * memory is exchanged, its ceiling stays) and *kind; 0 once the server has
 * closed, in order, see ws_code(); -1: ERR_PROTOCOL, ERR_LIMIT (both close
 * the connection with the fitting code), ERR_NETWORK (reset, cut, stalled, no
 * pong), or what stop says: then nothing is lost and it may be called again.
 * What came before a failure is delivered before it.
 */
int ws_receive(struct ws *ws, struct buf *message, enum ws_kind *kind,
	       const struct stop *stop, struct error *err);
/*
 * The closing handshake: sends the code (one that ws_code_valid() knows) and
 * at most 123 bytes of reason (UTF-8; cut), drops what still comes and waits
 * for the answer, 5 s at most. 0: both sides have closed. Call ws_free() in
 * any case.
 */
int ws_close(struct ws *ws, int code, const char *reason,
	     const struct stop *stop, struct error *err);

/* How it ended: the server's code, WS_CODE_NONE when it gave none,
 * WS_CODE_ABNORMAL when it did not close in order; 0 while it is open. */
int ws_code(const struct ws *ws);
/* The server's words, UTF-8 but otherwise untrusted, or "". */
const char *ws_reason(const struct ws *ws);

/*
 * The opening (RFC 6455 §4) as pure text, for the unit tests and for Docker's
 * upgraded connections.
 */
enum {
	WS_KEY_SIZE = 25,
	WS_ACCEPT_SIZE = 29,
	WS_PROTOCOL_SIZE = 64,
	SHA1_LEN = 20,
};
/* SHA-1 (RFC 3174). No secret depends on it: RFC 6455 §4.2.2 uses it to show
 * that the server has read the request. */
void sha1(struct str data, unsigned char out[SHA1_LEN]);
/* The correct Sec-WebSocket-Accept for key. */
void ws_accept(const char *key, char accept[WS_ACCEPT_SIZE]);
/* The address in http:// or https:// for the connection; owned by the caller.
 * NULL with ERR_CONFIG for one that cannot be used. */
char *ws_connect_url(const char *url, struct error *err);
/* Appends the request; url has passed ws_connect_url(). ERR_CONFIG names a
 * header that cannot be sent, never its value. */
int ws_request_write(const struct ws_request *req, const char *key,
		     struct buf *out, struct error *err);
/* Size of the head at the front of in, with its empty line; 0: not complete. */
size_t ws_head_size(struct str in);
/* Status of an answer in HTTP/1, or 0. */
int ws_head_status(struct str head);
/* The next line of *rest without its end; false at the empty one. */
bool ws_head_line(struct str *rest, struct str *line);
/* 0 if the head of a 101 answers key as §4.1 demands; protocol then has the
 * chosen one of those offered (may be NULL), or "". */
int ws_head_check(struct str head, const char *key, const char *offered,
		  char protocol[WS_PROTOCOL_SIZE], struct error *err);
/* Appends the body that follows the head, as far as raw has it, without its
 * transfer coding. True if that is all of it; false also if only the end of the
 * connection can tell. */
bool ws_head_body(struct str head, struct str raw, struct buf *body);

#endif
