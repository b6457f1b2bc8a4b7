/* protect_test.c - which names count as protected, however they are spelled. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "config/protect.h"
#include "tests/unit/settings_world.h"

static const char *const patterns[] = { ".envrc", ".vscode", ".husky",
					".env*" };
static const struct protect names = { patterns, 4 };

static void spellings_of_one_file_are_one_name(void **state)
{
	static const char *const same[] = {
		".envrc",        ".ENVRC",       ".env",
		".env.local",    ".Env.Local",   ".vscode",
		".vscode.",      ".vscode ",     ".v\u200Bscode",
		".v\u017Fcode",  ".hus\u212Ay",  ".vscode::$DATA",
		"VSCODE~1",      "env~1",        "ENVIRO~2",
		".hu\uFE0Fsky.", ".vscode. . .",
	};
	static const char *const other[] = {
		"envrc",
		"vscode",
		".vscod",
		".vscode2",
		"a.env",
		"VSCODE~",
		"~1",
		"VSCODX~1",
		".vs\xFF"
		"code",
		".vsc\xC3"
		"de",
		"",
		".",
		"..",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (!protect_matches(&names, str_of(same[i])))
			fail_msg("not protected: %s", same[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (protect_matches(&names, str_of(other[i])))
			fail_msg("protected: %s", other[i]);
}

static void git_is_found_in_any_spelling(void **state)
{
	static const char *const same[] = { ".git",  ".GIT",   ".Git",
					    ".git ", ".git.",  ".g\u200Cit",
					    "GIT~1", ".git:x", "git~2" };
	static const char *const other[] = { "git",     ".gitignore",
					     ".github", ".gitmodules",
					     "gitab~1", ".gi" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (!protect_is_git(str_of(same[i])))
			fail_msg("not git's: %s", same[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (protect_is_git(str_of(other[i])))
			fail_msg("git's: %s", other[i]);
}

static void a_path_is_searched_at_any_depth(void **state)
{
	struct str found = protect_find(&names, STR("/a/b/.GIT/hooks/x"));

	(void)state;
	assert_true(str_is(found, ".GIT"));
	found = protect_find(&names, STR("a/.env.test"));
	assert_true(str_is(found, ".env.test"));
	assert_int_equal(protect_find(&names, STR("/a/./src//x.c")).len, 0);
}

/* A long name of stars must not take exponential time. */
static void many_stars_end_soon(void **state)
{
	static const char *const stars[] = { "*a*a*a*a*a*a*a*a*a*a*b" };
	const struct protect p = { stars, 1 };
	char name[256];

	(void)state;
	memset(name, 'a', 255);
	name[255] = '\0';
	assert_false(protect_matches(&p, str_of(name)));
}

static void the_default_list_is_the_documented_one(void **state)
{
	static const char *const list[] = {
		".envrc",      ".husky",  ".vscode", ".idea", ".mcp.json",
		".deepagents", ".agents", ".claude", ".env*"
	};
	struct protect p;
	struct error err = { 0 };

	assert_int_equal(protect_load(&p, load(*state), &err), 0);
	assert_int_equal(p.n, 9);
	for (size_t i = 0; i < p.n; i++)
		assert_string_equal(p.patterns[i], list[i]);
}

static void the_list_can_be_set_and_emptied(void **state)
{
	struct world *w = *state;
	struct protect p;
	struct error err = { 0 };

	put(w, ".deepagents/config.toml", "protect = [\"Makefile\"]\n");
	assert_int_equal(protect_load(&p, load(w), &err), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.patterns[0], "Makefile");
	put(w, ".deepagents/config.toml", "protect = []\n");
	assert_int_equal(protect_load(&p, load(w), &err), 0);
	assert_int_equal(p.n, 0);
	put(w, ".deepagents/config.toml", "protect = [\"a/b\"]\n");
	assert_int_equal(protect_load(&p, load(w), &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings_of_one_file_are_one_name),
		cmocka_unit_test(git_is_found_in_any_spelling),
		cmocka_unit_test(a_path_is_searched_at_any_depth),
		cmocka_unit_test(many_stars_end_soon),
		IN_A_WORLD(the_default_list_is_the_documented_one),
		IN_A_WORLD(the_list_can_be_set_and_emptied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
