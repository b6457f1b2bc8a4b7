/* branch_test.c - what a thread is called, and the branch that it is of. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "session/session.h"
#include "session/thread.h"
#include "unit.h"

static void test_titles_are_cut_between_words(void **state)
{
	char *title = thread_title("one two three four five six seven eight "
				   "nine ten eleven twelve thirteen fourteen");
	char *word =
		thread_title("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	char *empty = thread_title(" \n\t");

	(void)state;
	assert_string_equal(title, "one two three four five six seven eight "
				   "nine ten eleven twelve thirteen");
	assert_int_equal(str_chars(str_of(word)), 72);
	assert_string_equal(empty, "");
	free(title);
	free(word);
	free(empty);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	struct error err = { 0 };
	char *path = path_join(dir, name);

	assert_int_equal(path_write(path, str_of(text), 0600, &err), 0);
	free(path);
}

static void test_branches_are_read_from_repositories_and_worktrees(void **state)
{
	char dir[] = "/tmp/dcode-unit-XXXXXX";
	struct error err = { 0 };
	char *git = path_join(mkdtemp(dir), "r/.git/worktrees/w");
	char *repo = path_join(dir, "r");
	char *deep = path_join(dir, "r/a/b");
	char *tree = path_join(dir, "w");
	char branch[BRANCH_SIZE];

	(void)state;
	assert_int_equal(path_mkdirs(git, 0700, &err), 0);
	assert_int_equal(path_mkdirs(deep, 0700, &err), 0);
	assert_int_equal(path_mkdirs(tree, 0700, &err), 0);
	write_file(repo, ".git/HEAD", "ref: refs/heads/feature/x\n");
	write_file(git, "HEAD", "ref: refs/heads/other\n");
	write_file(tree, ".git", "gitdir: ../r/.git/worktrees/w\n");
	branch_read(deep, branch);
	assert_string_equal(branch, "feature/x");
	branch_read(tree, branch);
	assert_string_equal(branch, "other");
	write_file(repo, ".git/HEAD", "0123456789012345678901234567890\n");
	branch_read(deep, branch);
	assert_string_equal(branch, "");
	branch_read(NULL, branch);
	assert_string_equal(branch, "");
	free(git);
	free(repo);
	free(deep);
	free(tree);
	assert_int_equal(path_remove_tree(dir, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles_are_cut_between_words),
		cmocka_unit_test(
			test_branches_are_read_from_repositories_and_worktrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
