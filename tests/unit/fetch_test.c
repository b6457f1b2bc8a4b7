/* fetch_test.c - what a sandbox changed becomes a commit, and no more. */
/* SPDX-License-Identifier: MIT */
#include "fetch_tree.h"

static void changes_become_a_commit_on_the_base(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;
		const struct str bytes = STR("\0\r\nnew\xff");

		begin(&t, k);
		fetch(&t);
		assert_true(t.f.same);
		assert_string_equal(t.f.theirs, t.w.base);
		put(&t.room, "a", bytes, 0755);
		put(&t.room, "n w", STR("new"), 0644);
		put(&t.room, "twin", STR("same bytes"), 0644);
		assert_int_equal(unlink(in(&t.room, "run")), 0);
		assert_int_equal(symlink("a", in(&t.room, "run")), 0);
		assert_int_equal(unlink(in(&t.room, "src/x")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		fetch(&t);
		assert_false(t.f.same);
		differs(&t, "M	a|A	n w|T	run|D	src/x|A	"
			    "twin|");
		contains(&t, "a", bytes);
		contains(&t, "run", STR("a"));
		assert_int_equal(t.f.ignored, 2);
		assert_int_equal(t.f.n_refused + t.f.n_left, 0);
		end(&t);
	}
}

static void an_undone_change_is_no_change(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;

		begin(&t, k);
		put(&t.room, "run", STR("other"), 0755);
		fetch(&t);
		assert_false(t.f.same);
		put(&t.room, "run", STR("#!/bin/sh\n"), 0755);
		fetch(&t);
		assert_true(t.f.same);
		differs(&t, "");
		end(&t);
	}
}

static void hard_links_and_named_ignored_files_come(void **arg)
{
	static const char *const include[] = { "*.o" };

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;
		char *one;

		begin(&t, k);
		put(&t.room, "one", STR("linked"), 0644);
		one = xstrdup(in(&t.room, "one"));
		assert_int_equal(link(one, in(&t.room, "two")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		t.request.include = include;
		t.request.n_include = 1;
		fetch(&t);
		differs(&t, "A	one|A	two|A	x.o|");
		contains(&t, "one", STR("linked"));
		contains(&t, "two", STR("linked"));
		assert_int_equal(t.f.ignored, 1);
		free(one);
		end(&t);
	}
}

static void new_ignore_files_count_at_once(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;

		begin(&t, k);
		make_dir(&t.room, "venv");
		make_dir(&t.room, "venv/lib");
		make_dir(&t.room, "sub");
		put(&t.room, "venv/.gitignore", STR("*\n"), 0644);
		put(&t.room, "venv/lib/x", STR("x"), 0644);
		put(&t.room, "sub/.gitignore", STR("*.tmp\n!b.tmp\n"), 0644);
		put(&t.room, "sub/a.tmp", STR("a"), 0644);
		put(&t.room, "sub/b.tmp", STR("b"), 0644);
		put(&t.room, "a.tmp", STR("not of sub"), 0644);
		fetch(&t);
		differs(&t, "A	a.tmp|A	sub/.gitignore|A	"
			    "sub/b.tmp|");
		assert_int_equal(t.f.ignored, 3);
		assert_int_equal(t.f.n_refused + t.f.n_left, 0);
		end(&t);
	}
}

static void what_no_tree_can_hold_is_named(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;

		begin(&t, k);
		t.request.file_max = 100;
		put(&t.room, "core", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "core"), 5000), 0);
		put(&t.room, "a", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "a"), 5000), 0);
		assert_int_equal(mkfifo(in(&t.room, "fifo"), 0644), 0);
		put(&t.room, "run", STR("new"), 0755);
		assert_int_equal(chmod(in(&t.room, "run"), 04755), 0);
		make_dir(&t.room, ".GIT");
		put(&t.room, ".GIT/config", STR("x"), 0644);
		assert_int_equal(symlink("/etc", in(&t.room, "out")), 0);
		put(&t.room, "ok", STR("fine"), 0644);
		fetch(&t);
		differs(&t, "A	ok|");
		names(&t, "core", "is larger than it may be");
		names(&t, "a", "is larger than it may be");
		names(&t, "fifo", "is a pipe, a socket or a device");
		refuses(&t, "run", "has the setuid, setgid or sticky bit");
		refuses(&t, ".GIT/config", "is inside .git");
		refuses(&t, "out", "is a link that leaves the tree");
		end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_become_a_commit_on_the_base),
		cmocka_unit_test(an_undone_change_is_no_change),
		cmocka_unit_test(hard_links_and_named_ignored_files_come),
		cmocka_unit_test(new_ignore_files_count_at_once),
		cmocka_unit_test(what_no_tree_can_hold_is_named),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
