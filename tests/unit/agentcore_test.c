/* agentcore_test.c - AgentCore: the contract at the emulator, files, a life. */
/* SPDX-License-Identifier: MIT */
#include "cloud_files.h"
#include "exec_contract.h"
#include "providers/agentcore/agentcore.h"

static const struct cloud_case at_emulator = {
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

#define TEST(name)                                                             \
	static void test_##name(void **state)                                  \
	{                                                                      \
		contract_##name(*state);                                       \
	}

TEST(exit_codes)
TEST(bytes)
TEST(env_cwd)
TEST(live)
TEST(timeout)
TEST(background)
TEST(parallel)

/* Without SANDBOX_STDIN input is refused, not lost. */
static void test_no_input(void **state)
{
	struct exec_request req = { .command = STR("cat"), .input = STR("x") };
	struct stop stop = stop_cleanup(10000);
	struct exec_result res;
	struct error err = { 0 };

	(void)contract_stdin;
	(void)contract_source;
	(void)contract_cancel; /* counts on 200 ms */
	assert_int_equal(sandbox_execute(*state, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void test_long_command(void **state)
{
	struct buf command = BUF_INIT(1 << 20);
	struct ran r;

	buf_adds(&command, "printf %s '");
	for (int i = 0; i < 60000; i++)
		buf_addc(&command, (char)('a' + i % 26));
	buf_adds(&command, "' | wc -c; IFS=:; set -- a b; echo \"$*\"");
	r = run(*state, command.ptr);
	if (r.rc < 0)
		print_error("%s\n", r.err.message);
	assert_int_equal(r.rc, 0);
	assert_string_equal(out_of(&r), "60000\na:b\n");
	ran_release(&r);
	buf_release(&command);
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

static struct sandbox_info last;
static int n_infos;

static void on_info(void *arg, const struct sandbox_info *info)
{
	(void)arg;
	last = *info;
	n_infos++;
	last.id = strcmp(info->id, cloud.sandbox.id) == 0 ? "same" : "other";
	last.label = strcmp(info->label, "dcode-abcdefgh") == 0 ? "same" : "";
	last.owner = strcmp(info->owner, "tester") == 0 ? "same" : "";
}

static const struct info_sink sink = { .each = on_info };

static void test_life(void **state)
{
	const struct sandbox_ops *ops = agentcore_provider.ops;
	struct sandbox *sb = *state;
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox other;
	int64_t now = clock_unix_ms() / 1000;

	assert_int_equal(ops->info(sb->client, sb->id, &sink, &stop, &err), 0);
	assert_string_equal(last.id, "same");
	assert_string_equal(last.label, "same");
	assert_string_equal(last.owner, "same");
	assert_int_equal(last.state, STATE_RUNNING);
	assert_in_range(last.ends, now, now + 601);
	assert_in_range(last.created, now - 600, now + 2);
	n_infos = 0;
	assert_int_equal(ops->list(sb->client, "tester", &sink, &stop, &err),
			 0);
	assert_int_equal(n_infos, 1);
	assert_int_equal(ops->list(sb->client, "nobody", &sink, &stop, &err),
			 0);
	assert_int_equal(n_infos, 1);
	assert_int_equal(
		sandbox_attach(&other, sb->client, sb->id, &stop, &err), 0);
	expect(&other, "echo same", 0, "same\n", "");
	sandbox_release(&other);
	assert_int_equal(
		sandbox_attach(&other, sb->client, "ghost", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(ops->remove(sb->client, "ghost", &stop, &err), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_env_cwd),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_background),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_no_input),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
