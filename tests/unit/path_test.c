/* path_test.c - a tree that somebody hostile filled is removed, no other. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"

enum { LEVELS = 1500 };

static void fill_deep(const char *top)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < LEVELS; i++) {
		int next;

		assert_int_equal(mkdirat(dir, "d", 0700), 0);
		assert_int_equal(mkdirat(dir, "d2", 0000), 0);
		next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(dir);
		dir = next;
	}
	close(dir);
}

static void names_the_last_component(void **state)
{
	(void)state;
	assert_string_equal(path_name("a/b.png"), "b.png");
	assert_string_equal(path_name("b.png"), "b.png");
	assert_string_equal(path_name("a/"), "a/");
}

static void removes_its_own_only(void **state)
{
	char top[] = "/tmp/dcode-path.XXXXXX";
	char name[300];
	struct rlimit was;
	struct rlimit few;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(name, sizeof(name), "%s/kept", top);
	assert_int_equal(path_write(name, (struct str){ "x", 1 }, 0640, &err),
			 0);
	snprintf(name, sizeof(name), "%s/tree", top);
	assert_int_equal(path_mkdirs(name, 0700, &err), 0);
	fill_deep(name);
	snprintf(name, sizeof(name), "%s/tree/.removed-0", top);
	assert_int_equal(mkdir(name, 0), 0); /* a name that it may want */
	snprintf(name, sizeof(name), "%s/tree/out", top);
	assert_int_equal(symlink("..", name), 0);
	snprintf(name, sizeof(name), "%s/tree/hard", top);
	assert_int_equal(mkfifo(name, 0), 0);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	snprintf(name, sizeof(name), "%s/tree", top);
	assert_int_equal(path_remove_tree(name, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);

	assert_int_equal(lstat(name, &st), -1);
	snprintf(name, sizeof(name), "%s/link", top);
	assert_int_equal(symlink(".", name), 0);
	assert_int_equal(path_remove_tree(name, &err), 0);
	assert_int_equal(path_remove_tree(name, &err), 0); /* not there */
	snprintf(name, sizeof(name), "%s/kept", top);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(path_remove_tree(top, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_its_own_only),
		cmocka_unit_test(names_the_last_component),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
