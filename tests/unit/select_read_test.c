/* select_read_test.c - files of a tree that the user may not read. */
/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "select_place.h"
#include "unit.h"

/* It is not gone: a sync would delete it in the sandbox. */
static void test_what_may_not_be_read_is_named(void **state)
{
	struct place *p = *state;
	const char *text;

	run_script(p, "git init -q; mkdir d; echo x | tee a b d/c; git add .\n"
		      "chown -R 65534 \"$D\" || :; chmod 0 b d\n");
	if (getuid() == 0) /* root reads all */
		assert_int_equal(seteuid(65534), 0);
	text = list_files(p);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_string_equal(text, "a|-b|-d/c|");
	run_script(p, "chmod 700 d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_what_may_not_be_read_is_named, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
