/* agentcore_test.c - AgentCore: the contract at the emulator, files, a life. */
/* SPDX-License-Identifier: MIT */
#include "cloud_files.h"
#include "providers/agentcore/agentcore.h"

static const char *const not_here[] = { "dialog", "source of input", "extend",
					NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "agentcore.py",
	.provider = &agentcore_provider,
	.env = { "AWS_ACCESS_KEY_ID=AKIDEXAMPLE0123456",
		 "AWS_SECRET_ACCESS_KEY="
		 "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		 "AWS_SESSION_TOKEN=FQoG+fake/token==",
		 "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static void test_files(void **state)
{
	cloud_round(*state, "/home/user/empty", 0, 0);
	cloud_round(*state, "/tmp/empty", 0, 0);
	cloud_round(*state, "/tmp/new/dir/one", 1, 0755);
	cloud_round(*state, "/home/user/two", 5000, 0);
	cloud_round(*state, "/tmp/a b'c\"d?e&f%g\\h\377\n", 70000, 0);
	cloud_round(*state, "/tmp/ten", 10 << 20, 0);
	expect(*state, "stat -c %a /tmp/new/dir/one", 0, "755\n", "");
}

static void test_file_errors(void **state)
{
	static const struct cloud_refusal cases[] = {
		{ "relative", FILE_INVALID_PATH, FILE_INVALID_PATH },
		{ "/tmp", FILE_IS_DIRECTORY, FILE_IS_DIRECTORY },
		{ "/tmp/locked", FILE_PERMISSION_DENIED,
		  FILE_PERMISSION_DENIED },
		{ "/tmp/locked/x", FILE_INVALID_PATH, FILE_NOT_FOUND },
		{ "/tmp/none", FILE_OK, FILE_NOT_FOUND },
	};

	expect(*state, "echo x >/tmp/locked; chmod 0 /tmp/locked", 0, "", "");
	cloud_refused(*state, cases, sizeof(cases) / sizeof(*cases));
}

static void test_life(void **state)
{
	int64_t now = clock_unix_ms() / 1000;

	(void)state;
	cloud_ghost("ghost");
	assert_in_range(cloud_info().ends, now, now + 601);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		CONTRACT_ROWS,
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
