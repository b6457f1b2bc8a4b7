/* event_stream_test.c - frames cut anywhere, damaged, and very large. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/events.h"
#include "unit.h"

/* As slow and plain as the definition of CRC-32. */
static unsigned long plain_sum(const char *p, size_t len)
{
	unsigned long sum = 0xFFFFFFFFUL;

	for (size_t i = 0; i < len; i++) {
		sum ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			sum = sum & 1 ? sum >> 1 ^ 0xEDB88320UL : sum >> 1;
	}
	return sum ^ 0xFFFFFFFFUL;
}

static void add_number(struct buf *b, unsigned long n)
{
	for (int i = 24; i >= 0; i -= 8)
		buf_addc(b, (char)(n >> i));
}

static void add_frame(struct buf *b, struct str headers, struct str payload)
{
	size_t start = b->len;

	add_number(b, (unsigned long)(16 + headers.len + payload.len));
	add_number(b, (unsigned long)headers.len);
	add_number(b, plain_sum(b->ptr + start, 8));
	buf_addstr(b, headers);
	buf_addstr(b, payload);
	add_number(b, plain_sum(b->ptr + start, b->len - start));
}

#define RESULT                                                                 \
	STR("\x0b:event-type\7\0\6result\x0d:message-type\7\0\5event"          \
	    "\x0d:content-type\7\0\x10"                                        \
	    "application/json")
#define THROTTLED                                                              \
	STR("\x0f:exception-type\7\0\x13throttlingException"                   \
	    "\x0d:message-type\7\0\x09"                                        \
	    "exception")
#define FAILED                                                                 \
	STR("\x0d:message-type\7\0\5error\x0b:error-code\7\0\3Bad"             \
	    "\x0e:error-message\7\0\4oops")
/* Every type that there is. */
#define ALL                                                                    \
	STR("\1a\0\1b\1\1c\2x\1d\3xx\1e\4xxxx\1f\5xxxxxxxx\1g\6\0\2xx"         \
	    "\1h\7\0\0\1i\x08xxxxxxxx\1j\x09xxxxxxxxxxxxxxxx"                  \
	    "\x0d:message-type\7\0\5event")

static int on_message(void *arg, const struct event_message *m,
		      struct error *err)
{
	struct buf *log = arg;

	(void)err;
	buf_addstr(log, m->kind);
	buf_addc(log, ' ');
	buf_addstr(log, m->event);
	buf_addstr(log, m->exception);
	buf_addstr(log, m->code);
	buf_addstr(log, m->text);
	buf_addc(log, ' ');
	buf_addstr(log, m->payload);
	buf_addc(log, '\n');
	return 0;
}

static void add_four(struct buf *b)
{
	add_frame(b, RESULT, STR("{\"one\":1}"));
	add_frame(b, THROTTLED, STR("{\"message\":\"slow\"}"));
	add_frame(b, FAILED, STR(""));
	add_frame(b, ALL, STR("x"));
}

static const char wanted[] = "event result {\"one\":1}\n"
			     "exception throttlingException "
			     "{\"message\":\"slow\"}\n"
			     "error Badoops \nevent  x\n";

static int feed(struct event_stream *s, struct str all, size_t first,
		size_t piece, struct buf *log, struct error *err)
{
	size_t n = first;

	while (all.len) {
		if (n > all.len)
			n = all.len;
		if (event_stream_feed(s, (struct str){ all.ptr, n }, on_message,
				      log, err) < 0)
			return -1;
		all = str_skip(all, n);
		n = piece;
	}
	return event_stream_end(s, err);
}

static void test_every_split(void **state)
{
	struct buf all = BUF_INIT(1 << 16);

	(void)state;
	add_four(&all);
	for (size_t piece = 1; piece <= all.len; piece++) {
		for (size_t first = 1; first <= all.len;
		     first += piece == all.len ? 1 : all.len) {
			struct event_stream s = { 0 };
			struct buf log = BUF_INIT(1 << 16);
			struct error err = { 0 };

			assert_int_equal(feed(&s, buf_str(&all), first, piece,
					      &log, &err),
					 0);
			assert_string_equal(log.ptr, wanted);
			event_stream_release(&s);
			buf_release(&log);
		}
	}
	buf_release(&all);
}

/* The bytes of a real recording. */
static void test_recorded(void **state)
{
	static const char head[] = "\0\0\0\xf7\0\0\0\x4c\xe0\x5c\x5e\x9f";

	(void)state;
	assert_int_equal(plain_sum(head, 8), 0xE05C5E9FUL);
}

/* One bit changed anywhere is found, whatever it was. */
static void test_damaged(void **state)
{
	struct buf all = BUF_INIT(1 << 16);

	(void)state;
	add_frame(&all, RESULT, STR("{\"one\":1}"));
	for (size_t i = 0; i < all.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			struct event_stream s = { 0 };
			struct buf log = BUF_INIT(1 << 16);
			struct error err = { 0 };

			all.ptr[i] = (char)(all.ptr[i] ^ 1 << bit);
			assert_int_equal(
				feed(&s, buf_str(&all), 7, 3, &log, &err), -1);
			assert_int_equal(err.code, ERR_PROTOCOL);
			assert_int_equal(log.len, 0);
			all.ptr[i] = (char)(all.ptr[i] ^ 1 << bit);
			event_stream_release(&s);
			buf_release(&log);
		}
	}
	buf_release(&all);
}

static void test_cut(void **state)
{
	struct buf all = BUF_INIT(1 << 16);

	(void)state;
	add_frame(&all, RESULT, STR("{}"));
	for (size_t len = 1; len < all.len; len++) {
		struct event_stream s = { 0 };
		struct buf log = BUF_INIT(1 << 16);
		struct error err = { 0 };

		assert_int_equal(feed(&s, (struct str){ all.ptr, len }, len, 1,
				      &log, &err),
				 -1);
		assert_int_equal(err.code, ERR_NETWORK);
		event_stream_release(&s);
		buf_release(&log);
	}
	buf_release(&all);
}

/* Headers that are none, each in a frame whose checksums are right. */
static void test_bad_headers(void **state)
{
	static const struct str bad[] = {
		{ "\0\7\0\0", 4 },
		{ "\1a", 2 },
		{ "\1a\x0a", 3 },
		{ "\2a", 2 },
		{ "\1a\7\0\5xx", 7 },
		{ "\1a\7\0", 4 },
		{ "\1a\4xx", 5 },
		{ "\1a\xff", 3 },
		{ "\1a\0\x03"
		  "b",
		  5 },
		{ "\1a\6\xff\xff", 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct event_stream s = { 0 };
		struct buf all = BUF_INIT(1 << 16);
		struct buf log = BUF_INIT(1 << 16);
		struct error err = { 0 };

		add_frame(&all, bad[i], STR("{}"));
		assert_int_equal(feed(&s, buf_str(&all), 1, 1, &log, &err), -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
		event_stream_release(&s);
		buf_release(&all);
		buf_release(&log);
	}
}

static int refuse(const char *prelude, size_t max)
{
	struct event_stream s = { .payload_max = max };
	struct buf all = BUF_INIT(64);
	struct buf log = BUF_INIT(64);
	struct error err = { 0 };

	buf_add(&all, prelude, 8);
	add_number(&all, plain_sum(all.ptr, 8));
	if (feed(&s, buf_str(&all), 5, 1, &log, &err) == 0)
		err.code = ERR_NONE;
	event_stream_release(&s);
	buf_release(&all);
	buf_release(&log);
	return (int)err.code;
}

static void test_lengths(void **state)
{
	(void)state;
	assert_int_equal(refuse("\0\0\0\x0f\0\0\0\0", 0), ERR_PROTOCOL);
	assert_int_equal(refuse("\0\0\0\0\0\0\0\0", 0), ERR_PROTOCOL);
	assert_int_equal(refuse("\0\0\0\x11\0\0\0\2", 0), ERR_PROTOCOL);
	assert_int_equal(refuse("\xff\xff\xff\xff\0\0\0\0", 0), ERR_LIMIT);
	assert_int_equal(refuse("\xff\xff\xff\xff\xff\xff\xff\xef", 0),
			 ERR_LIMIT);
	assert_int_equal(refuse("\0\4\0\0\0\2\0\1", 0), ERR_LIMIT);
	assert_int_equal(refuse("\0\0\0\x1a\0\0\0\0", 9), ERR_LIMIT);
	/* the controls: it waits for more */
	assert_int_equal(refuse("\0\0\0\x1a\0\0\0\0", 10), ERR_NETWORK);
	assert_int_equal(refuse("\0\4\0\0\0\2\0\0", 0), ERR_NETWORK);
}

static int on_large(void *arg, const struct event_message *m, struct error *err)
{
	size_t *n = arg;

	(void)err;
	*n += m->payload.len;
	for (size_t i = 0; i < m->payload.len; i += 4099)
		if (m->payload.ptr[i] != (char)(i % 251))
			*n = 0;
	return 0;
}

static void test_20_mib(void **state)
{
	const size_t len = (size_t)20 << 20;
	struct buf payload = BUF_INIT(len);
	struct buf all = BUF_INIT(3 * len);
	struct event_stream s = { 0 };
	struct error err = { 0 };
	struct str rest;
	size_t got = 0;

	(void)state;
	for (size_t i = 0; i < len; i++)
		buf_addc(&payload, (char)(i % 251));
	add_frame(&all, RESULT, buf_str(&payload));
	add_frame(&all, RESULT, buf_str(&payload));
	for (rest = buf_str(&all); rest.len; rest = str_skip(rest, 16371)) {
		size_t n = rest.len < 16371 ? rest.len : 16371;

		assert_int_equal(event_stream_feed(&s,
						   (struct str){ rest.ptr, n },
						   on_large, &got, &err),
				 0);
	}
	assert_int_equal(event_stream_end(&s, &err), 0);
	assert_int_equal(got, 2 * len);
	event_stream_release(&s);
	buf_release(&payload);
	buf_release(&all);
}

static int on_refused(void *arg, const struct event_message *m,
		      struct error *err)
{
	(void)arg;
	(void)m;
	return error_set(err, ERR_GONE, "no");
}

static void test_callback(void **state)
{
	struct buf all = BUF_INIT(1 << 16);
	struct event_stream s = { 0 };
	struct error err = { 0 };

	(void)state;
	add_four(&all);
	assert_int_equal(
		event_stream_feed(&s, buf_str(&all), on_refused, NULL, &err),
		-1);
	assert_int_equal(err.code, ERR_GONE);
	event_stream_release(&s);
	buf_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_20_mib),
		cmocka_unit_test(test_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
