/* matches_test.c - the results of grep. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/files/grep.c"
#include "tool/result.h"
#include "unit.h"

static void expect(const struct files_matches *list, enum matches_mode mode,
		   const char *want)
{
	struct buf out = BUF_INIT(1024);

	render_matches(list, mode, &out);
	assert_string_equal(out.ptr, want);
	buf_release(&out);
}

static void test_modes(void **state)
{
	char a[] = "/a.py";
	char b[] = "/b.py";
	char x[] = "x";
	char y[] = "y";
	char z[] = "z";
	struct files_match items[] = { { a, 1, y }, { b, 3, x }, { b, 9, z } };
	struct files_matches list = { .items = items, .n = 3 };
	struct files_matches none = { 0 };

	(void)state;
	expect(&list, MATCHES_CONTENT,
	       "/a.py:\n  1: y\n/b.py:\n  3: x\n  9: z");
	expect(&list, MATCHES_COUNT, "/a.py: 1\n/b.py: 2");
	expect(&list, MATCHES_FILES, "/a.py\n/b.py");
	expect(&none, MATCHES_FILES, "No matches found");
}

/* One path of chars characters. */
static void expect_cut(size_t chars, bool cut)
{
	char *path = xcalloc(chars + 1, 1);
	char text[] = "";
	struct files_match item = { path, 1, text };
	struct files_matches list = { .items = &item, .n = 1 };
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);

	memset(path, 'p', chars);
	render_matches(&list, MATCHES_FILES, &out);
	if (!cut)
		assert_int_equal(out.len, chars);
	else
		assert_string_equal(out.ptr + RESULT_CHARS,
				    "\n... [results truncated, try being more "
				    "specific with your parameters]");
	buf_release(&out);
	free(path);
}

static void test_limit(void **state)
{
	(void)state;
	expect_cut(RESULT_CHARS, false);
	expect_cut(RESULT_CHARS + 1, true);
}

static void test_regex(void **state)
{
	static const char *const yes[] = { "foo|bar",      "def .*model",
					   "self\\.tools", "a.+b",
					   "\\bword\\b",   "\\d+",
					   "foo\\(bar\\)" };
	static const char *const no[] = { "self.tools", "arr[0]", "^main",
					  "cost$5",     "value?", "a*b",
					  "c++",        "[0-9]+", "x\\n",
					  "",           "\\",     "a\\\\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(looks_like_regex(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(looks_like_regex(no[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_regex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
