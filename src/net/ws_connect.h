/* ws_connect.h - connects and shakes hands for a WebSocket. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_WS_CONNECT_H
#define NET_WS_CONNECT_H

#include "net/conn.h"
#include "net/ws_handshake.h"

/* For ws.c only. */
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
