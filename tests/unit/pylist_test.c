/* pylist_test.c - values as Python prints them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/result.h"
#include "unit.h"

/* Right sides printed by python3 -c 'print(repr(...))', 3.11. */
static const struct {
	const char *in;
	const char *want;
} strings[] = {
	{ "/a/x", "'/a/x'" },
	{ "it's", "\"it's\"" },
	{ "say \"hi\"", "'say \"hi\"'" },
	{ "it's \"x\"", "'it\\'s \"x\"'" },
	{ "a\\b", "'a\\\\b'" },
	{ "a\nb\tc\rd", "'a\\nb\\tc\\rd'" },
	{ "\x1b[31m\x7f", "'\\x1b[31m\\x7f'" },
	{ "\xC3\xA9", "'\xC3\xA9'" },
	{ "\xC2\xA0", "'\\xa0'" },
	{ "\xC2\xAD", "'\\xad'" },
	{ "\xE2\x80\xAE", "'\\u202e'" },
	{ "\xEF\xBB\xBF", "'\\ufeff'" },
	{ "\xF3\xA0\x80\x81", "'\\U000e0001'" },
	{ "\xF0\x9F\x98\x80", "'\xF0\x9F\x98\x80'" },
	{ "a\xFFz", "'a\\xffz'" },
	{ "", "''" },
};

static void test_strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		struct buf out = BUF_INIT(1024);

		pylist_string(&out, str_of(strings[i].in));
		assert_string_equal(out.ptr, strings[i].want);
		buf_release(&out);
	}
}

static void test_list(void **state)
{
	char a[] = "/d/a";
	char b[] = "/d/b";
	char *names[] = { a, b };
	struct buf out = BUF_INIT(1024);

	(void)state;
	pylist_names(&out, names, 2);
	assert_string_equal(out.ptr, "['/d/a', '/d/b']");
	buf_release(&out);
}

static size_t count(const char *text, const char *needle)
{
	size_t n = 0;

	while ((text = strstr(text, needle))) {
		text += strlen(needle);
		n++;
	}
	return n;
}

static void test_truncation(void **state)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	char *names[2000];

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		names[i] =
			xasprintf("/d/%s%04zu",
				  "ppppppppppppppppppppppppppppppppppppppppp"
				  "pppppppppppppppppppppppppppppppppppppppppp"
				  "pppppppp",
				  i);
	/* 98 characters each: 2000 * 80000 / 196000 */
	pylist_names(&out, names, 2000);
	assert_int_equal(count(out.ptr, "/d/"), 816);
	assert_true(str_ends(buf_str(&out),
			     ", '... [results truncated, try being more "
			     "specific with your parameters]']"));
	buf_clear(&out);
	pylist_names(&out, names, 816); /* 79,968 characters: all fit */
	assert_int_equal(count(out.ptr, "/d/"), 816);
	assert_int_equal(count(out.ptr, "truncated"), 0);
	for (size_t i = 0; i < 2000; i++)
		free(names[i]);
	buf_release(&out);
}

static void test_value(void **state)
{
	cJSON *tree = json_parse(
		STR("{\"a\":[1,2.5,true,false,null,\"it's\"],\"b\":{},"
		    "\"long\":\"0123456789abc\"}"));
	struct buf out = BUF_INIT(1024);

	(void)state;
	pylist_value(&out, tree, 10);
	assert_string_equal(out.ptr,
			    "{'a': [1, 2.5, True, False, None, \"it's\"], "
			    "'b': {}, 'long': '0123456789...'}");
	cJSON_Delete(tree);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
