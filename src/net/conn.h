/* conn.h - a raw connection through libcurl: TLS and proxies, no HTTP. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "base/buf.h"
#include "base/stop.h"
#include "net/http.h"

/* For protocols that begin as HTTP/1.1 and then take the connection over
 * (Docker's exec stream, WebSocket). One thread at a time. */
struct conn;

/* Connects to url's host (or unix_socket when not NULL). */
int conn_open(struct conn **c, struct http *h, const char *url,
	      const char *unix_socket, const struct stop *stop,
	      struct error *err);
void conn_close(struct conn *c); /* never blocks; NULL is fine */
/* Sends everything or fails. */
int conn_send(struct conn *c, struct str data, const struct stop *stop,
	      struct error *err);
/*
 * Waits until bytes can be read, or *may_write is set and can be written, or
 * also_fd (-1: none) is readable. Then reads up to len bytes: returns how
 * many, 0 when nothing was there to read; *closed is set at the end of the
 * stream. -1 on error.
 */
int64_t conn_recv(struct conn *c, char *room, size_t len, bool *closed,
		  const struct stop *stop, struct error *err);
/* Sends what can be sent without waiting; returns how many bytes, or -1. */
int64_t conn_try_send(struct conn *c, struct str data, struct error *err);
int conn_fd(const struct conn *c); /* to poll */

#endif
