/* library_test.c - a shared library as a table of functions. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/library.h"
#include "unit.h"

struct table {
	double (*cos)(double x);
	double (*fabs)(double x);
};

static const struct library_symbol symbols[] = {
	{ "cos", offsetof(struct table, cos) },
	{ "fabs", offsetof(struct table, fabs) },
	{ "of_the_next_version", 0 },
};

static void the_first_file_that_is_there_fills_the_table(void **state)
{
	const struct library math = {
		.name = "libm", .files = { "libnone.so.1", "libm.so.6" }
	};
	struct error err = { 0 };
	struct table t = { 0 };

	(void)state;
	assert_int_equal(library_load(&math, symbols, 2, &t, &err), 0);
	assert_true(t.cos(0) == 1);
	assert_true(t.fabs(-2) == 2);
}

/* With or without what it needs: if that is missing, the library itself says
 * so. */
static void what_a_library_needs_may_be_missing(void **state)
{
	const char *const needs[] = { "libc.so.6", "libnone.so.1" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct library math = { .name = "libm",
					      .files = { "libm.so.6" },
					      .needs = { needs[i] } };
		struct error err = { 0 };
		struct table t = { 0 };

		assert_int_equal(library_load(&math, symbols, 2, &t, &err), 0);
		assert_true(t.cos(0) == 1);
	}
}

static void a_missing_library_says_what_to_install(void **state)
{
	const struct library none = { .name = "libnone",
				      .files = { "libnone.so.1" },
				      .package = "libnone1" };
	struct error err = { 0 };
	struct table t = { 0 };

	(void)state;
	assert_int_equal(library_load(&none, symbols, 2, &t, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(
		strstr(err.message, "cannot load libnone: libnone.so.1"));
	assert_string_equal(err.hint, "Install it: apt install libnone1");
}

static void an_old_library_is_named_with_the_version_it_needs(void **state)
{
	const struct library math = { .name = "libm",
				      .files = { "libm.so.6" },
				      .needed = "9.1" };
	struct error err = { 0 };
	struct table t = { 0 };

	(void)state;
	assert_int_equal(library_load(&math, symbols, 3, &t, &err), -1);
	assert_string_equal(err.message,
			    "this libm is too old: it lacks "
			    "of_the_next_version (9.1 or later is needed)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_file_that_is_there_fills_the_table),
		cmocka_unit_test(what_a_library_needs_may_be_missing),
		cmocka_unit_test(a_missing_library_says_what_to_install),
		cmocka_unit_test(
			an_old_library_is_named_with_the_version_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
