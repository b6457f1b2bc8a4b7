/* e2b_test.c - E2B: the contract at the emulator, and its wire as bytes. */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "exec_contract.h"
#include "providers/e2b.h"
#include "providers/e2b_events.h"

#define KEY "e2b_0123456789abcdef0123456789abcdef01234567"

static const struct cloud_case at_emulator = {
	.emulator = "e2b.py",
	.provider = &e2b_provider,
	.env = { "E2B_API_KEY=" KEY, "E2B_API_URL=%s", "E2B_SANDBOX_URL=%s" },
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
TEST(cancel)
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
	assert_int_equal(sandbox_execute(*state, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void test_long_command(void **state)
{
	struct buf command = BUF_INIT(1 << 20);
	struct ran r;

	buf_adds(&command, "printf %s '");
	for (int i = 0; i < 300000; i++)
		buf_addc(&command, (char)('a' + i % 26));
	buf_adds(&command, "' | wc -c; IFS=:; set -- a b; echo \"$*\"");
	r = run(*state, command.ptr);
	if (r.rc < 0)
		print_error("%s\n", r.err.message);
	assert_int_equal(r.rc, 0);
	assert_string_equal(out_of(&r), "300000\na:b\n");
	ran_release(&r);
	buf_release(&command);
}

/* A file of n bytes whose byte i is i * 31 / 7, as source and sink. */
struct moved {
	int64_t size;
	int64_t at;
	bool wrong;
};

static char byte_at(int64_t i)
{
	return (char)(i * 31 / 7);
}

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct moved *m = arg;
	int64_t n = 0;

	(void)err;
	for (; n < (int64_t)len && m->at < m->size; n++)
		room[n] = byte_at(m->at++);
	return n;
}

static int take(void *arg, struct str chunk, struct error *err)
{
	struct moved *m = arg;

	(void)err;
	for (size_t i = 0; i < chunk.len; i++)
		m->wrong |= chunk.ptr[i] != byte_at(m->at++);
	return 0;
}

static void test_files(void **state)
{
	static const struct {
		const char *path;
		int64_t size;
	} cases[] = {
		{ "/home/user/empty", 0 },
		{ "/tmp/new/dir/one", 1 },
		{ "/tmp/a b'c\"d?e&f%g\\h\377\n", 70000 },
		{ "/tmp/ten", 10 << 20 },
	};
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct moved up = { .size = cases[i].size };
		struct moved down = { .size = cases[i].size };
		struct transfer f = { .path = cases[i].path,
				      .size = up.size,
				      .mode = i == 1 ? 0755 : 0,
				      .read = give,
				      .arg = &up };

		assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
		assert_int_equal(f.error, FILE_OK);
		f = (struct transfer){ .path = cases[i].path,
				       .write = take,
				       .arg = &down };
		assert_int_equal(sandbox_download(*state, &f, 1, &stop, &err),
				 0);
		assert_int_equal(f.error, FILE_OK);
		assert_int_equal(down.at, cases[i].size);
		assert_false(down.wrong);
	}
	expect(*state, "stat -c %a /tmp/new/dir/one", 0, "755\n", "");
}

static void test_file_errors(void **state)
{
	static const struct {
		const char *path;
		enum file_error up;
		enum file_error down;
	} cases[] = {
		{ "relative", FILE_INVALID_PATH, FILE_INVALID_PATH },
		{ "/tmp", FILE_IS_DIRECTORY, FILE_IS_DIRECTORY },
		{ "/tmp/locked", FILE_PERMISSION_DENIED,
		  FILE_PERMISSION_DENIED },
		{ "/tmp/locked/x", FILE_INVALID_PATH, FILE_INVALID_PATH },
		{ "/tmp/none", FILE_OK, FILE_NOT_FOUND },
	};
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	expect(*state, "echo x >/tmp/locked; chmod 0 /tmp/locked", 0, "", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct moved m = { .size = 3 };
		struct transfer f = { .path = cases[i].path,
				      .write = take,
				      .arg = &m };

		assert_int_equal(sandbox_download(*state, &f, 1, &stop, &err),
				 0);
		assert_int_equal(f.error, cases[i].down);
		f = (struct transfer){ .path = cases[i].path,
				       .size = 3,
				       .read = give,
				       .arg = &m };
		m.at = 0;
		assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
		assert_int_equal(f.error, cases[i].up);
	}
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

static void test_life(void **state)
{
	const struct sandbox_ops *ops = e2b_provider.ops;
	struct sandbox *sb = *state;
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox other;
	int64_t now = clock_unix_ms() / 1000;

	assert_int_equal(ops->extend(sb, 1234, &stop, &err), 0);
	assert_int_equal(
		ops->info(sb->host, sb->id, on_info, NULL, &stop, &err), 0);
	assert_string_equal(last.id, "same");
	assert_string_equal(last.label, "same");
	assert_string_equal(last.owner, "same");
	assert_int_equal(last.state, STATE_RUNNING);
	assert_in_range(last.ends, now + 1230, now + 1240);
	assert_in_range(last.created, now - 600, now + 2);
	n_infos = 0;
	assert_int_equal(
		ops->list(sb->host, "tester", on_info, NULL, &stop, &err), 0);
	assert_int_equal(n_infos, 1);
	assert_int_equal(
		ops->list(sb->host, "nobody", on_info, NULL, &stop, &err), 0);
	assert_int_equal(n_infos, 1);
	assert_int_equal(sandbox_attach(&other, sb->host, sb->id, &stop, &err),
			 0);
	expect(&other, "echo same", 0, "same\n", "");
	sandbox_release(&other);
	assert_int_equal(
		sandbox_attach(&other, sb->host, "ighost", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(ops->remove(sb->host, "ighost", &stop, &err), 0);
}

static void test_snapshot(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox copy;
	struct sandbox_spec spec = { .label = "dcode-bbbbbbbb",
				     .owner = "tester",
				     .snapshot = "saved",
				     .network = NETWORK_NONE,
				     .lifetime_s = 600 };

	expect(sb, "echo kept >/home/user/kept", 0, "", "");
	assert_int_equal(e2b_snapshot(sb, "saved", &stop, &err), 0);
	assert_int_equal(sandbox_create(&copy, sb->host, &spec, &stop, &err),
			 0);
	expect(&copy, "cat kept", 0, "kept\n", "");
	assert_int_equal(sandbox_remove(sb->host, copy.id, &stop, &err), 0);
	sandbox_release(&copy);
	spec.snapshot = "no-such-one";
	spec.label = "dcode-cccccccc";
	assert_int_equal(sandbox_create(&copy, sb->host, &spec, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&copy);
}

/* One stream, in pieces of n bytes. */
static int feed(struct str stream, size_t n, struct e2b_events *e,
		struct error *err)
{
	for (size_t i = 0; i < stream.len; i += n) {
		size_t len = stream.len - i < n ? stream.len - i : n;

		if (e2b_events_feed(e, (struct str){ stream.ptr + i, len },
				    err) < 0)
			return -1;
	}
	return e2b_events_end(e, err);
}

#define START "\0\0\0\0\x20{\"event\":{\"start\":{\"pid\":1234}}}"
#define DATA "\0\0\0\0\x24{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}"
#define END "\0\0\0\0\x1f{\"event\":{\"end\":{\"exited\":1}}}\n"
#define LAST "\2\0\0\0\2{}"

#define BYTES(literal)                                                         \
	{                                                                      \
		"" literal, sizeof(literal) - 1                                \
	}

static void test_events(void **state)
{
	static const struct {
		struct str stream;
		enum err code;
		const char *out;
	} cases[] = {
		{ BYTES(START DATA END LAST), ERR_NONE, "hi\n" },
		{ BYTES(START DATA DATA END LAST), ERR_NONE, "hi\nhi\n" },
		{ BYTES(START DATA END), ERR_NETWORK, "hi\n" },
		{ BYTES(START DATA), ERR_NETWORK, "hi\n" },
		{ BYTES(""), ERR_NETWORK, "" },
		{ BYTES(START LAST), ERR_PROTOCOL, "" },
		{ BYTES(LAST START), ERR_PROTOCOL, "" },
		{ BYTES("\1\0\0\0\2{}"), ERR_PROTOCOL, "" },
		{ BYTES("\0\1\0\0\1"), ERR_PROTOCOL, "" },
		{ BYTES("\0\0\0\0\1{"), ERR_PROTOCOL, "" },
		{ BYTES("\0\0\0\0\x21{\"event\":{\"data\":{\"stdout\":\"?\"}}"
			"}"),
		  ERR_PROTOCOL, "" },
		{ BYTES(START
			"\2\0\0\0\x20{\"error\":{\"code\":\"unavailable\"}}"),
		  ERR_REMOTE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t n = 1; n < 90; n++) {
			struct buf out = BUF_INIT(100);
			struct e2b_events e = { .out = &out };
			struct error err = { 0 };

			feed(cases[i].stream, n, &e, &err);
			if (err.code != cases[i].code)
				print_error("case %zu by %zu: %s\n", i, n,
					    err.message);
			assert_int_equal(err.code, cases[i].code);
			assert_string_equal(out.ptr ? out.ptr : "",
					    cases[i].out);
			e2b_events_release(&e);
			buf_release(&out);
		}
}

static void test_envelope(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct buf text = BUF_INIT(1000);

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_addc(&text, 'x');
	envelope_add(&out, buf_str(&text));
	assert_int_equal(out.len, 305);
	assert_memory_equal(out.ptr, "\0\0\0\1\x2cxxx", 8);
	buf_release(&out);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_env_cwd),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_background),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_no_input),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_snapshot),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
