/* events.h - event streams: text/event-stream and AWS's binary frames. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_EVENTS_H
#define NET_EVENTS_H

#include <stdint.h>

#include "base/buf.h"

enum {
	SSE_MAX_EVENT = 16 << 20, /* bytes of one event's data */
	SSE_ID = 256,             /* bytes of an id, with NUL */
};

/* Parser for text/event-stream (WHATWG HTML §9.2), fed as data arrives. */
struct sse {
	struct buf line;      /* an unfinished line */
	struct buf data;      /* data lines of the current event */
	struct buf event;     /* type of the current event */
	char id[SSE_ID];      /* id of the last complete event that had one,
			       * or "" */
	char next_id[SSE_ID]; /* id of the current event */
	int64_t retry_ms;     /* reconnection time set by the server; -1: not
			       * set */
	bool after_cr;
	bool begun; /* the start was checked for a byte order mark */
};

void sse_init(struct sse *s);
/* Call when the connection broke: discards the unfinished event. id and
 * retry_ms stay valid for the next connection. */
void sse_cut(struct sse *s);
void sse_release(struct sse *s);
/* Calls each(event, data) for every complete event, in order. Both arguments
 * are borrowed for the call; event is empty if the stream did not name one.
 * Stops when each returns -1. ERR_LIMIT if an event is too large. chunk may end
 * anywhere. */
int sse_feed(struct sse *s, struct str chunk,
	     int (*each)(void *arg, struct str event, struct str data,
			 struct error *err),
	     void *arg, struct error *err);

/* application/vnd.amazon.eventstream. A frame has a 12-byte prelude (total
 * length, headers length, CRC-32 of both), headers, payload and a CRC-32 of
 * everything before. All numbers are big endian (smithy.io, "Amazon Event
 * Stream", read 2026-11). */
enum {
	EVENT_STREAM_PRELUDE = 12,
	EVENT_STREAM_HEADERS_MAX = 128 << 10, /* bytes in one frame */
	EVENT_STREAM_PAYLOAD_MAX = 32 << 20,  /* bytes in one frame */
};

/* One frame; borrowed for the call. A header that is missing or not a string is
 * empty. */
struct event_message {
	struct str kind;      /* :message-type: event, exception, error */
	struct str event;     /* :event-type */
	struct str exception; /* :exception-type */
	struct str code;      /* :error-code */
	struct str text;      /* :error-message */
	struct str payload;
};

struct event_stream {           /* initialize to { 0 } */
	size_t payload_max;     /* bytes; 0: EVENT_STREAM_PAYLOAD_MAX */
	struct buf frame;       /* bytes of the current frame so far */
	size_t size;            /* total bytes of the frame, once the prelude
				 * is complete */
	size_t n_headers;       /* bytes of the frame's headers */
	unsigned long checksum; /* CRC-32 of the bytes in frame */
};

/* Calls message for each complete frame with correct checksums; -1 (err filled)
 * stops. ERR_PROTOCOL if the data is not such a stream, ERR_LIMIT if a frame is
 * too large. */
int event_stream_feed(struct event_stream *s, struct str chunk,
		      int (*message)(void *arg, const struct event_message *m,
				     struct error *err),
		      void *arg, struct error *err);
/* Call at the end of the body. ERR_NETWORK if a frame is incomplete. */
int event_stream_end(const struct event_stream *s, struct error *err);
void event_stream_release(struct event_stream *s);

#endif
