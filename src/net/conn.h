/* conn.h - a raw connection through libcurl: TLS and proxies, no HTTP. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "base/buf.h"
#include "base/stop.h"
#include "net/http.h"

/* For protocols that start as HTTP/1.1 and then use the connection for
 * something else (Docker's exec stream, WebSocket). A proxy is asked for a
 * tunnel (CONNECT). A connection may be used by one thread at a time. */
struct conn;

struct conn_target {
	const char *url; /* only scheme, host and port are used */
	/* connect to this Unix socket instead of the URL's host, or NULL */
	const char *unix_socket;
	unsigned flags; /* HTTP_NO_PROXY */
};
/* Connects within 30 s. */
int conn_open(struct conn **c, struct http *h, const struct conn_target *to,
	      const struct stop *stop, struct error *err);
void conn_close(struct conn *c); /* never blocks; NULL is allowed */
/* Sends all of data or fails. */
int conn_send(struct conn *c, struct str data, const struct stop *stop,
	      struct error *err);
/* Sends what fits without waiting. Returns the number of bytes, or -1. */
int64_t conn_try_send(struct conn *c, struct str data, struct error *err);
/* Waits for data and reads up to len bytes; 0 at the end of the stream. */
int64_t conn_recv(struct conn *c, char *room, size_t len,
		  const struct stop *stop, struct error *err);
/* Reads available data without waiting. Returns 0 if there is none, and then
 * sets *closed if the stream has ended. */
int64_t conn_try_recv(struct conn *c, char *room, size_t len, bool *closed,
		      struct error *err);
/* Waits until the connection is readable (to_write: or writable), for at most
 * ms (-1: no limit). -1 if stop ended the wait. Call conn_try_recv() first: TLS
 * may have buffered bytes that poll() does not see. */
int conn_wait(struct conn *c, bool to_write, int64_t ms,
	      const struct stop *stop, struct error *err);
/* Like conn_wait(), but also until the descriptor `other` is readable. */
int conn_wait_or(struct conn *c, bool to_write, int other, int64_t ms,
		 const struct stop *stop, struct error *err);
/* Like conn_wait(), but only until the connection is writable: received data
 * does not end the wait. */
int conn_wait_writable(struct conn *c, int64_t ms, const struct stop *stop,
		       struct error *err);
/* Ends the sending direction: the peer reads the end of the stream. */
void conn_finish(struct conn *c);

#endif
