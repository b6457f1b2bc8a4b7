/* runloop_test.c - Runloop: the contract at the emulator, files, a life. */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "providers/runloop/runloop.h"

static const char *const not_here[] = { "dialog", "source of input", "lifetime",
					NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "runloop.py",
	.provider = &runloop_provider,
	.env = { "RUNLOOP_API_KEY=ak_0123456789abcdef", "RUNLOOP_BASE_URL=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static void test_life(void **state)
{
	(void)state;
	cloud_ghost("dbx_ghost");
	assert_int_equal(cloud_extended(1234),
			 0); /* it counts from the last use */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		CONTRACT_ROWS,
		cmocka_unit_test(test_no_parts_are_left),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
