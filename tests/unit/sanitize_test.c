/* sanitize_test.c - no byte of a foreign stream steers the terminal. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sanitize.h"
#include "base/str.h"

/* STR() is no constant for gcc -Wpedantic. */
#define S(literal)                                                             \
	{                                                                      \
		"" literal, sizeof(literal) - 1                                \
	}

static const struct {
	struct str in;
	const char *out;
} cases[] = {
	{ S("plain text\n\ttab"), "plain text\n\ttab" },
	{ S("a\x1b[31mred\x1b[0m b"), "ared b" },
	{ S("t\x1b]0;title\x07x"), "tx" },
	{ S("t\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\x"), "tlinkx" },
	{ S("d\x1bPq#0\x1b\\x"), "dx" },
	{ S("s\x1b(Bx\x1b=y"), "sxy" },
	{ S("c\xC2\x9B"
	    "31mx"),
	  "cx" }, /* 8-bit CSI */
	{ S("c\xC2\x9D"
	    "0;t\xC2\x9Cx"),
	  "cx" }, /* 8-bit OSC .. ST */
	{ S("a\r\nb\rc\n"), "a\nb\nc\n" },
	{ S("bell\x07 back\x08 nul\0 del\x7F."), "bell back nul del." },
	{ S("\xC3\xA9\xE2\x82\xAC"), "\xC3\xA9\xE2\x82\xAC" },
	{ S("x\xFFy\xC3z"), "x\xEF\xBF\xBDy\xEF\xBF\xBDz" },
	{ S("a\xE2\x80\xAE"
	    "b\xE2\x80\x8B"
	    "c"),
	  "abc" },                     /* RLO, ZWSP */
	{ S("x\x1b[12;\x18y"), "xy" }, /* CAN ends a sequence */
	{ S("e\xE2\x82"), "e\xEF\xBF\xBD" },
	{ S("o\x1b]52;c;AAAA"), "o" }, /* never ended */
	{ S("o\x1b]52;c;AA\nnext"), "o\nnext" },
	{ S("a\xD8\x9C\xE2\x81\xAA\xE3\x85\xA4\xE2\x80\xA9z"), "az" },
	{ S("\xE2\x9D\xA4\xEF\xB8\x8F"), "\xE2\x9D\xA4\xEF\xB8\x8F" },
};

static void whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf out = BUF_INIT(1000);

		buf_adds(&out, "");
		sanitize_text(cases[i].in, &out);
		assert_string_equal(out.ptr, cases[i].out);
		buf_release(&out);
	}
}

static void split_at_every_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str in = cases[i].in;

		for (size_t at = 0; at <= in.len; at++) {
			struct sanitizer c = { 0 };
			struct buf out = BUF_INIT(1000);

			buf_adds(&out, "");
			sanitize_feed(&c, (struct str){ in.ptr, at }, &out);
			sanitize_feed(&c, str_skip(in, at), &out);
			sanitize_end(&c, &out);
			assert_string_equal(out.ptr, cases[i].out);
			buf_release(&out);
		}
	}
}

static void one_line(void **state)
{
	struct buf out = BUF_INIT(1000);

	(void)state;
	sanitize_line((struct str)S("a\r\nb\tc\x1b[2J\n"), &out);
	assert_string_equal(out.ptr, "a  b c ");
	buf_clear(&out);
	sanitize_line((struct str)S("a\x0b"
				    "b\x0c"
				    "c\xC2\x85"
				    "d\xE2\x80\xA8"
				    "e\xE2\x80\xA9"
				    "f\rg"),
		      &out);
	assert_string_equal(out.ptr, "a b c d e f g");
	buf_clear(&out);
	sanitize_message((struct str)S("a\rb\nc"), &out);
	assert_string_equal(out.ptr, "a b\nc");
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(split_at_every_byte),
		cmocka_unit_test(one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
