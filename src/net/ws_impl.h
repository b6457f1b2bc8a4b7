/* ws_impl.h - the opening of a WebSocket (RFC 6455 §4); not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_WS_IMPL_H
#define NET_WS_IMPL_H

#include "net/conn.h"
#include "net/ws.h"

/* ws_handshake.c: pure text. */
enum { WS_KEY_SIZE = 25, WS_ACCEPT_SIZE = 29, WS_PROTOCOL_SIZE = 64 };

/* What Sec-WebSocket-Accept must say to key. */
void ws_accept(const char *key, char accept[WS_ACCEPT_SIZE]);
/* The address in http:// or https:// for the connection; owned by the caller.
 * NULL with ERR_CONFIG for one that cannot be used. */
char *ws_connect_url(const char *url, struct error *err);
/* Appends the request; url has passed ws_connect_url(). ERR_CONFIG names a
 * header that cannot be sent, never its value. */
int ws_request_write(const struct ws_request *req, const char *key,
		     struct buf *out, struct error *err);

/* Size of the head at the front of in, with its empty line; 0: not whole. */
size_t ws_head_size(struct str in);
/* Status of an answer in HTTP/1, or 0. */
int ws_head_status(struct str head);
/* The next line of *rest without its end; false at the empty one. */
bool ws_head_line(struct str *rest, struct str *line);
/* 0 when the head of a 101 answers key as §4.1 demands; protocol then holds
 * the chosen one of those offered (may be NULL), or "". */
int ws_head_check(struct str head, const char *key, const char *offered,
		  char protocol[WS_PROTOCOL_SIZE], struct error *err);
/* The body that follows the head as far as raw has it, without its transfer
 * coding. Returns whether that is all of it; when only the end of the
 * connection can tell, false. */
bool ws_head_body(struct str head, struct str raw, struct buf *body);

/* ws_connect.c */
struct ws_link {
	struct conn *conn;
	struct buf rest; /* bytes that came after the head */
	char protocol[WS_PROTOCOL_SIZE];
};

/* As ws_open() says; the caller owns what is in *link after 0. */
int ws_connect(struct ws_link *link, struct http *h,
	       const struct ws_request *req, const struct stop *stop,
	       struct error *err);

#endif
