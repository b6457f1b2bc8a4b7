/* events.h - streams of events: text/event-stream, and AWS's frames. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_EVENTS_H
#define NET_EVENTS_H

#include <stdint.h>

#include "base/buf.h"

enum {
	SSE_MAX_EVENT = 16 << 20, /* bytes of one event's data */
	SSE_ID = 256,             /* bytes of an id, and NUL */
};

/* text/event-stream (WHATWG HTML §9.2), split into events as it arrives. */
struct sse {
	struct buf line;      /* an unfinished line */
	struct buf data;      /* data lines of the event so far */
	struct buf event;     /* its event field */
	char id[SSE_ID];      /* of the last whole event that had one, or "" */
	char next_id[SSE_ID]; /* of the event so far */
	int64_t retry_ms;     /* to wait before a new connection, as the server
				 says; -1: it does not */
	bool after_cr;
	bool begun; /* a byte order mark was looked for */
};

void sse_init(struct sse *s);
/* Call when the stream was cut: forgets the unfinished event. id and retry_ms
 * stay for the next connection. */
void sse_cut(struct sse *s);
void sse_release(struct sse *s);
/* Calls each(event, data) for every whole event in order; both borrowed for
 * the call, event is empty when the stream named none. Stops at the first
 * -1. ERR_LIMIT when an event is too large. Split at any byte. */
int sse_feed(struct sse *s, struct str chunk,
	     int (*each)(void *arg, struct str event, struct str data,
			 struct error *err),
	     void *arg, struct error *err);

/*
 * application/vnd.amazon.eventstream: frames of a 12-byte prelude (length of
 * all, length of the headers, CRC-32 of these two), headers, payload and a
 * CRC-32 of all before; everything big endian (smithy.io, "Amazon Event
 * Stream", read 2026-11).
 */
enum {
	EVENT_STREAM_PRELUDE = 12,
	EVENT_STREAM_HEADERS_MAX = 128 << 10, /* bytes in one frame */
	EVENT_STREAM_PAYLOAD_MAX = 32 << 20,  /* the same */
};

/* One frame; borrowed for the call. A header that is missing or no string is
 * empty. */
struct event_message {
	struct str kind;      /* :message-type: event, exception, error */
	struct str event;     /* :event-type */
	struct str exception; /* :exception-type */
	struct str code;      /* :error-code */
	struct str text;      /* :error-message */
	struct str payload;
};

struct event_stream {           /* start from { 0 } */
	size_t payload_max;     /* bytes; 0: EVENT_STREAM_PAYLOAD_MAX */
	struct buf frame;       /* what has come of the current one */
	size_t size;            /* of all of it, once the prelude is there */
	size_t n_headers;       /* bytes of its headers */
	unsigned long checksum; /* of the bytes in frame */
};

/* Calls message for each complete frame with correct checksums; -1 (err filled)
 * stops. ERR_PROTOCOL for anything that is not such a stream, ERR_LIMIT for a
 * frame that is too large. */
int event_stream_feed(struct event_stream *s, struct str chunk,
		      int (*message)(void *arg, const struct event_message *m,
				     struct error *err),
		      void *arg, struct error *err);
/* Call at the end of the body: ERR_NETWORK if a frame is incomplete. */
int event_stream_end(const struct event_stream *s, struct error *err);
void event_stream_release(struct event_stream *s);

#endif
