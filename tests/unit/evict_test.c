/* evict_test.c - previews of results that went to a file. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "tool/result.h"
#include "tool_fake.h"
#include "unit.h"

static void test_name(void **state)
{
	struct buf out = BUF_INIT(1024);

	(void)state;
	evict_name("019a-b", 12, &out);
	assert_string_equal(out.ptr, "019a-b-12");
	buf_clear(&out);
	evict_name(NULL, 0, &out);
	assert_int_equal(out.len, 16);
	buf_release(&out);
}

/* Only this thread's files, in a directory that is ours alone. */
static void test_own(void **state)
{
	char dir[] = "/tmp/dcode_large_tool_results.XXXXXX";
	char path[100];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/019a-12", dir);
	assert_true(evict_is_own("019a", path));
	assert_false(evict_is_own("019b", path));
	assert_false(evict_is_own("019", path));
	assert_false(evict_is_own(NULL, path));
	assert_false(evict_is_own("019a", "/tmp/019a-12"));
	snprintf(path, sizeof(path), "%s/019a-12/x", dir);
	assert_false(evict_is_own("019a", path));
	snprintf(path, sizeof(path), "%s/019a-x", dir);
	assert_false(evict_is_own("019a", path));
	snprintf(path, sizeof(path), "%s/019a-1", dir);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_false(evict_is_own("019a", path));
	assert_int_equal(rmdir(dir), 0);
}

static void expect_preview(size_t lines, const char *want)
{
	struct buf text = BUF_INIT(1024);
	struct buf out = BUF_INIT(4096);

	for (size_t i = 1; i <= lines; i++)
		buf_addf(&text, "l%zu\n", i);
	evict_preview(buf_str(&text), &out);
	assert_string_equal(out.ptr, want);
	buf_release(&text);
	buf_release(&out);
}

static void test_preview(void **state)
{
	(void)state;
	expect_preview(2, "1  l1\n2  l2");
	expect_preview(10, " 1  l1\n 2  l2\n 3  l3\n 4  l4\n 5  l5\n 6  l6\n"
			   " 7  l7\n 8  l8\n 9  l9\n10  l10");
	expect_preview(11, "1  l1\n2  l2\n3  l3\n4  l4\n5  l5\n"
			   "... [1 lines truncated] ...\n"
			   " 7  l7\n 8  l8\n 9  l9\n10  l10\n11  l11");
	expect_preview(15, "1  l1\n2  l2\n3  l3\n4  l4\n5  l5\n"
			   "... [5 lines truncated] ...\n"
			   "11  l11\n12  l12\n13  l13\n14  l14\n15  l15");
}

static void test_long_line(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_adds(&text, "\xC3\xA9");
	evict_preview(buf_str(&text), &out);
	assert_int_equal(str_chars(buf_str(&out)), 3 + EVICT_LINE_CHARS);
	buf_release(&text);
	buf_release(&out);
}

static void test_clip(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < RESULT_CHARS + 1; i++)
		buf_adds(&text, i ? "\xC3\xA9" : "<");
	buf_addc(&text, '>');
	evict_clip("why", buf_str(&text), &out);
	assert_true(str_chars(buf_str(&out)) <= RESULT_CHARS);
	assert_true(str_is_utf8(buf_str(&out)));
	assert_int_equal(out.ptr[0], '<');
	assert_int_equal(out.ptr[out.len - 1], '>');
	assert_non_null(strstr(out.ptr, "[2002 characters cut here: "));
	buf_release(&text);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_preview),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_clip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
