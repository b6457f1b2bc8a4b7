/* args_test.c - command lines as users type them. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/args.h"

static const struct arg_row global[] = {
	{ "non-interactive", 'n', ARG_VALUE, "TEXT", "h" },
	{ "sandbox", 0, ARG_OPTIONAL, "TYPE", "h" },
	{ "sandbox-id", 0, ARG_VALUE, "ID", "h" },
	{ "quiet", 'q', ARG_FLAG, NULL, "h" },
	{ "auto-approve", 'y', ARG_FLAG, NULL, "h" },
	{ 0 },
};
static const struct arg_row own[] = {
	{ "all", 'a', ARG_FLAG, NULL, "h" },
	{ 0 },
};

static int parse(struct args *a, struct error *err, const char *line)
{
	static char copy[500];
	char *words[50];
	int n = 0;

	strncpy(copy, line, sizeof(copy) - 1);
	for (char *w = copy; *w;) {
		words[n++] = w;
		w += strcspn(w, " ");
		if (*w)
			*w++ = '\0';
	}
	return args_parse(a, global, own, n, words, err);
}

static void reads_every_spelling(void **state)
{
	struct args a;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(&a, &err,
			       "-qy -ntext --sandbox=docker --sandbox-id x p1 "
			       "--all -- -n --x"),
			 0);
	assert_string_equal(args_value(&a, "non-interactive"), "text");
	assert_string_equal(args_value(&a, "sandbox"), "docker");
	assert_string_equal(args_value(&a, "sandbox-id"), "x");
	assert_true(args_flag(&a, "quiet"));
	assert_true(args_flag(&a, "auto-approve"));
	assert_true(args_flag(&a, "all"));
	assert_int_equal(a.argc, 3);
	assert_string_equal(a.argv[0], "p1");
	assert_string_equal(a.argv[1], "-n");
	assert_true(a.dashes);
	args_release(&a);
}

static void optional_values(void **state)
{
	struct args a;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(&a, &err, "--sandbox -n x"), 0);
	assert_string_equal(args_value(&a, "sandbox"), "");
	args_release(&a);
	assert_int_equal(parse(&a, &err, "--sandbox local"), 0);
	assert_string_equal(args_value(&a, "sandbox"), "local");
	args_release(&a);
	assert_int_equal(parse(&a, &err, "--sandbox"), 0);
	assert_string_equal(args_value(&a, "sandbox"), "");
	args_release(&a);
	assert_int_equal(parse(&a, &err, "-q"), 0);
	assert_null(args_value(&a, "sandbox"));
	args_release(&a);
}

static void abbreviates_and_last_wins(void **state)
{
	struct args a;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(&a, &err, "--non x --non-inter y --qui"), 0);
	assert_string_equal(args_value(&a, "non-interactive"), "y");
	args_release(&a);
	assert_int_equal(parse(&a, &err, "--sand x"), -1);
	assert_non_null(strstr(err.message, "ambiguous"));
	args_release(&a);
	assert_int_equal(parse(&a, &err, "--a"), -1);
	args_release(&a);
	assert_int_equal(parse(&a, &err, "--al"), 0);
	args_release(&a);
}

static void names_what_is_wrong(void **state)
{
	static const char *const lines[][2] = {
		{ "--nope", "--nope" },
		{ "-z", "-z" },
		{ "-n", "-n" },
		{ "--sandbox-id", "sandbox-id" },
		{ "--quiet=1", "--quiet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct args a;
		struct error err = { 0 };

		assert_int_equal(parse(&a, &err, lines[i][0]), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.message, lines[i][1]));
		args_release(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_spelling),
		cmocka_unit_test(optional_values),
		cmocka_unit_test(abbreviates_and_last_wins),
		cmocka_unit_test(names_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
