/* glob_match_test.c - file name patterns against the cases of the spec. */
/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/glob_match.h"
#include "unit.h"

static const char *const tree[] = {
	"a.py",       "sub/b.py",     "sub/nested/c.py",          "readme.md",
	".hidden.py", ".hidden/x.py", ".github/workflows/ci.yml",
};
enum { FILES = sizeof(tree) / sizeof(tree[0]) };

/* Index letters of the files that match: "abc" is the first three. */
static const struct {
	const char *pattern;
	const char *files;
} cases[] = {
	{ "*.py", "abcf" },
	{ "**/*.py", "abc" },
	{ "sub/*.py", "b" },
	{ "sub/**/*.py", "bc" },
	{ "/*.py", "a" },
	{ "a.py/**", "" },
	{ "*.yml", "g" },
	{ "**/*.yml", "" },
	{ ".github/**/*.yml", "g" },
	{ ".*.py", "e" },
	{ ".hidden.py", "e" },
	{ "*", "abcdfg" },
	{ "*.{py,md}", "abcdf" },
	{ "?.py", "abcf" },
	{ "[ab].py", "ab" },
	{ "[!a].py", "bcf" },
	{ "[^a].py", "bcf" },
	{ "{a,{b,c}}.py", "abc" },
	{ "{a}.py", "" },
	{ "sub/", "" },
	{ "*.py/", "" },
	{ "sub", "" },
	{ "./a.py", "" },
	{ "A.PY", "" },
	{ "[a-", "" },
	{ "*.{py", "" },
	{ "", "" },
	{ "**", "abcdfg" },
	{ "**b.py", "b" },
	{ "**/nested/*", "c" },
	{ "{sub/b,a}.py", "ab" },
	{ "sub//b.py", "b" },
	{ "sub/**", "bc" },
	{ "**/**", "abcd" },
	{ "**/.hidden/*", "f" },
	{ "/", "" },
	{ "[a-c].py", "abc" },
	{ "[]a].py", "a" },
	{ "sub/[!x]*/*", "c" },
	{ "**/sub/**/c.py", "c" },
	{ "\\a.py", "" },
	{ "[.]hidden.py", "" },
};

static void spec_cases(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		struct glob *g;
		char got[FILES + 1] = "";

		assert_int_equal(
			glob_new(&g, str_of(cases[i].pattern), 0, &err), 0);
		for (size_t f = 0; f < FILES; f++)
			if (glob_match(g, str_of(tree[f])))
				got[strlen(got)] = (char)('a' + f);
		if (strcmp(got, cases[i].files) != 0)
			fail_msg("%s matches %s, not %s", cases[i].pattern, got,
				 cases[i].files);
		glob_free(g);
	}
}

static int opens(const char *pattern, struct error *err)
{
	struct glob *g = NULL;
	int rc;

	*err = (struct error){ 0 };
	rc = glob_new(&g, str_of(pattern), 0, err);
	glob_free(g);
	return rc;
}

static void refusals(void **arg)
{
	char many[12 * 5 + 1] = "";
	struct error err;

	(void)arg;
	assert_int_equal(opens("../x", &err), -1);
	assert_string_equal(err.message, "invalid_pattern");
	assert_int_equal(opens("a/../b", &err), -1);
	assert_int_equal(opens("a/{..,b}/c", &err), -1);
	assert_int_equal(opens("a/..b/c..", &err), 0);
	for (int i = 0; i < 9; i++)
		memcpy(many + 5 * i, "{a,b}", 6);
	assert_int_equal(opens(many, &err), 0);
	memcpy(many + 45, "{a,b}{a,b}", 11);
	assert_int_equal(opens(many, &err), -1);
	assert_string_equal(err.message, "pattern_too_broad");
}

static bool matches(const char *pattern, unsigned flags, const char *path)
{
	struct error err = { 0 };
	struct glob *g;
	bool hit;

	assert_int_equal(glob_new(&g, str_of(pattern), flags, &err), 0);
	hit = glob_match(g, str_of(path));
	glob_free(g);
	return hit;
}

static void characters(void **arg)
{
	(void)arg;
	assert_true(matches("?", 0, "\xe2\x82\xac"));
	assert_true(matches("[\xe2\x82\xa0-\xe2\x82\xb0]", 0, "\xe2\x82\xac"));
	assert_false(matches("[\xe2\x82\xa0-\xe2\x82\xb0]", 0, "\xe2\x83\xac"));
	assert_true(matches("a?b", 0,
			    "a\xff"
			    "b"));
	assert_false(matches("a?b", 0,
			     "a\xff\xff"
			     "b"));
	assert_true(matches("a\\*", 0, "a\\xy"));
	assert_true(matches("*", GLOB_HIDDEN, ".hidden"));
	assert_false(matches("*", 0, ".hidden"));
	assert_true(matches("a\nb", 0, "d/a\nb"));
	assert_true(matches("*a*a*a*a*a*a*b", 0,
			    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	assert_false(matches("**/**/**/**/**/**/a/**/x", 0,
			     "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/y"));
}

/* Every file that a pattern matches must pass what find is asked. */
static void filter_is_wider(void **arg)
{
	static const char letters[] = "ab./*?[]{},!-";
	static const char *const paths[] = { "a",     "b/a", "a.b", ".a/b",
					     "a/b/a", ".b",  "ab",  "a/.b",
					     "-",     "{a",  "[]",  "a,b",
					     "{[}",   "{}" };
	unsigned seed = 1;
	int hits = 0;

	(void)arg;
	for (int n = 0; n < 60000; n++) {
		char pattern[9] = "";
		struct glob_filter f;
		struct error err = { 0 };
		struct glob *g;

		for (int i = 0; i < 2 + n % 7; i++) {
			seed = seed * 1103515245 + 12345;
			pattern[i] = letters[(seed >> 16) % 13];
		}
		if (glob_new(&g, str_of(pattern), GLOB_HIDDEN, &err))
			continue;
		glob_filter(str_of(pattern), &f);
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			char full[32];
			const char *name = strrchr(paths[i], '/');
			const char *like = f.like.ptr ? f.like.ptr : "";
			bool passes;

			snprintf(full, sizeof(full), ".//./%s", paths[i]);
			name = name ? name + 1 : paths[i];
			passes = fnmatch(like,
					 *f.test == '-' && f.test[1] == 'p'
						 ? full
						 : name,
					 0) == 0;
			if (f.prune &&
			    (paths[i][0] == '.' || strstr(paths[i], "/.")))
				passes = false;
			if (glob_match(g, str_of(paths[i])) && !passes)
				fail_msg("%s matches %s but not %s", pattern,
					 paths[i], like);
			if (f.exact && passes &&
			    !glob_match(g, str_of(paths[i])))
				fail_msg("%s is not exact: %s", pattern,
					 paths[i]);
			hits += passes;
		}
		buf_release(&f.like);
		glob_free(g);
	}
	assert_true(hits > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_cases),
		cmocka_unit_test(refusals),
		cmocka_unit_test(characters),
		cmocka_unit_test(filter_is_wider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
