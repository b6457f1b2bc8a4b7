/* event_stream.h - AWS's binary event streams, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_EVENT_STREAM_H
#define NET_EVENT_STREAM_H

#include "base/buf.h"

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

/* Calls message for each whole frame whose checksums are right; -1 (err
 * filled) stops. ERR_PROTOCOL for what is no such stream, ERR_LIMIT for a
 * frame that is too large. */
int event_stream_feed(struct event_stream *s, struct str chunk,
		      int (*message)(void *arg, const struct event_message *m,
				     struct error *err),
		      void *arg, struct error *err);
/* At the end of the body: ERR_NETWORK when a frame is not whole. */
int event_stream_end(const struct event_stream *s, struct error *err);
void event_stream_release(struct event_stream *s);

#endif
