/* select_read_test.c - files of a tree that the user may not read. */
/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "select_place.h"
#include "unit.h"

/* As a user who has to ask: root reads all. */
static const char *list_as_user(struct place *p, const char *script)
{
	const char *text;

	run_script(p, script);
	run_script(p, "chown -R 65534 \"$D\" || :\n");
	if (getuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	text = list_files(p);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	run_script(p, "chmod -R u+rwX \"$D\"");
	return text;
}

/* It is not gone: a sync would delete it in the sandbox. */
static void test_what_may_not_be_read_is_named(void **state)
{
	assert_string_equal(
		list_as_user(*state,
			     "git init -q; mkdir d; echo x | tee a b d/c\n"
			     "git add .; chmod 0 b d\n"),
		"a|-b|-d|-d/c|");
}

static void test_unreadable_directories_are_named_unless_ignored(void **state)
{
	assert_string_equal(
		list_as_user(*state,
			     "git init -q; mkdir -p in/deep out/deep out/o2\n"
			     "mkdir -p other/x; git init -q other\n"
			     "echo x | tee a in/deep/f in/g\n"
			     "echo out/deep >.gitignore\n"
			     "echo o2 >.git/info/exclude\n"
			     "chmod 0 in/deep out/deep out/o2 other/x\n"),
		".gitignore|a|in/g|-in/deep|-other|");
}

static void test_dcodeignore_hides_unreadable_directories(void **state)
{
	assert_string_equal(list_as_user(*state,
					 "mkdir -p one two; echo two "
					 ">.dcodeignore; chmod 0 one two\n"),
			    ".dcodeignore|-one|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_what_may_not_be_read_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_unreadable_directories_are_named_unless_ignored,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_dcodeignore_hides_unreadable_directories, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
