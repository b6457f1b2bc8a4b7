/* connect.h - the envelopes of a Connect stream, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_CONNECT_H
#define PROVIDERS_CONNECT_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * connectrpc.com/docs/protocol (read 2026-11): each message of a stream is one
 * byte of flags, four of length (big endian) and that many bytes. Flag 2 marks
 * the last one, which says how the stream ended; flag 1 is compression, which
 * we never ask for.
 */
enum { CONNECT_HEAD = 5, CONNECT_LARGEST = 16 << 20 };

struct connect { /* start from { 0 } */
	unsigned char head[CONNECT_HEAD];
	size_t have; /* bytes of head */
	size_t size; /* of the message, once head is complete */
	struct buf body;
	bool ended; /* the last message has come */
};

/* Calls message for each complete one; -1 (err filled) stops. ERR_PROTOCOL for
 * what is no such stream. */
int connect_feed(struct connect *c, struct str chunk,
		 int (*message)(void *arg, struct str json, bool last,
				struct error *err),
		 void *arg, struct error *err);
void connect_release(struct connect *c);
/* Appends one message; json is at most CONNECT_LARGEST. */
void connect_envelope(struct buf *out, struct str json);

#endif
