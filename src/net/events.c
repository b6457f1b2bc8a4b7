/* events.c - event streams: text/event-stream and AWS's binary frames. */
/* SPDX-License-Identifier: MIT */
/* Parsers for two formats of event streams. Both are given the bytes of an HTTP
 * answer as they arrive: event_stream_feed() those of AWS's binary frames,
 * sse_feed() those of server-sent events (WHATWG HTML §9.2). */
#include "net/events.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

enum { CHECKSUM = 4, SMALLEST = EVENT_STREAM_PRELUDE + CHECKSUM };

/* Updates a CRC-32 (IEEE 802.3, reflected), four bits at a time. */
static uint32_t update_checksum(uint32_t sum, struct str s)
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

static uint32_t read_number(const char *p, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		n = n << 8 | (unsigned char)p[i];
	return n;
}

static int refuse_stream(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: the event stream's %s",
			 what);
}

/* Parses a complete prelude: sizes of the headers and of the frame. */
static int read_prelude(struct event_stream *s, struct error *err)
{
	const char *p = s->frame.ptr;
	size_t most = s->payload_max ? s->payload_max
				     : (size_t)EVENT_STREAM_PAYLOAD_MAX;

	if (s->checksum != read_number(p + 8, 4))
		return refuse_stream(err, "prelude has a wrong checksum");
	s->size = read_number(p, 4);
	s->n_headers = read_number(p + 4, 4);
	if (s->size < SMALLEST || s->n_headers > s->size - SMALLEST)
		return refuse_stream(err, "lengths contradict each other");
	if (s->n_headers > EVENT_STREAM_HEADERS_MAX ||
	    s->size - SMALLEST - s->n_headers > most)
		return error_set(err, ERR_LIMIT,
				 "the event stream has a message of %zu bytes",
				 s->size);
	s->frame.max = s->size;
	return 0;
}

/* Returns the size in bytes of a header value of this type. For strings and
 * byte arrays it is the size of the length field before the value. -1: unknown
 * type. */
static int value_size(unsigned char type)
{
	static const signed char widths[] = { 0, 0, 1, 2, 4, 8, 2, 2, 8, 16 };

	return type < sizeof(widths) ? widths[type] : -1;
}

/* Stores the value if struct event_message has a field for this header; other
 * headers are ignored. */
static void store_header(struct event_message *m, struct str name,
			 struct str value)
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

/* Parses the header at the start of *rest into m and skips it. */
static int read_header(struct str *rest, struct event_message *m,
		       struct error *err)
{
	enum { BYTES = 6, STRING = 7 };
	size_t len = (unsigned char)rest->ptr[0];
	struct str name = { rest->ptr + 1, len };
	unsigned char type;
	size_t size;

	if (!len || rest->len < len + 2 ||
	    value_size((unsigned char)rest->ptr[len + 1]) < 0)
		return refuse_stream(err, "header is invalid");
	type = (unsigned char)rest->ptr[len + 1];
	size = (size_t)value_size(type);
	*rest = str_skip(*rest, len + 2);
	if (rest->len < size)
		return refuse_stream(err, "header ends early");
	if (type == BYTES || type == STRING) {
		size = read_number(rest->ptr, 2);
		*rest = str_skip(*rest, 2);
		if (rest->len < size)
			return refuse_stream(err, "header ends early");
	}
	if (type == STRING)
		store_header(m, name, (struct str){ rest->ptr, size });
	*rest = str_skip(*rest, size);
	return 0;
}

/* Checks a complete frame and parses it into m. */
static int read_frame(const struct event_stream *s, struct event_message *m,
		      struct error *err)
{
	const char *p = s->frame.ptr;
	size_t end = s->size - CHECKSUM;
	size_t begin = EVENT_STREAM_PRELUDE + s->n_headers;
	struct str rest = { p + EVENT_STREAM_PRELUDE, s->n_headers };

	if (s->checksum != read_number(p + end, CHECKSUM))
		return refuse_stream(err, "message has a wrong checksum");
	while (rest.len)
		if (read_header(&rest, m, err) < 0)
			return -1;
	m->payload = (struct str){ p + begin, end - begin };
	return 0;
}

/* Moves bytes from chunk to the frame until the frame has `want` bytes. summed:
 * they count in the checksum. */
static void add_bytes(struct event_stream *s, struct str *chunk, size_t want,
		      bool summed)
{
	size_t n = want > s->frame.len ? want - s->frame.len : 0;
	struct str part = { chunk->ptr, n < chunk->len ? n : chunk->len };

	buf_addstr(&s->frame, part);
	if (summed)
		s->checksum = update_checksum((uint32_t)s->checksum, part);
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
			add_bytes(s, &chunk, 8, true);
			if (s->frame.len < 8)
				return 0;
			add_bytes(s, &chunk, EVENT_STREAM_PRELUDE, false);
			if (s->frame.len < EVENT_STREAM_PRELUDE)
				return 0;
			if (read_prelude(s, err) < 0)
				return -1;
			s->checksum = update_checksum(
				(uint32_t)s->checksum,
				(struct str){ s->frame.ptr + 8, 4 });
		}
		add_bytes(s, &chunk, s->size - CHECKSUM, true);
		if (s->frame.len >= s->size - CHECKSUM)
			add_bytes(s, &chunk, s->size, false);
		if (s->frame.len < s->size)
			return 0;
		if (read_frame(s, &m, err) < 0 || message(arg, &m, err) < 0)
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

enum { FIELD_ROOM = 16, EVENT_MAX = 256 }; /* bytes */

struct feed {
	int (*each)(void *arg, struct str event, struct str data,
		    struct error *err);
	void *arg;
	struct error *err;
};

void sse_init(struct sse *s)
{
	*s = (struct sse){
		.line = BUF_INIT(SSE_MAX_EVENT + FIELD_ROOM),
		.data = BUF_INIT(SSE_MAX_EVENT),
		.event = BUF_INIT(EVENT_MAX),
		.retry_ms = -1,
	};
}

void sse_cut(struct sse *s)
{
	buf_clear(&s->line);
	buf_clear(&s->data);
	buf_clear(&s->event);
	memcpy(s->next_id, s->id, sizeof(s->id));
	s->after_cr = false;
	s->begun = false;
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->data);
	buf_release(&s->event);
}

static int set_too_large(struct error *err)
{
	return error_set(err, ERR_LIMIT,
			 "an event of the stream is larger than %d bytes",
			 SSE_MAX_EVENT);
}

/* An empty line ends the event. An event without data is dropped. */
static int end_event(struct sse *s, const struct feed *f)
{
	int rc = 0;

	memcpy(s->id, s->next_id, sizeof(s->id));
	if (s->data.len) {
		struct str data = { s->data.ptr, s->data.len - 1 };

		rc = f->each(f->arg, buf_str(&s->event), data, f->err);
	}
	buf_clear(&s->data);
	buf_clear(&s->event);
	return rc;
}

/* Stores an event id. One that is too long or contains a NUL is ignored. */
static void set_id(struct sse *s, struct str value)
{
	if (value.len >= SSE_ID || str_find(value, '\0') < value.len)
		return;
	if (value.len)
		memcpy(s->next_id, value.ptr, value.len);
	s->next_id[value.len] = '\0';
}

/* Parses a complete line: a field of the event, or the empty line that ends
 * it. */
static int parse_line(struct sse *s, struct str line, const struct feed *f)
{
	size_t colon;
	struct str name;
	struct str value;
	int64_t retry_ms;

	if (!s->begun && str_starts(line, "\xEF\xBB\xBF"))
		line = str_skip(line, 3);
	s->begun = true;
	if (!line.len)
		return end_event(s, f);
	colon = str_find(line, ':');
	name = (struct str){ line.ptr, colon };
	value = str_skip(line, colon + 1);
	if (value.len && value.ptr[0] == ' ')
		value = str_skip(value, 1);
	if (str_is(name, "data")) {
		buf_addstr(&s->data, value);
		buf_addc(&s->data, '\n');
		if (s->data.over)
			return set_too_large(f->err);
	} else if (str_is(name, "event")) {
		buf_clear(&s->event);
		buf_addstr(&s->event, value);
	} else if (str_is(name, "id")) {
		set_id(s, value);
	} else if (str_is(name, "retry") && str_to_int(value, &retry_ms) &&
		   retry_ms >= 0) {
		s->retry_ms = retry_ms;
	}
	return 0; /* comments and unknown fields are ignored */
}

/* Index of the first CR or LF, or s.len. */
static size_t line_end(struct str s)
{
	const char *lf = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
	size_t end = lf ? (size_t)(lf - s.ptr) : s.len;
	const char *cr = end ? memchr(s.ptr, '\r', end) : NULL;

	return cr ? (size_t)(cr - s.ptr) : end;
}

/* Appends rest to the stored beginning of the line and parses the complete
 * line. */
static int end_line(struct sse *s, struct str rest, const struct feed *f)
{
	int rc;

	if (!s->line.len)
		return parse_line(s, rest, f);
	buf_addstr(&s->line, rest);
	if (s->line.over)
		return set_too_large(f->err);
	rc = parse_line(s, buf_str(&s->line), f);
	buf_clear(&s->line);
	return rc;
}

int sse_feed(struct sse *s, struct str chunk,
	     int (*each)(void *arg, struct str event, struct str data,
			 struct error *err),
	     void *arg, struct error *err)
{
	const struct feed f = { each, arg, err };

	while (chunk.len) {
		size_t end;

		if (s->after_cr && chunk.ptr[0] == '\n')
			chunk = str_skip(chunk, 1);
		s->after_cr = false;
		end = line_end(chunk);
		if (end == chunk.len) {
			buf_addstr(&s->line, chunk);
			return s->line.over ? set_too_large(err) : 0;
		}
		s->after_cr = chunk.ptr[end] == '\r';
		if (end_line(s, (struct str){ chunk.ptr, end }, &f) < 0)
			return -1;
		chunk = str_skip(chunk, end + 1);
	}
	return 0;
}
