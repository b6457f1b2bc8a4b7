/* event_stream_fuzz.c - AWS's event stream: any bytes, pieces of any size. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "net/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_sum(struct buf *b, size_t from)
{
	uint32_t sum = 0xFFFFFFFF;

	for (size_t i = from; i < b->len; i++) {
		sum ^= (unsigned char)b->ptr[i];
		for (int k = 0; k < 8; k++)
			sum = sum & 1 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
	}
	sum = ~sum;
	for (int i = 24; i >= 0; i -= 8)
		buf_addc(b, (char)(sum >> i));
}

/* A frame whose lengths and checksums are right: nobody guesses these. */
static void add_frame(struct buf *b, struct str headers, struct str payload)
{
	size_t from = b->len;
	size_t all = 16 + headers.len + payload.len;

	for (int i = 24; i >= 0; i -= 8)
		buf_addc(b, (char)(all >> i));
	for (int i = 24; i >= 0; i -= 8)
		buf_addc(b, (char)(headers.len >> i));
	add_sum(b, from);
	buf_addstr(b, headers);
	buf_addstr(b, payload);
	add_sum(b, from);
}

static int on_message(void *arg, const struct event_message *m,
		      struct error *err)
{
	struct buf *log = arg;

	(void)err;
	buf_addstr(log, m->kind);
	buf_addstr(log, m->event);
	buf_addstr(log, m->exception);
	buf_addstr(log, m->code);
	buf_addstr(log, m->text);
	buf_addstr(log, m->payload);
	buf_addc(log, '\n');
	return 0;
}

static enum err run(struct str all, size_t piece, struct buf *log)
{
	struct event_stream s = { .payload_max = 1 << 16 };
	struct error err = { 0 };
	int rc = 0;

	while (rc == 0 && all.len) {
		size_t n = all.len < piece ? all.len : piece;

		rc = event_stream_feed(&s, (struct str){ all.ptr, n },
				       on_message, log, &err);
		all = str_skip(all, n);
	}
	if (rc == 0)
		(void)event_stream_end(&s, &err);
	event_stream_release(&s);
	return err.code;
}

/* The first byte is the size of the pieces, which must not matter; the second
 * how many bytes are headers of a whole frame. 255: all is taken as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf all = BUF_INIT(1 << 20);
	struct buf once = BUF_INIT(1 << 20);
	struct buf pieces = BUF_INIT(1 << 20);
	struct str rest;

	if (size < 3)
		return 0;
	rest = (struct str){ (const char *)data + 2, size - 2 };
	if (data[1] != 255 && data[1] <= rest.len) {
		struct str headers = { rest.ptr, data[1] };

		add_frame(&all, headers, str_skip(rest, data[1]));
		add_frame(&all, headers, STR(""));
	} else {
		buf_addstr(&all, rest);
	}
	if (run(buf_str(&all), all.len, &once) !=
		    run(buf_str(&all), (size_t)data[0] + 1, &pieces) ||
	    !str_eq(buf_str(&once), buf_str(&pieces)))
		abort();
	buf_release(&all);
	buf_release(&once);
	buf_release(&pieces);
	return 0;
}
