/* visible_test.c - foreign bytes at a terminal, with nothing hidden. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "unit.h"

static void shows(struct str line, const char *want)
{
	struct buf out = BUF_INIT(1 << 10);

	visible_line(line, &out);
	assert_string_equal(out.len ? out.ptr : "", want);
	buf_release(&out);
}

static void text_stays_as_it_is(void **arg)
{
	(void)arg;
	shows(STR("+\tprintf(\"%s\");"), "+\tprintf(\"%s\");");
	shows(STR("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
	      "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	shows(STR(""), "");
}

static void controls_are_shown_not_obeyed(void **arg)
{
	(void)arg;
	shows(STR("a\033[31mb\r\0\177"), "a^[[31mb^M^@^?");
	shows(STR("\xc2\x9b"
		  "31m"),
	      "<U+009B>31m");
	shows(STR("x\xe2\x80\xae"
		  "y\xe2\x80\x8b"),
	      "x<U+202E>y<U+200B>");
	shows(STR("\xff\xc3"), "<FF><C3>");
	shows(STR("\xed\xa0\x80"), "<ED><A0><80>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays_as_it_is),
		cmocka_unit_test(controls_are_shown_not_obeyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
