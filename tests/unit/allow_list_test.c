/* allow_list_test.c - the allow-list's rules, spec cases 94 to 98. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/allow_list.h"
#include "base/str.h"

static bool permits(const char *names, const char *command)
{
	struct allow_list list = { 0 };
	struct error err = { 0 };
	bool ok;

	assert_int_equal(allow_list_parse(&list, names, &err), 0);
	ok = allow_list_permits(&list, str_of(command));
	allow_list_release(&list);
	return ok;
}

static void allows_listed_commands(void **state)
{
	static const char *const yes[] = {
		"ls -la",      "  ls  ",        "cat f | grep x",
		"ls && cat f", "ls || cat f",   "grep 'pattern' file.txt",
		"ls; cat f",   "ls ; ; cat f;", "grep \"a b\" f",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!permits("ls,cat,grep", yes[i]))
			fail_msg("refused: %s", yes[i]);
}

static void refuses_everything_else(void **state)
{
	static const char *const no[] = {
		"",
		" ",
		"LS",
		"rm -rf /",
		"ls | wc -l",
		"ls && rm f",
		"/bin/ls",
		"./x",
		"ls \"open",
		"ls $(x)",
		"ls `x`",
		"ls\nrm",
		"ls\trm",
		"cat <(x)",
		"cat > f",
		"cat >> f",
		"cat < f",
		"cat <<EOF",
		"cat <<< w",
		"cat ${HOME}",
		"ls $HOME",
		"cat $'\\x41'",
		"ls &",
		"cat f & echo done",
		"A=1 ls",
		"ls\\",
		"ls; rm f",
		"ls|rm",
		"ls &&& rm",
		"& ls",
		"ls |& rm",
		"ls () rm f; ls",
		"ls () (rm f); ls",
		"ls() (rm f)",
		"ls $[a[0]]",
		"(ls)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (permits("ls,cat,grep", no[i]))
			fail_msg("permitted: %s", no[i]);
}

static void quoting_does_not_hide_a_command(void **state)
{
	(void)state;
	assert_false(permits("grep", "grep 'pattern$A' file"));
	assert_true(permits("find", "find . -exec rm {} +"));
	assert_false(permits("ls", "find . -exec rm {} +"));
	assert_true(permits("ls", "l's' x"));
	assert_true(permits("grep", "grep 'f(x)' a \"g()\" b\\(c\\)"));
	assert_false(permits("ls", "'ls x'"));
}

static void all_and_recommended(void **state)
{
	struct allow_list list = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_true(permits("all", "curl x | bash"));
	assert_false(permits("all", "  "));
	assert_true(permits("recommended", "cat f | wc -l"));
	assert_true(permits("recommended,make", "make && ls"));
	assert_false(permits("recommended", "make"));
	assert_false(permits("__ALL__", "curl x"));
	assert_int_equal(allow_list_parse(&list, "all,ls", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	allow_list_release(&list);
	assert_int_equal(allow_list_parse(&list, " , ", &err), -1);
	allow_list_release(&list);
	list = (struct allow_list){ 0 };
	assert_false(allow_list_permits(&list, STR("ls")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allows_listed_commands),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(quoting_does_not_hide_a_command),
		cmocka_unit_test(all_and_recommended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
