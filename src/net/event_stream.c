/* event_stream.c - AWS's binary event streams, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#include "net/event_stream.h"

#include <stdint.h>

#include "base/str.h"

enum { CHECKSUM = 4, SMALLEST = EVENT_STREAM_PRELUDE + CHECKSUM };

/* CRC-32 of IEEE 802.3, reflected, four bits at a time. */
static uint32_t checksum(uint32_t sum, struct str s)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
		0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
		0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
		0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
	};

	sum = ~sum;
	for (size_t i = 0; i < s.len; i++) {
		sum ^= (unsigned char)s.ptr[i];
		sum = table[sum & 15] ^ sum >> 4;
		sum = table[sum & 15] ^ sum >> 4;
	}
	return ~sum;
}

static uint32_t number(const char *p, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		n = n << 8 | (unsigned char)p[i];
	return n;
}

static int broken(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: the event stream's %s",
			 what);
}

/* The prelude is there: reads how much is to come. */
static int measure(struct event_stream *s, struct error *err)
{
	const char *p = s->frame.ptr;
	size_t most = s->payload_max ? s->payload_max
				     : (size_t)EVENT_STREAM_PAYLOAD_MAX;

	if (s->checksum != number(p + 8, 4))
		return broken(err, "prelude has a wrong checksum");
	s->size = number(p, 4);
	s->n_headers = number(p + 4, 4);
	if (s->size < SMALLEST || s->n_headers > s->size - SMALLEST)
		return broken(err, "lengths contradict each other");
	if (s->n_headers > EVENT_STREAM_HEADERS_MAX ||
	    s->size - SMALLEST - s->n_headers > most)
		return error_set(err, ERR_LIMIT,
				 "the event stream has a message of %zu bytes",
				 s->size);
	s->frame.max = s->size;
	return 0;
}

/* Bytes of a value of this type without those of its length; -1 unknown. */
static int width(unsigned char type)
{
	static const signed char widths[] = { 0, 0, 1, 2, 4, 8, 2, 2, 8, 16 };

	return type < sizeof(widths) ? widths[type] : -1;
}

static void keep(struct event_message *m, struct str name, struct str value)
{
	const struct {
		const char *name;
		struct str *value;
	} known[] = {
		{ ":message-type", &m->kind },
		{ ":event-type", &m->event },
		{ ":exception-type", &m->exception },
		{ ":error-code", &m->code },
		{ ":error-message", &m->text },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_is(name, known[i].name))
			*known[i].value = value;
}

/* Takes one header off *rest. */
static int take_header(struct str *rest, struct event_message *m,
		       struct error *err)
{
	enum { BYTES = 6, STRING = 7 };
	size_t len = (unsigned char)rest->ptr[0];
	struct str name = { rest->ptr + 1, len };
	unsigned char type;
	size_t size;

	if (!len || rest->len < len + 2 ||
	    width((unsigned char)rest->ptr[len + 1]) < 0)
		return broken(err, "header is invalid");
	type = (unsigned char)rest->ptr[len + 1];
	size = (size_t)width(type);
	*rest = str_skip(*rest, len + 2);
	if (rest->len < size)
		return broken(err, "header ends early");
	if (type == BYTES || type == STRING) {
		size = number(rest->ptr, 2);
		*rest = str_skip(*rest, 2);
		if (rest->len < size)
			return broken(err, "header ends early");
	}
	if (type == STRING)
		keep(m, name, (struct str){ rest->ptr, size });
	*rest = str_skip(*rest, size);
	return 0;
}

static int take_apart(const struct event_stream *s, struct event_message *m,
		      struct error *err)
{
	const char *p = s->frame.ptr;
	size_t end = s->size - CHECKSUM;
	size_t begin = EVENT_STREAM_PRELUDE + s->n_headers;
	struct str rest = { p + EVENT_STREAM_PRELUDE, s->n_headers };

	if (s->checksum != number(p + end, CHECKSUM))
		return broken(err, "message has a wrong checksum");
	while (rest.len)
		if (take_header(&rest, m, err) < 0)
			return -1;
	m->payload = (struct str){ p + begin, end - begin };
	return 0;
}

/* Adds bytes until the frame has want of them, or chunk is empty; those that
 * are summed are added to the checksum. */
static void fill(struct event_stream *s, struct str *chunk, size_t want,
		 bool summed)
{
	size_t n = want > s->frame.len ? want - s->frame.len : 0;
	struct str part = { chunk->ptr, n < chunk->len ? n : chunk->len };

	buf_addstr(&s->frame, part);
	if (summed)
		s->checksum = checksum((uint32_t)s->checksum, part);
	*chunk = str_skip(*chunk, part.len);
}

int event_stream_feed(struct event_stream *s, struct str chunk,
		      int (*message)(void *arg, const struct event_message *m,
				     struct error *err),
		      void *arg, struct error *err)
{
	while (chunk.len) {
		struct event_message m = { 0 };

		if (!s->size) {
			s->frame.max = EVENT_STREAM_PRELUDE;
			fill(s, &chunk, 8, true);
			if (s->frame.len < 8)
				return 0;
			fill(s, &chunk, EVENT_STREAM_PRELUDE, false);
			if (s->frame.len < EVENT_STREAM_PRELUDE)
				return 0;
			if (measure(s, err) < 0)
				return -1;
			s->checksum =
				checksum((uint32_t)s->checksum,
					 (struct str){ s->frame.ptr + 8, 4 });
		}
		fill(s, &chunk, s->size - CHECKSUM, true);
		if (s->frame.len >= s->size - CHECKSUM)
			fill(s, &chunk, s->size, false);
		if (s->frame.len < s->size)
			return 0;
		if (take_apart(s, &m, err) < 0 || message(arg, &m, err) < 0)
			return -1;
		buf_clear(&s->frame);
		s->size = 0;
		s->checksum = 0;
	}
	return 0;
}

int event_stream_end(const struct event_stream *s, struct error *err)
{
	if (s->frame.len)
		return error_set(err, ERR_NETWORK,
				 "the event stream was cut within a message");
	return 0;
}

void event_stream_release(struct event_stream *s)
{
	buf_release(&s->frame);
	*s = (struct event_stream){ .payload_max = s->payload_max };
}
