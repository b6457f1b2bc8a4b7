/* sse.h - text/event-stream splitter (WHATWG HTML §9.2). */
/* SPDX-License-Identifier: MIT */
#ifndef NET_SSE_H
#define NET_SSE_H

#include <stdint.h>

#include "base/buf.h"

enum {
	SSE_MAX_EVENT = 16 << 20, /* bytes of one event's data */
	SSE_ID = 256,             /* bytes of an id, and NUL */
};

struct sse {
	struct buf line;      /* an unfinished line */
	struct buf data;      /* data lines of the event so far */
	struct buf event;     /* its event field */
	char id[SSE_ID];      /* of the last whole event that had one, or "" */
	char next_id[SSE_ID]; /* of the event so far */
	int64_t retry_ms;     /* to wait before the stream is asked for again,
				 as its server says; -1: it does not */
	bool after_cr;
	bool begun; /* a byte order mark was looked for */
};

void sse_init(struct sse *s);
/* The stream was cut: what has no end is forgotten, and what the next one of it
 * begins with is read; id and retry_ms stay. */
void sse_cut(struct sse *s);
void sse_release(struct sse *s);
/* Calls each(event, data) for every whole event in order; both borrowed for
 * the call, event is empty when the stream named none. Stops at the first
 * -1. ERR_LIMIT when an event is too large. Split at any byte. */
int sse_feed(struct sse *s, struct str chunk,
	     int (*each)(void *arg, struct str event, struct str data,
			 struct error *err),
	     void *arg, struct error *err);

#endif
