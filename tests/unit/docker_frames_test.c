/* docker_frames_test.c - the exec stream, cut at every byte. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "providers/docker/exec.c"

static int note(void *arg, int stream, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	if (str_is(chunk, "stop"))
		return error_set(err, ERR_REMOTE, "told to stop");
	buf_addstr(&out[stream], chunk);
	return 0;
}

#define FRAME(kind, len) kind "\0\0\0\0\0\0" len

static void test_every_split(void **state)
{
	static const char text[] =
		FRAME("\1", "\3") "abc" FRAME("\2", "\2") "ef" FRAME("\1", "\0")
			FRAME("\0", "\1") "x" FRAME("\1", "\1") "d" FRAME(
				"\3", "\1") "!";
	struct str all = { text, sizeof(text) - 1 };

	(void)state;
	for (size_t piece = 1; piece <= all.len; piece++) {
		struct frames f = { 0 };
		struct buf out[4] = { BUF_INIT(99), BUF_INIT(99), BUF_INIT(99),
				      BUF_INIT(99) };
		struct error err = { 0 };
		struct str rest = all;

		while (rest.len) {
			size_t n = piece < rest.len ? piece : rest.len;

			assert_int_equal(
				feed_frames(&f, (struct str){ rest.ptr, n },
					    note, out, &err),
				0);
			rest = str_skip(rest, n);
			if (rest.len == 1)
				assert_false(is_between_frames(&f));
		}
		assert_true(is_between_frames(&f));
		assert_true(str_is(buf_str(&out[0]), ""));
		assert_true(str_is(buf_str(&out[1]), "abcd"));
		assert_true(str_is(buf_str(&out[2]), "ef"));
		assert_true(str_is(buf_str(&out[3]), "!"));
		for (int i = 0; i < 4; i++)
			buf_release(&out[i]);
	}
}

static void test_garbage(void **state)
{
	static const char *const bad[] = { "\4\0\0\0\0\0\0\1x",
					   "\1\1\0\0\0\0\0\1x", "HTTP/1.1" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct frames f = { 0 };
		struct error err = { 0 };

		assert_int_equal(feed_frames(&f, (struct str){ bad[i], 8 },
					     note, NULL, &err),
				 -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
	}
}

static void test_stops_at_a_refusal(void **state)
{
	struct frames f = { 0 };
	struct buf out[4] = { BUF_INIT(99), BUF_INIT(99), BUF_INIT(99),
			      BUF_INIT(99) };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		feed_frames(&f, STR(FRAME("\1", "\4") "stop"), note, out, &err),
		-1);
	assert_int_equal(err.code, ERR_REMOTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_stops_at_a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
