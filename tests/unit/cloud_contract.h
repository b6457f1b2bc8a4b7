/* cloud_contract.h - what every vendor's provider promises, at its emulator. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CLOUD_CONTRACT_H
#define UNIT_CLOUD_CONTRACT_H

#include "cloud_box.h"
#include "cloud_files.h"
#include "exec_contract.h"

#define TEST(name)                                                             \
	static void test_##name(void **state)                                  \
	{                                                                      \
		contract_##name(*state);                                       \
	}
/* Of cloud_files.h, as a test. */
#define CLOUD_TEST(name)                                                       \
	static void test_##name(void **state)                                  \
	{                                                                      \
		cloud_##name(*state);                                          \
	}
#define CLOUD_FILE_TESTS CLOUD_TEST(files) CLOUD_TEST(file_errors)
/* Of exec_contract.h, each a test. */
#define CLOUD_EXEC_TESTS                                                       \
	TEST(exit_codes)                                                       \
	TEST(bytes)                                                            \
	TEST(env_cwd)                                                          \
	TEST(live)                                                             \
	TEST(timeout)                                                          \
	TEST(cancel)                                                           \
	TEST(background)                                                       \
	TEST(parallel)
#define CLOUD_EXEC_ROWS                                                        \
	cmocka_unit_test(test_exit_codes), cmocka_unit_test(test_bytes),       \
		cmocka_unit_test(test_env_cwd), cmocka_unit_test(test_live),   \
		cmocka_unit_test(test_timeout), cmocka_unit_test(test_cancel), \
		cmocka_unit_test(test_background),                             \
		cmocka_unit_test(test_parallel)

/* Without SANDBOX_STDIN input is refused, not lost. */
static inline void cloud_no_input(struct sandbox *sb)
{
	struct exec_request req = { .command = STR("cat"), .input = STR("x") };
	struct stop stop = stop_cleanup(10000);
	struct exec_result res;
	struct error err = { 0 };

	(void)contract_stdin;
	(void)contract_source;
	assert_int_equal(sandbox_execute(sb, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static inline void cloud_long_command(struct sandbox *sb, int n)
{
	struct buf command = BUF_INIT(1 << 20);
	char want[32];
	struct ran r;

	buf_adds(&command, "printf %s '");
	for (int i = 0; i < n; i++)
		buf_addc(&command, (char)('a' + i % 26));
	buf_adds(&command, "' | wc -c; IFS=:; set -- a b; echo \"$*\"");
	r = run(sb, command.ptr);
	if (r.rc < 0)
		print_error("%s\n", r.err.message);
	assert_int_equal(r.rc, 0);
	snprintf(want, sizeof(want), "%d\na:b\n", n);
	assert_string_equal(out_of(&r), want);
	ran_release(&r);
	buf_release(&command);
}

static inline void cloud_files(struct sandbox *sb)
{
	static const struct {
		const char *path;
		int64_t size;
	} cases[] = {
		{ "/tmp/empty", 0 },
		{ "/tmp/new/dir/two", 1 << 20 },
		{ "/tmp/new/dir/one", 1 },
		{ "/tmp/a b'c\"d?e&f%g\\h\377\n", 70000 },
		{ "/tmp/ten", 10 << 20 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cloud_round(sb, cases[i].path, cases[i].size,
			    i && i < 3 ? 0755 : 0);
	expect(sb, "stat -c %a /tmp/new/dir/*", 0, "755\n755\n", "");
	/* The parts have gone. */
	expect(sb, "ls -A /tmp/new/dir; ls -A /tmp | grep -c dcode-[^e]", 1,
	       "one\ntwo\n0\n", "");
}

static inline void cloud_file_errors(struct sandbox *sb)
{
	static const struct cloud_refusal cases[] = {
		{ "relative", FILE_INVALID_PATH, FILE_INVALID_PATH },
		{ "/tmp", FILE_IS_DIRECTORY, FILE_IS_DIRECTORY },
		{ "/tmp/locked", FILE_PERMISSION_DENIED,
		  FILE_PERMISSION_DENIED },
		{ "/tmp/locked/x", FILE_INVALID_PATH, FILE_NOT_FOUND },
		{ "/tmp/none", FILE_OK, FILE_NOT_FOUND },
	};

	expect(sb, "echo x >/tmp/locked; chmod 0 /tmp/locked", 0, "", "");
	cloud_refused(sb, cases, sizeof(cases) / sizeof(*cases));
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

/* ghost: an id as this vendor's are. */
static inline void cloud_life(struct sandbox *sb, const char *ghost)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox other;
	int64_t now = clock_unix_ms() / 1000;

	assert_int_equal(ops->extend(sb, 1234, &stop, &err), 0);
	assert_int_equal(ops->extend(sb, 1234, &stop, &err), 0);
	assert_int_equal(ops->info(sb->client, sb->id, &sink, &stop, &err), 0);
	assert_string_equal(last.id, "same");
	assert_string_equal(last.label, "same");
	assert_string_equal(last.owner, "same");
	assert_int_equal(last.state, STATE_RUNNING);
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
	assert_int_equal(sandbox_attach(&other, sb->client, ghost, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(ops->remove(sb->client, ghost, &stop, &err), 1);
}

static inline void cloud_snapshot(struct sandbox *sb)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox copy;
	struct sandbox_spec spec = { .label = "dcode-bbbbbbbb",
				     .owner = "tester",
				     .snapshot = "saved",
				     .network = NETWORK_NONE,
				     .lifetime_s = 600 };

	expect(sb, "echo kept >kept", 0, "", "");
	assert_int_equal(sandbox_snapshot(sb, "saved", false, &stop, &err), 0);
	assert_int_equal(sandbox_snapshot(sb, "saved", false, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(sandbox_create(&copy, sb->client, &spec, &stop, &err),
			 0);
	expect(&copy, "cat kept", 0, "kept\n", "");
	assert_int_equal(sandbox_remove(sb->client, copy.id, &stop, &err), 0);
	sandbox_release(&copy);
}

#endif
