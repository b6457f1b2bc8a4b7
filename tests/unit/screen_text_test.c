/* screen_text_test.c - what is left of a command's output on a terminal. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/screen_text.h"
#include "base/str.h"

static void render(struct str in, size_t piece, bool eager, struct buf *out)
{
	struct screen_text s = { .eager = eager };

	*out = BUF_INIT(1 << 24);
	while (in.len) {
		size_t n = in.len < piece ? in.len : piece;

		screen_text_feed(&s, (struct str){ in.ptr, n }, out);
		in = str_skip(in, n);
	}
	screen_text_end(&s, out);
	buf_adds(out, "");
}

static const struct {
	const char *in, *out;
} cases[] = {
	{ "a\nb\n", "a\nb\n" },
	{ "a\r\nb\r\n", "a\nb\n" },
	{ "no end", "no end" },
	{ "\n\n a\t b \n", "\n\n a\t b \n" },
	{ "1%\r2%\r100%\n", "100%\n" },
	{ "\r 1%\r 20%", " 20%" },
	{ "longer\rab\n", "abnger\n" },
	{ "longer\r\x1b[Kab\n", "ab\n" },
	{ "longer\x1b[2K\rab", "ab" },
	{ "working...\r          \rdone\n", "done\n" },
	{ "abc\b\b\x1b[Kx\n", "ax\n" },
	{ "|\b/\b-\b\\\bok\n", "ok\n" },
	{ "a\nb\nc\n\x1b[3AX\n\n\nd\n", "X\nb\nc\nd\n" },
	{ "a\nb\n\x1b[2A\x1b[0Jx\n", "x\n" },
	{ "l1\nl2\x1b[1A\r\x1b[2KL1\x1b[1B\r\x1b[2KL2\n", "L1\nL2\n" },
	{ "abc\x1b[1Gx\x1b[3Gz\n", "xbz\n" },
	{ "ab\x1b[3Cc\n", "ab   c\n" },
	{ "\x1b[31mred\x1b[0m\x1b[K\n", "red\n" },
	{ "\x1b[?25l\x1b]0;title\x07x\x1b[?25h\n", "x\n" },
	{ "abcdef\r\x1b[2Pxy\n", "xyef\n" },
	{ "abc\x1b[s\x1b[1;1Hzz\x1b[uX\n", "abcX\nzz" },
	{ "abc\x1b"
	  "7def\x1b"
	  "8X\n",
	  "abcXef\n" },
	/* Wide and combining characters; half of a wide one is a blank. */
	{ "\xE4\xBD\xA0\xE5\xA5\xBD\rab\n", "ab\xE5\xA5\xBD\n" },
	{ "\xE4\xBD\xA0\xE5\xA5\xBD\ra\n", "a \xE5\xA5\xBD\n" },
	{ "ab\r\xE4\xBD\xA0"
	  "c\n",
	  "\xE4\xBD\xA0"
	  "c\n" },
	{ "e\xCC\x81x\ry\n", "yx\n" },
	{ "ab\re\xCC\x81\n", "e\xCC\x81"
			     "b\n" },
	{ "\xE2\x96\x88\xE2\x96\x88\r\xE2\x96\x88\xE2\x96\x91\n",
	  "\xE2\x96\x88\xE2\x96\x91\n" },
	{ "\xff\rab\n", "ab\n" },
	/* A page: what was there before it stays. */
	{ "x\x1b[2Jy", "xy" },
	{ "before\n\x1b[H\x1b[2J1\n\x1b[H\x1b[2J2\n", "before\n2\n" },
};

static void a_terminal_shows_the_last_state(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str in = str_of(cases[i].in);

		for (size_t piece = 1; piece <= in.len; piece++) {
			struct buf out;

			render(in, piece, false, &out);
			assert_string_equal(out.ptr, cases[i].out);
			buf_release(&out);
		}
	}
}

static void two_thousand_frames_are_one_line(void **state)
{
	static const bool modes[] = { false, true };
	struct buf in = BUF_INIT(1 << 20);
	struct buf out;

	(void)state;
	for (int i = 0; i <= 2000; i++)
		buf_addf(&in, "\r[%-20.*s] %d/2000", i / 100,
			 "####################", i);
	buf_adds(&in, "\nafter\n");
	for (size_t m = 0; m < 2; m++)
		for (size_t piece = 1; piece < 100; piece += 7) {
			render(buf_str(&in), piece, modes[m], &out);
			assert_string_equal(out.ptr,
					    "[####################] 2000/2000\n"
					    "after\n");
			buf_release(&out);
		}
	buf_release(&in);
}

/* Bars of several rows, as those of a pull of an image. */
static void rows_that_are_drawn_again_are_there_once(void **state)
{
	struct buf in = BUF_INIT(1 << 20);
	struct buf out;

	(void)state;
	for (int i = 0; i <= 100; i++) {
		if (i)
			buf_adds(&in, "\x1b[3A");
		for (int row = 0; row < 3; row++)
			buf_addf(&in, "\r\x1b[2Klayer %d: %d%%\n", row, i);
	}
	render(buf_str(&in), 17, false, &out);
	assert_string_equal(out.ptr,
			    "layer 0: 100%\nlayer 1: 100%\nlayer 2: 100%\n");
	buf_release(&out);
	/* Who only appends has the first state, too. */
	render(buf_str(&in), 17, true, &out);
	assert_true(out.len < 300);
	assert_true(str_ends(buf_str(&out), "layer 2: 100%\n"));
	buf_release(&out);
	buf_release(&in);
}

static void plain_text_is_given_at_once_to_who_appends(void **state)
{
	struct screen_text s = { .eager = true };
	struct buf out = BUF_INIT(1 << 10);

	(void)state;
	screen_text_feed(&s, STR("one\ntwo"), &out);
	assert_string_equal(out.ptr, "one\ntwo");
	screen_text_feed(&s, STR(" three\n"), &out);
	assert_string_equal(out.ptr, "one\ntwo three\n");
	screen_text_feed(&s, STR("5%"), &out);
	for (int i = 0; i < 100; i++)
		screen_text_feed(&s, STR("\r6%"), &out);
	screen_text_end(&s, &out);
	assert_string_equal(out.ptr, "one\ntwo three\n5%\n6%");
	buf_release(&out);
}

static void what_is_given_for_now_is_given_again_when_it_changes(void **state)
{
	struct screen_text s = { .eager = true };
	struct buf out = BUF_INIT(1 << 10);

	(void)state;
	screen_text_feed(&s, STR("\r10%\r45%"), &out);
	screen_text_give(&s, &out);
	assert_string_equal(out.ptr, "45%");
	screen_text_feed(&s, STR("\r60%\r80%"), &out);
	screen_text_give(&s, &out);
	assert_string_equal(out.ptr, "45%\n80%");
	screen_text_feed(&s, STR(" ok\n"), &out);
	screen_text_end(&s, &out);
	assert_string_equal(out.ptr, "45%\n80% ok\n");
	buf_release(&out);
}

static void long_lines_pass_whole(void **state)
{
	struct buf in = BUF_INIT(1 << 20);
	struct buf out;

	(void)state;
	for (int i = 0; i < 60000; i++)
		buf_addf(&in, "%d,", i);
	buf_adds(&in, "\nend");
	for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1) {
		render(buf_str(&in), piece, false, &out);
		assert_true(str_eq(buf_str(&out), buf_str(&in)));
		buf_release(&out);
		render(buf_str(&in), piece, true, &out);
		assert_true(str_eq(buf_str(&out), buf_str(&in)));
		buf_release(&out);
	}
	buf_release(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_shows_the_last_state),
		cmocka_unit_test(two_thousand_frames_are_one_line),
		cmocka_unit_test(rows_that_are_drawn_again_are_there_once),
		cmocka_unit_test(plain_text_is_given_at_once_to_who_appends),
		cmocka_unit_test(
			what_is_given_for_now_is_given_again_when_it_changes),
		cmocka_unit_test(long_lines_pass_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
