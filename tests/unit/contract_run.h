/* contract_run.h - the checks of src/contract in a sandbox of a unit test. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CONTRACT_RUN_H
#define UNIT_CONTRACT_RUN_H

#include <stdlib.h>
#include <string.h>

#include "contract/contract.h"
#include "unit.h"

/* Which sandbox; set by the program before a test runs. */
static struct contract_request promised;
/* The checks that do not apply to it. All others have to pass. */
static const char *const *promised_absent;

static inline bool is_absent(const char *name)
{
	/* no sandbox of a unit test has [secrets] */
	if (strcmp(name, "secrets stay outside") == 0)
		return true;
	for (const char *const *p = promised_absent; p && *p; p++)
		if (strcmp(*p, name) == 0)
			return true;
	return false;
}

/* Counts the checks that failed, and those that did not apply, or did, contrary
 * to promised_absent. */
static inline void on_promise(void *arg, const struct contract_result *r)
{
	bool absent = r->verdict == CONTRACT_NA;
	int *broken = arg;
	bool good = r->verdict != CONTRACT_FAIL && absent == is_absent(r->name);

	if (absent && strcmp(r->reason, "skipped by --quick") == 0)
		good = true;
	if (!good || r->verdict == CONTRACT_OK)
		print_message("%s %s %lld ms %s\n", good ? "ok  " : "FAIL",
			      r->name, (long long)r->ms, r->reason);
	*broken += !good;
}

/* Runs the checks with this in their name; NULL: all that are quick. */
static inline void keeps(const char *only)
{
	struct contract_request request = promised;
	struct contract_summary summary;
	struct stop stop = { .deadline = INT64_MAX };
	struct error err = { 0 };
	int broken = 0;

	request.client = request.sandbox->client;
	request.only = only;
	request.quick = !only;
	request.each = on_promise;
	request.arg = &broken;
	assert_int_equal(contract_run(&request, &summary, &stop, &err), 0);
	assert_int_equal(broken, 0);
	assert_true(summary.passed + summary.absent > 1);
}

static inline void test_quick_promises(void **state)
{
	(void)state;
	keeps(NULL);
}

static inline void test_output(void **state)
{
	(void)state;
	keeps(getenv("DCODE_TEST_LONG") ? "64 MiB" : "12 MiB");
}

#define PROMISE(test, name)                                                    \
	static inline void test(void **state)                                  \
	{                                                                      \
		(void)state;                                                   \
		keeps(name);                                                   \
	}
PROMISE(test_source, "source of input")
PROMISE(test_live, "live output")
PROMISE(test_timeout, "timeout")
PROMISE(test_cancel, "cancel")
PROMISE(test_background, "background process")
PROMISE(test_large_file, "file of 10 MB")
PROMISE(test_large_file_errors, "file errors of 3 MiB")

/* All checks, as tests of a program: the quick ones, and the slow ones of
 * commands; then those of files too. */
#define COMMAND_ROWS                                                           \
	cmocka_unit_test(test_quick_promises), cmocka_unit_test(test_output),  \
		cmocka_unit_test(test_source), cmocka_unit_test(test_live),    \
		cmocka_unit_test(test_timeout), cmocka_unit_test(test_cancel), \
		cmocka_unit_test(test_background)
#define CONTRACT_ROWS                                                          \
	COMMAND_ROWS, cmocka_unit_test(test_large_file),                       \
		cmocka_unit_test(test_large_file_errors)

#endif
