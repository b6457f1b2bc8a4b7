/* conn.h - a raw connection through libcurl: TLS and proxies, no HTTP. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "base/buf.h"
#include "base/stop.h"
#include "net/http.h"

/* For protocols that begin as HTTP/1.1 and then take the connection over
 * (Docker's exec stream, WebSocket). Through a proxy it is a tunnel (CONNECT).
 * One thread at a time. */
struct conn;

struct conn_target {
	const char *url;         /* its scheme, host and port count */
	const char *unix_socket; /* connect there instead, or NULL */
	unsigned flags;          /* HTTP_NO_PROXY */
};
/* Within 30 s. */
int conn_open(struct conn **c, struct http *h, const struct conn_target *to,
	      const struct stop *stop, struct error *err);
void conn_close(struct conn *c); /* never blocks; NULL is fine */
/* Sends everything or fails. */
int conn_send(struct conn *c, struct str data, const struct stop *stop,
	      struct error *err);
/* Sends what can be sent without waiting; returns how many bytes, or -1. */
int64_t conn_try_send(struct conn *c, struct str data, struct error *err);
/* Waits for bytes and reads up to len of them; 0 is the end of the stream. */
int64_t conn_recv(struct conn *c, char *room, size_t len,
		  const struct stop *stop, struct error *err);
/* Reads what is there without waiting: 0 when nothing is, *closed at the end
 * of the stream. */
int64_t conn_try_recv(struct conn *c, char *room, size_t len, bool *closed,
		      struct error *err);
/*
 * Sleeps until something can be read or, with to_write, written, or for ms
 * (-1: for ever), or until stop says otherwise (-1). Read what is there
 * first: TLS may hold bytes that the socket no longer has.
 */
int conn_wait(struct conn *c, bool to_write, int64_t ms,
	      const struct stop *stop, struct error *err);
/* The same for writing alone, when nothing shall be read now. */
int conn_wait_writable(struct conn *c, int64_t ms, const struct stop *stop,
		       struct error *err);
/* No more will be sent: the peer reads the end of the stream. */
void conn_finish(struct conn *c);

#endif
