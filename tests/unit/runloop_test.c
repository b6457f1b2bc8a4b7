/* runloop_test.c - Runloop: the contract at the emulator, files, a life. */
/* SPDX-License-Identifier: MIT */
#include "cloud_contract.h"
#include "providers/runloop/runloop.h"

static const struct cloud_case at_emulator = {
	.emulator = "runloop.py",
	.provider = &runloop_provider,
	.env = { "RUNLOOP_API_KEY=ak_0123456789abcdef", "RUNLOOP_BASE_URL=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

CLOUD_EXEC_TESTS
CLOUD_FILE_TESTS
CLOUD_TEST(no_input)

static void test_long_command(void **state)
{
	cloud_long_command(*state, 60000);
}

static void test_life(void **state)
{
	cloud_life(*state, "dbx_ghost");
	assert_int_equal(last.ends, 0); /* it counts from the last use */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLOUD_EXEC_ROWS,
		cmocka_unit_test(test_no_input),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
