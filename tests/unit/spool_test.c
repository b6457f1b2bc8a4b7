/* spool_test.c - texts in a temporary file without a name. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/spool.h"
#include "base/str.h"
#include "unit.h"

static void texts_come_back_from_their_positions(void **state)
{
	struct spool s = { 0 };
	size_t len = 700 << 10; /* the fourth no longer fits into 2 MiB */
	char *text = xcalloc(len, 1);

	(void)state;
	for (int c = 'a'; c < 'g'; c++) {
		memset(text, c, len);
		assert_true(spool_add(&s, (struct str){ text, len }));
		assert_true(spool_add(&s, STR("")));
	}
	assert_int_equal(s.end, 6 * len);
	for (int c = 'a'; c < 'g'; c++) {
		size_t at = (size_t)(c - 'a') * len;

		memset(text, c, len);
		assert_true(str_eq(spool_text(&s, at, len),
				   (struct str){ text, len }));
		spool_drop_pages(&s);
	}
	assert_true(str_is(spool_text(&s, len - 1, 2), "ab"));
	assert_int_equal(spool_text(&s, 0, 0).len, 0);
	spool_release(&s);
	assert_int_equal(s.end, 0);
	free(text);
}

static size_t count_files(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* "." and ".." */
}

static void the_file_has_no_name_and_a_failure_is_reported(void **state)
{
	char dir[] = "/tmp/spool_test.XXXXXX";
	struct spool s = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("TMPDIR", dir, 1);
	assert_true(spool_add(&s, STR("one")));
	assert_int_equal(count_files(dir), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_true(str_is(spool_text(&s, 0, 3), "one"));
	assert_true(spool_add(&s, STR("two")));
	assert_true(str_is(spool_text(&s, 0, 6), "onetwo"));
	spool_release(&s);
	assert_false(spool_add(&s, STR("one")));
	assert_int_equal(s.end, 0);
	spool_drop_pages(&s);
	spool_release(&s);
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_back_from_their_positions),
		cmocka_unit_test(
			the_file_has_no_name_and_a_failure_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
