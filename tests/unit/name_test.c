/* name_test.c - names that a sandbox may and may not have written. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "unit.h"
#include "worktree/name.h"

static void harmless_names_may_be_written(void **arg)
{
	static const char *const names[] = {
		"a",           "a/b/c",
		".gitignore",  ".github/x",
		"git",         "a.git",
		"git~",        "..a",
		"a..",         "...",
		"\xff\xfe",    "a\nb",
		"gitx~1",      ".gitattributes",
		".gitmodules", "a\\b",
		".git-x/a",    "x:y",
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_null(name_refuse(str_of(names[i]), NAME_FILE));
	assert_null(name_refuse(STR("a"), NAME_LINK));
	assert_null(name_refuse(STR("a"), NAME_PROGRAM));
}

static void names_that_leave_the_tree_or_enter_git_are_refused(void **arg)
{
	static const char *const names[] = {
		"",
		"/a",
		"..",
		"a/../b",
		"./a",
		"a//b",
		"a/",
		".git",
		".git/hooks/x",
		"a/.git/config",
		".GIT/x",
		".GiT",
		".git.",
		".git ",
		".git . .",
		"git~1",
		"GIT~1/hooks",
		"git~2",
		".git::$INDEX_ALLOCATION/x",
		".git:x",
		"a\\.git\\hooks",
		".g\xe2\x80\x8cit",
		"\xef\xbb\xbf.git",
		".gi\xe2\x81\xaft/hooks",
		".git\xe2\x80\xae",
		"a\001b",
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_non_null(name_refuse(str_of(names[i]), NAME_FILE));
	assert_non_null(name_refuse(((struct str){ "a\0b", 3 }), NAME_FILE));
}

static void names_that_are_too_long_are_refused(void **arg)
{
	struct buf b = BUF_INIT(1 << 16);

	(void)arg;
	while (b.len < 255)
		buf_addc(&b, 'n');
	assert_null(name_refuse(buf_str(&b), NAME_FILE));
	buf_addc(&b, 'n');
	assert_non_null(name_refuse(buf_str(&b), NAME_FILE));
	buf_clear(&b);
	while (b.len < 4200)
		buf_adds(&b, "d/");
	buf_addc(&b, 'n');
	assert_non_null(name_refuse(buf_str(&b), NAME_FILE));
	buf_release(&b);
}

static void only_files_and_links_are_written(void **arg)
{
	static const unsigned modes[] = { 0104755, 0160000, 0040000,
					  0,       0100666, 0020000 };

	(void)arg;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		assert_non_null(name_refuse(STR("a"), modes[i]));
	assert_non_null(name_refuse(STR("a/.gitmodules"), NAME_LINK));
	assert_non_null(name_refuse(STR(".GITMODULES"), NAME_LINK));
}

static void links_stay_in_the_tree(void **arg)
{
	static const struct {
		const char *path, *target;
		int may;
	} cases[] = {
		{ "a", "b", 1 },
		{ "d/a", "../b", 1 },
		{ "d/e/a", "../../b/c", 1 },
		{ "a", "./b//c/", 1 },
		{ "a", "missing", 1 },
		{ "d/a", "..", 1 },
		{ "a", "..", 0 },
		{ "a", "../b", 0 },
		{ "d/a", "../../b", 0 },
		{ "d/a", "./../../b", 0 },
		{ "a", "/etc/passwd", 0 },
		{ "a", "b/..", 0 },
		{ "a", "d/../../x", 0 },
		{ "a", ".git/hooks", 0 },
		{ "d/a", "../.GIT", 0 },
		{ "a", "", 0 },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(!name_refuse_target(str_of(cases[i].path),
						     str_of(cases[i].target)),
				 cases[i].may);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harmless_names_may_be_written),
		cmocka_unit_test(
			names_that_leave_the_tree_or_enter_git_are_refused),
		cmocka_unit_test(names_that_are_too_long_are_refused),
		cmocka_unit_test(only_files_and_links_are_written),
		cmocka_unit_test(links_stay_in_the_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
