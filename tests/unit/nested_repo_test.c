/* nested_repo_test.c - directories below the root that have a .git. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "unit.h"
#include "worktree/name.h"

/* What plants a .git in the directory. */
static void make_directory(int dir)
{
	assert_int_equal(mkdirat(dir, ".git", 0700), 0);
}

static void make_file(int dir)
{
	int fd = openat(dir, ".git", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void make_link(int dir)
{
	assert_int_equal(symlinkat("/nowhere", dir, ".git"), 0);
}

static size_t find(struct tree_dir *disk, const char *path, size_t from)
{
	struct nested_repo n = { 0 };
	size_t at = nested_repo_find(&n, disk, path, from);

	assert_int_equal(nested_repo_find(&n, disk, path, from), at);
	nested_repo_release(&n);
	return at;
}

static void test_a_git_of_any_kind_makes_another_repository(void **state)
{
	void (*const make[])(int dir) = { make_directory, make_file,
					  make_link };
	char top[] = "/tmp/dcode-nested-XXXXXX";
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(make) / sizeof(*make); i++) {
		struct tree_dir disk;
		int dir;

		assert_non_null(mkdtemp(top));
		assert_int_equal(tree_dir_open(&disk, top, &err), 0);
		make[i](disk.root); /* the root's own does not count */
		assert_int_equal(mkdirat(disk.root, "sub", 0700), 0);
		assert_int_equal(mkdirat(disk.root, "sub/deep", 0700), 0);
		assert_int_equal(find(&disk, "file", 0), 0);
		assert_int_equal(find(&disk, "sub/deep/file", 0), 0);
		dir = openat(disk.root, "sub", O_RDONLY | O_CLOEXEC);
		assert_true(dir >= 0);
		make[i](dir);
		close(dir);
		assert_int_equal(find(&disk, "sub/file", 0), 3);
		assert_int_equal(find(&disk, "sub/deep/file", 0), 3);
		assert_int_equal(find(&disk, "sub/deep/file", 4), 0);
		assert_int_equal(find(&disk, "subs/file", 0), 0);
		tree_dir_close(&disk);
		assert_int_equal(path_remove_tree(top, &err), 0);
		memcpy(top + sizeof(top) - 7, "XXXXXX", 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_git_of_any_kind_makes_another_repository),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
