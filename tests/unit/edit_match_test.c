/* edit_match_test.c - what an edit changes, against the spec's cases. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "sandbox/files/text.h"
#include "unit.h"

struct edited {
	int rc;
	int64_t count;
	struct buf text;
	struct error err;
};

static void edit(const char *file, const char *old, const char *new, bool all,
		 struct edited *e)
{
	struct edit_change c = { .middle = BUF_INIT(1000) };

	*e = (struct edited){ .text = BUF_INIT(1000) };
	e->rc = edit_match(str_of(file), str_of(old), str_of(new), all, &c,
			   &e->err);
	e->count = c.count;
	if (!e->rc) {
		assert_true(c.head + c.tail <= strlen(file));
		buf_add(&e->text, file, c.head);
		buf_addstr(&e->text, buf_str(&c.middle));
		buf_adds(&e->text, file + strlen(file) - c.tail);
	}
	buf_release(&c.middle);
	buf_release(&c.near);
}

static void replaces(void **arg)
{
	static const struct {
		const char *file;
		const char *old;
		const char *new;
		bool all;
		int64_t count;
		const char *want;
	} cases[] = {
		{ "one two", "two", "TWO", false, 1, "one TWO" },
		{ "a a a", "a", "b", true, 3, "b b b" },
		{ "aaaa", "aa", "b", true, 2, "bb" },
		{ "a\r\nb\r\n", "a\nb", "x\ny", false, 1, "x\r\ny\r\n" },
		{ "a\nb\n", "a\r\nb", "x\r\ny", false, 1, "x\ny\n" },
		{ "a\r\nb\nc\n", "b\nc", "z", false, 1, "a\r\nz\n" },
		{ "a\r\nb\r\na\nb\n", "a\nb", "X\nY", true, 1,
		  "a\r\nb\r\nX\nY\n" },
		{ "a\r\n", "a", "b\nc", false, 1, "b\r\nc\r\n" },
		{ "a\nb", "b", "1\r\n2", false, 1, "a\n1\n2" },
		{ "a\r\nb", "b", "1\n2\n", false, 1, "a\r\n1\r\n2\r\n" },
		{ "x\r\nx\nx", "x", "1\n2", true, 3, "1\r\n2\r\n1\n2\n1\n2" },
		{ "a\r\nb\r\n", "\nb", "\nb\nc", false, 1, "a\r\nb\r\nc\r\n" },
		{ "a\r\nb\r\n", "\nb", "", false, 1, "a\r\n" },
		{ "a\r\nb\n", "\nb\n", "\nb\n", false, 1, "a\r\nb\n" },
		{ "a\r\nb\n", "\nb", "\nc\nd", false, 1, "a\r\nc\nd\n" },
		{ "a\r\nb\n", "\r\nb\r\n", "\r\nc\r\n", false, 1, "a\r\nc\n" },
		{ "a\nb\r\n", "\nb", "\nb\nc", false, 1, "a\nb\r\nc\r\n" },
		{ "a\r\nb\na\r\nb\n", "\nb", "\nc", true, 2,
		  "a\r\nc\na\r\nc\n" },
		{ "a\r\n", "\n", "\n\n", false, 1, "a\r\n\r\n" },
		{ "a\r\nb\r\n", "a\r\nb", "a\nb", false, 1, "a\nb\r\n" },
		{ "a\rb\rc", "a\nb", "x\ny\nz", false, 1, "x\ry\rz\rc" },
		{ "a", "a", "b\r\nc", false, 1, "b\r\nc" },
		{ "", "", "new", false, 1, "new" },
		{ "b b b", "", "-", true, 6, "-b- -b- -b-" },
		{ "\xe2\x82\xac", "", "-", true, 2, "-\xe2\x82\xac-" },
		{ "alpha\nbeta\n", "beta\n", "x", false, 1, "alpha\nx" },
		{ "abc", "abc", "", false, 1, "" },
		{ "x x", "x", "x", true, 2, "x x" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct edited e;

		edit(cases[i].file, cases[i].old, cases[i].new, cases[i].all,
		     &e);
		assert_int_equal(e.rc, 0);
		assert_int_equal(e.count, cases[i].count);
		assert_string_equal(e.text.ptr ? e.text.ptr : "",
				    cases[i].want);
		buf_release(&e.text);
	}
}

static void refuses(void **arg)
{
	static const struct {
		const char *file;
		const char *old;
		const char *code;
		int64_t count;
		const char *hint;
	} cases[] = {
		{ "a a a", "a", "multiple_occurrences", 3, "" },
		{ "b b b", "", "multiple_occurrences", 6, "" },
		{ "abc", "zzz", "string_not_found", 0, "" },
		{ "# A\nyou", "# A\nyou\n", "string_not_found", 0,
		  "old_string ends with a newline, but" },
		{ "# A\r\nyou", "# A\nyou\n", "string_not_found", 0,
		  "old_string ends with a newline, but" },
		{ "x x x", "x\n", "string_not_found", 0, "3 times" },
		{ "hello", "\n", "string_not_found", 0, "" },
		{ "return foobar", "return foo\n", "string_not_found", 0, "" },
		{ "x foo y", "x foo\n", "string_not_found", 0, "" },
		{ "a\xff", "a", "not_a_text_file", 0, "" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct edited e;

		edit(cases[i].file, cases[i].old, "new", false, &e);
		assert_int_equal(e.rc, -1);
		assert_int_equal(e.count, cases[i].count);
		assert_string_equal(e.err.message, cases[i].code);
		if (*cases[i].hint)
			assert_non_null(strstr(e.err.hint, cases[i].hint));
		else
			assert_string_equal(e.err.hint, "");
		buf_release(&e.text);
	}
}

static void is_capped(void **arg)
{
	struct edited e;
	char big[600];

	(void)arg;
	memset(big, 'y', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	edit("x x", "x", big, true, &e);
	assert_int_equal(e.rc, -1);
	assert_int_equal(e.err.code, ERR_LIMIT);
	edit("x x", "x x", big, true, &e);
	assert_int_equal(e.rc, 0);
	buf_release(&e.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces),
		cmocka_unit_test(refuses),
		cmocka_unit_test(is_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
