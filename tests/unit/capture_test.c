/* capture_test.c - the head and the tail of a long output. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tool/execute.c"
#include "unit.h"

enum { HALF = 8 };

/* Feeds text in chunks of step bytes. */
static void expect(const char *text, size_t step, bool cut, const char *want)
{
	struct buf out = BUF_INIT(4096);
	struct str rest = str_of(text);
	struct capture c;

	capture_init(&c, HALF);
	while (rest.len) {
		struct str chunk = { rest.ptr,
				     rest.len < step ? rest.len : step };

		capture_add(&c, chunk);
		rest = str_skip(rest, chunk.len);
	}
	assert_int_equal(capture_finish(&c, &out), cut);
	assert_string_equal(out.ptr ? out.ptr : "", want);
	buf_release(&out);
	capture_release(&c);
}

static void test_edges(void **state)
{
	(void)state;
	for (size_t step = 1; step < 40; step++) {
		expect("", step, false, "");
		expect("0123456", step, false, "0123456");
		expect("01234567", step, false, "01234567");
		expect("0123456789", step, false, "0123456789");
		expect("0123456789abcdef", step, false, "0123456789abcdef");
		expect("0123456789abcdefg", step, true,
		       "01234567\n\n... [1 bytes of output were dropped here] "
		       "...\n\n9abcdefg");
		expect("0123456789abcdefghijklmnopqrstuvwxyz", step, true,
		       "01234567\n\n... [20 bytes of output were dropped here] "
		       "...\n\nstuvwxyz");
	}
}

static void test_utf8(void **state)
{
	(void)state;
	/* 7 bytes and a euro sign in front, a euro sign 2 bytes into the
	 * tail at the end: both cut */
	expect("0123456\xE2\x82\xAC"
	       "abcdefgh\xE2\x82\xAC"
	       "1234567",
	       3, true,
	       "0123456\n\n... [14 bytes of output were dropped here] "
	       "...\n\n1234567");
	expect("0123456\xE2\x82\xAC"
	       "abcde",
	       3, false,
	       "0123456\xE2\x82\xAC"
	       "abcde");
}

static void test_less_is_kept_of_what_was_added(void **state)
{
	static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	(void)state;
	/* in the head alone, in head and ring, with some dropped already */
	for (size_t half = HALF; half < sizeof(text); half++) {
		struct buf out = BUF_INIT(4096);
		struct capture c;

		capture_init(&c, half);
		capture_add(&c, str_of(text));
		capture_shrink(&c, HALF);
		assert_true(capture_finish(&c, &out));
		assert_string_equal(out.ptr,
				    "01234567\n\n... [20 bytes of output were "
				    "dropped here] ...\n\nstuvwxyz");
		capture_init(&c, half);
		capture_add(&c, str_of("0123456789abcdef"));
		capture_shrink(&c, HALF);
		buf_clear(&out);
		assert_false(capture_finish(&c, &out));
		assert_string_equal(out.ptr, "0123456789abcdef");
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_less_is_kept_of_what_was_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
