/* paths_test.c - the file names that a model writes. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tool/paths.h"
#include "unit.h"

static const struct {
	const char *written;
	const char *want;
} good[] = {
	{ "foo/bar", "/w/d/foo/bar" },
	{ "/./foo//bar", "/foo/bar" },
	{ "/", "/" },
	{ "//a", "/a" },
	{ "///a/", "/a" },
	{ ".", "/w/d" },
	{ "", "/w/d" },
	{ "./", "/w/d" },
	{ "foo\\bar", "/w/d/foo\\bar" },
	{ "a\\..\\b", "/w/d/a\\..\\b" },
	{ "foo..bar.txt", "/w/d/foo..bar.txt" },
	{ "/v2..0/release", "/v2..0/release" },
	{ "a/~/b", "/w/d/a/~/b" },
	{ "/a/...", "/a/..." },
	{ "a b/\xC3\xA9", "/w/d/a b/\xC3\xA9" },
	{ "1:/x", "/w/d/1:/x" },
};

static const struct {
	const char *written;
	const char *want;
} bad[] = {
	{ "../etc/passwd", "Error: Path traversal not allowed: ../etc/passwd" },
	{ "foo/../../etc", "Error: Path traversal not allowed: foo/../../etc" },
	{ "/workspace/../../../etc/shadow",
	  "Error: Path traversal not allowed: /workspace/../../../etc/shadow" },
	{ "a/..", "Error: Path traversal not allowed: a/.." },
	{ "..", "Error: Path traversal not allowed: .." },
	{ "~/secret.txt", "Error: Path traversal not allowed: ~/secret.txt" },
	{ "~user", "Error: Path traversal not allowed: ~user" },
	{ "C:\\Users\\file.txt",
	  "Error: Windows absolute paths are not supported: "
	  "C:\\Users\\file.txt. Please use virtual paths starting with / "
	  "(e.g., /workspace/file.txt)" },
	{ "x:/y", "Error: Windows absolute paths are not supported: x:/y. "
		  "Please use virtual paths starting with / (e.g., "
		  "/workspace/file.txt)" },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct error err = { 0 };
		char *path;

		assert_int_equal(
			paths_resolve("/w/d", good[i].written, &path, &err), 0);
		assert_string_equal(path, good[i].want);
		free(path);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { 0 };
		char *path;

		assert_int_equal(
			paths_resolve("/w/d", bad[i].written, &path, &err), -1);
		assert_null(path);
		assert_int_equal(err.code, ERR_USAGE);
		assert_string_equal(err.message, bad[i].want);
	}
}

static void test_long(void **state)
{
	char *name = xcalloc(PATHS_BYTES + 2, 1);
	struct error err = { 0 };
	char *path;

	(void)state;
	memset(name, 'a', PATHS_BYTES + 1);
	name[0] = '/';
	assert_int_equal(paths_resolve("/", name, &path, &err), -1);
	assert_non_null(strstr(err.message, "longer than 4095 bytes"));
	name[PATHS_BYTES] = '\0';
	assert_int_equal(paths_resolve("/", name, &path, &err), 0);
	assert_string_equal(path, name);
	free(path);
	free(name);
}

static void test_contain(void **state)
{
	(void)state;
	assert_true(paths_contain("/", "/w"));
	assert_true(paths_contain("/w", "/w"));
	assert_true(paths_contain("/w", "/w/x"));
	assert_false(paths_contain("/w", "/wx"));
	assert_false(paths_contain("/w/x", "/w"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_contain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
