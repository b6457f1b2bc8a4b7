/* ws_frame_test.c - frames of WebSocket at every split, and refused ones. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "net/ws_frame.h"
#include "tests/unit/unit.h"

enum { MIB = 1 << 20 };

/* A frame as a server sends it. */
static void frame(struct buf *out, unsigned first, const void *data, size_t len)
{
	size_t wide = len < 126 ? 0 : len < 65536 ? 2 : 8;

	buf_addc(out, (char)first);
	buf_addc(out, (char)(wide == 0 ? len : wide == 2 ? 126 : 127));
	for (size_t i = 0; i < wide; i++)
		buf_addc(out, (char)(len >> 8 * (wide - 1 - i)));
	buf_add(out, data, len);
}

static void text_frame(struct buf *out, unsigned first, const char *text)
{
	frame(out, first, text, strlen(text));
}

/* Everything that happened, as text; piece: bytes fed at once. */
static int trace(struct str in, size_t piece, size_t max, struct buf *out)
{
	struct ws_parser p;
	struct error err = { 0 };
	int rc = 0;

	ws_parser_init(&p, max);
	while (rc >= 0 && in.len) {
		struct str part = { in.ptr, piece < in.len ? piece : in.len };
		struct buf message = BUF_INIT(1);

		in = str_skip(in, part.len);
		while ((rc = ws_parser_next(&p, &part, &err)) > 0) {
			if (rc == WS_MESSAGE) {
				buf_addf(out, "[%d ",
					 ws_parser_take(&p, &message));
				buf_addstr(out, buf_str(&message));
				assert_int_equal(message.max, 1);
			} else {
				buf_addf(out, "[%s ",
					 rc == WS_PINGED   ? "ping"
					 : rc == WS_PONGED ? "pong"
							   : "close");
				if (rc == WS_CLOSED)
					buf_addf(out, "%d ", p.code);
				buf_add(out, p.control, p.control_len);
			}
			buf_addc(out, ']');
		}
		buf_release(&message);
	}
	if (rc < 0)
		buf_addf(out, "{%d %s %s}", p.code, error_name(err.code),
			 err.message);
	ws_parser_release(&p);
	return rc;
}

static void expect(struct buf *in, size_t max, const char *what)
{
	for (size_t piece = 1; piece <= in->len; piece++) {
		struct buf got = BUF_INIT(1 << 20);

		trace(buf_str(in), piece, max, &got);
		assert_string_equal(got.ptr, what);
		buf_release(&got);
	}
	buf_release(in);
}

static void test_kinds(void **state)
{
	struct buf in = BUF_INIT(4096);

	(void)state;
	text_frame(&in, WS_FIN | WS_TEXT, "h\xc3\xa9");
	text_frame(&in, WS_FIN | WS_BINARY, "\xff\xfe");
	text_frame(&in, WS_FIN | WS_TEXT, "");
	text_frame(&in, WS_FIN | WS_PING, "p");
	text_frame(&in, WS_FIN | WS_PONG, "");
	text_frame(&in, WS_FIN | WS_CLOSE,
		   "\x03\xe9"
		   "bye");
	text_frame(&in, WS_FIN | WS_TEXT, "dropped");
	expect(&in, 100,
	       "[1 h\xc3\xa9][2 \xff\xfe][1 ][ping p][pong ]"
	       "[close 1001 bye]");
}

static void test_fragments(void **state)
{
	struct buf in = BUF_INIT(4096);

	(void)state;
	/* A character cut in two, control frames between, empty pieces. */
	text_frame(&in, WS_TEXT, "a\xe2\x82");
	text_frame(&in, WS_FIN | WS_PING, "1");
	text_frame(&in, WS_CONTINUATION, "");
	text_frame(&in, WS_CONTINUATION, "\xac");
	text_frame(&in, WS_FIN | WS_PONG, "2");
	text_frame(&in, WS_FIN | WS_CONTINUATION, "z");
	text_frame(&in, WS_BINARY, "");
	text_frame(&in, WS_FIN | WS_CONTINUATION, "");
	text_frame(&in, WS_FIN | WS_CLOSE, "");
	expect(&in, 100, "[ping 1][pong 2][1 a\xe2\x82\xacz][2 ][close 1005 ]");
}

static void test_lengths(void **state)
{
	static const size_t sizes[] = { 125, 126, 65535, 65536 };
	char *data = calloc(1, 65536);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct buf in = BUF_INIT(MIB);
		struct buf got = BUF_INIT(MIB);

		frame(&in, WS_FIN | WS_BINARY, data, sizes[i]);
		assert_int_equal(trace(buf_str(&in), 1, 65536, &got), 0);
		assert_int_equal(got.len, sizes[i] + 4);
		buf_release(&in);
		buf_release(&got);
	}
	free(data);
}

static const struct {
	const char *bytes;
	size_t len;
	const char *what;
} frames[] = {
#define ROW(bytes, what)                                                       \
	{                                                                      \
		bytes, sizeof(bytes) - 1, what                                 \
	}
	/* Each refusal after the nearest thing that is fine. */
	ROW("\x81\x01"
	    "a",
	    "[1 a]"),
	ROW("\xc1\x01"
	    "a",
	    "{1002 protocol WebSocket: a reserved bit is set}"),
	ROW("\xa1\x01", "{1002 protocol WebSocket: a reserved bit is set}"),
	ROW("\x91\x01", "{1002 protocol WebSocket: a reserved bit is set}"),
	ROW("\x83\x00", "{1002 protocol WebSocket: a frame of unknown type}"),
	ROW("\x87\x00", "{1002 protocol WebSocket: a frame of unknown type}"),
	ROW("\x8b\x00", "{1002 protocol WebSocket: a frame of unknown type}"),
	ROW("\x8f\x00", "{1002 protocol WebSocket: a frame of unknown type}"),
	ROW("\x81\x81"
	    "1234a",
	    "{1002 protocol WebSocket: the server masks its frames}"),
	ROW("\x89\x00", "[ping ]"),
	ROW("\x09\x00",
	    "{1002 protocol WebSocket: a fragmented control frame}"),
	ROW("\x89\x7e\x00\x7e",
	    "{1002 protocol WebSocket: a control frame of over 125 bytes}"),
	ROW("\x80\x00", "{1002 protocol WebSocket: a continuation frame "
			"without a message}"),
	ROW("\x01\x00\x80\x00", "[1 ]"),
	ROW("\x01\x00\x81\x00",
	    "{1002 protocol WebSocket: a message inside another}"),
	ROW("\x81\x00\x80\x00", "[1 ]{1002 protocol WebSocket: a continuation "
				"frame without a message}"),
	ROW("\x82\x7e\x00\x7d",
	    "{1002 protocol WebSocket: a length in more bytes than it needs}"),
	ROW("\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff",
	    "{1002 protocol WebSocket: a length in more bytes than it needs}"),
	ROW("\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00",
	    "{1002 protocol WebSocket: a length beyond 63 bits}"),
	ROW("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff",
	    "{1009 limit WebSocket: a message is too large}"),
	ROW("\x82\x04"
	    "abcd",
	    "[2 abcd]"),
	ROW("\x82\x05", "{1009 limit WebSocket: a message is too large}"),
	ROW("\x02\x02"
	    "ab\x80\x02"
	    "cd",
	    "[2 abcd]"),
	ROW("\x02\x02"
	    "ab\x80\x03",
	    "{1009 limit WebSocket: a message is too large}"),
	ROW("\x82\x02\xc3\x28", "[2 \xc3\x28]"),
	ROW("\x81\x02\xc3\x28",
	    "{1007 protocol WebSocket: text that is not UTF-8}"),
	ROW("\x81\x01\xc3",
	    "{1007 protocol WebSocket: text that is not UTF-8}"),
	ROW("\x01\x01\xc3\x80\x01\xa9", "[1 \xc3\xa9]"),
	/* Seen at once, not at the message's end. */
	ROW("\x01\x04\xff",
	    "{1007 protocol WebSocket: text that is not UTF-8}"),
	ROW("\x88\x02\x03\xe8", "[close 1000 ]"),
	ROW("\x88\x01\x03",
	    "{1002 protocol WebSocket: an incomplete close code}"),
	ROW("\x88\x03\x03\xe8\xff",
	    "{1007 protocol WebSocket: a close reason that is not UTF-8}"),
	ROW("\x88\x02\x03\xed",
	    "{1002 protocol WebSocket: a reserved close code}"),
	ROW("\x88\x02\x0f\xa0", "[close 4000 ]"),
	ROW("\x88\x02\x13\x88",
	    "{1002 protocol WebSocket: a reserved close code}"),
#undef ROW
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct buf in = BUF_INIT(100);

		buf_add(&in, frames[i].bytes, frames[i].len);
		expect(&in, 4, frames[i].what);
	}
}

static void test_codes(void **state)
{
	(void)state;
	for (int i = -1; i < 70000; i++) {
		bool may = (i >= 1000 && i <= 1003) ||
			   (i >= 1007 && i <= 1014) || (i >= 3000 && i <= 4999);

		assert_int_equal(ws_code_valid(i), may);
	}
}

/* The incremental check agrees with that of whole texts. */
static void test_utf8(void **state)
{
	static const unsigned char odd[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f,
					     0x90, 0x9f, 0xa0, 0xbf, 0xc0,
					     0xc1, 0xc2, 0xdf, 0xe0, 0xed,
					     0xef, 0xf0, 0xf4, 0xf5, 0xff };
	size_t n = sizeof(odd);

	(void)state;
	for (size_t i = 0; i < n * n * n * n; i++) {
		char b[4] = { (char)odd[i % n], (char)odd[i / n % n],
			      (char)odd[i / n / n % n],
			      (char)odd[i / n / n / n] };
		struct ws_utf8 u = { 0 };
		bool good = true;

		for (size_t k = 0; k < 4; k++)
			good = good &&
			       ws_utf8_feed(&u, (struct str){ b + k, 1 });
		assert_int_equal(good && !u.left,
				 str_is_utf8((struct str){ b, 4 }));
	}
}

/* An announced length reserves nothing; what came decides. */
static void test_memory(void **state)
{
	struct buf in = BUF_INIT(100);
	struct ws_parser p;
	struct error err = { 0 };
	struct str data;

	(void)state;
	ws_parser_init(&p, (size_t)1 << 30);
	buf_add(&in,
		"\x82\x7f\0\0\0\0\x3f\xff\xff\xff"
		"abc",
		13);
	data = buf_str(&in);
	assert_int_equal(ws_parser_next(&p, &data, &err), WS_MORE);
	assert_int_equal(p.message.len, 3);
	assert_true(p.message.cap < 1000);
	ws_parser_release(&p);
	buf_release(&in);
}

/* 20 MiB in one frame, and in fragments of 20 bytes: linear in both. */
static void test_large(void **state)
{
	char *data = calloc(1, 20 * MIB);

	(void)state;
	for (int small = 0; small < 2; small++) {
		size_t step = small ? 20 : 20 * MIB;
		struct buf in = BUF_INIT(40 * MIB);
		struct buf got = BUF_INIT(40 * MIB);
		int64_t began = clock_ms();

		for (size_t at = 0; at < 20 * MIB; at += step) {
			size_t left = 20 * MIB - at;
			size_t n = left < step ? left : step;

			frame(&in,
			      (at ? WS_CONTINUATION : WS_TEXT) |
				      (left <= step ? WS_FIN : 0),
			      data, n);
		}
		assert_int_equal(trace(buf_str(&in), 1000, 20 * MIB, &got), 0);
		assert_int_equal(got.len, 20 * MIB + 4);
		print_message("20 MiB, frames of %zu: %d ms\n", step,
			      (int)(clock_ms() - began));
		assert_true(clock_ms() - began < 10000);
		buf_release(&in);
		buf_release(&got);
	}
	free(data);
}

/* Our frames, unmasked by hand, are the server's with a mask bit. */
static void test_write(void **state)
{
	static const size_t sizes[] = { 0, 1, 125, 126, 65535, 65536 };
	static const unsigned char key[4] = { 0x37, 0xfa, 0x21, 0x3d };
	unsigned char *out = malloc(65536 + WS_HEAD_MAX);
	char *data = malloc(65536);

	(void)state;
	for (size_t i = 0; i < 65536; i++)
		data[i] = (char)(i * 7);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct str s = { data, sizes[i] };
		size_t n = ws_frame_write(out, WS_FIN | WS_BINARY, s, key);
		struct buf want = BUF_INIT(MIB);
		size_t head;

		frame(&want, WS_FIN | WS_BINARY, data, sizes[i]);
		head = want.len - sizes[i];
		assert_int_equal(n, want.len + 4);
		assert_true(out[1] & 0x80);
		out[1] &= 0x7f;
		assert_memory_equal(out, want.ptr, head);
		assert_memory_equal(out + head, key, 4);
		for (size_t k = 0; k < sizes[i]; k++)
			out[head + 4 + k] ^= key[k % 4];
		if (sizes[i])
			assert_memory_equal(out + head + 4, data, sizes[i]);
		buf_release(&want);
	}
	/* RFC 6455 §5.7: "Hello", masked. */
	assert_int_equal(ws_frame_write(out, 0x81, STR("Hello"), key), 11);
	assert_memory_equal(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
			    11);
	free(out);
	free(data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
