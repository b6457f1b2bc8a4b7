/* near_miss_test.c - the hint of a failed edit, in large files. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/text.h"
#include "unit.h"

enum { SIZE = 8 << 20, SECONDS = 20 }; /* under sanitizers; else below one */

/* times copies of line. */
static char *repeat(const char *line, size_t times)
{
	size_t len = strlen(line);
	char *text = xcalloc(len * times + 1, 1);

	for (size_t i = 0; i < times; i++)
		memcpy(text + i * len, line, len);
	text[len * times] = '\0';
	return text;
}

static void test_a_file_that_repeats_the_text_costs_no_hours(void **state)
{
	char *file = repeat("a\n", SIZE / 2);
	char *text = repeat("a\n", 998);
	struct buf out = BUF_INIT(1 << 16);
	clock_t began = clock();

	(void)state;
	text[2 * 998 - 2] = 'b';
	assert_false(near_miss(str_of(file), str_of(text), &out));
	assert_true(clock() - began < (clock_t)SECONDS * CLOCKS_PER_SEC);
	buf_release(&out);
	free(text);
	free(file);
}

static void test_the_last_line_of_a_large_file_is_found(void **state)
{
	static const char line[] = "an ordinary line of a file that is large\n";
	static const char end[] = "\tif (ready)\n\t\treturn 0;\n";
	size_t len = strlen(line);
	char *file = repeat(line, (SIZE - sizeof(end)) / len);
	size_t n = strlen(file);
	struct buf out = BUF_INIT(1 << 16);

	(void)state;
	file = xrealloc(file, n + sizeof(end), 1);
	memcpy(file + n, end, sizeof(end));
	assert_true(near_miss(str_of(file),
			      STR("    if (ready)\n        return 0;"), &out));
	assert_non_null(strstr(out.ptr, "nearly matches"));
	buf_release(&out);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_file_that_repeats_the_text_costs_no_hours),
		cmocka_unit_test(test_the_last_line_of_a_large_file_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
