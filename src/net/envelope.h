/* envelope.h - length-prefixed messages, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_ENVELOPE_H
#define NET_ENVELOPE_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The framing of gRPC (grpc.io, PROTOCOL-HTTP2.md) and of Connect streams
 * (connectrpc.com/docs/protocol), both read 2026-11: each message is one byte
 * of flags, four of length (big endian) and that many bytes. Flag 1 is
 * compression, which we never ask for; with Connect flag 2 marks the last
 * message, which says how the stream ended.
 */
enum {
	ENVELOPE_HEAD = 5,
	ENVELOPE_LARGEST = 16 << 20, /* bytes of a message, unless said */
	ENVELOPE_CONNECT_LAST = 2,
};

struct envelope {           /* start from { 0 } and what differs */
	unsigned char last; /* the flag of the last message; 0: there is none */
	size_t largest;     /* bytes of a message; 0: ENVELOPE_LARGEST */
	unsigned char head[ENVELOPE_HEAD];
	size_t have; /* bytes of head; 0: between two messages */
	size_t size; /* of the message, once head is complete */
	struct buf body;
	bool ended; /* the last message has come */
};

/* Calls message for each complete one; -1 (err filled) stops. ERR_PROTOCOL for
 * what is no such stream. */
int envelope_feed(struct envelope *e, struct str chunk,
		  int (*message)(void *arg, struct str bytes, bool last,
				 struct error *err),
		  void *arg, struct error *err);
void envelope_release(struct envelope *e);
/* Appends the head of a message of len bytes, which is below 4 GiB. */
void envelope_head(struct buf *out, size_t len);
/* Appends one message; it is at most ENVELOPE_LARGEST. */
void envelope_add(struct buf *out, struct str bytes);

#endif
