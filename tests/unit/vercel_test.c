/* vercel_test.c - Vercel: the contract at the emulator, and its wire as bytes.
 */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "exec_contract.h"
#include "providers/vercel.h"
#include "providers/vercel_lines.h"

static const struct cloud_case at_emulator = {
	.emulator = "vercel.py",
	.provider = &vercel_provider,
	.env = { "VERCEL_TOKEN=vercel_token_0123456789",
		 "VERCEL_TEAM_ID=team_test", "VERCEL_PROJECT_ID=prj_test",
		 "VERCEL_API_URL=%s" },
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
		{ "/vercel/sandbox/empty", 0 },
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
		{ "/tmp/locked/x", FILE_INVALID_PATH, FILE_NOT_FOUND },
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
	const struct sandbox_ops *ops = vercel_provider.ops;
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
	assert_in_range(last.ends, now + 1200, now + 1240);
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
	assert_int_equal(sandbox_attach(&other, sb->host, "ghost", &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(ops->remove(sb->host, "ghost", &stop, &err), 0);
}

static int64_t give_none(void *arg, char *room, size_t len, struct error *err)
{
	(void)arg;
	(void)room;
	(void)len;
	return error_set(err, ERR_SYSTEM, "no more");
}

/* Many in few requests; the one whose source fails does not harm the rest. */
static void test_many_files(void **state)
{
	enum { MANY = 100 };
	static char paths[MANY][64];
	static struct moved moved[MANY];
	static struct transfer files[MANY];
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	for (size_t i = 0; i < MANY; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/many/%zu", i);
		moved[i] = (struct moved){ .size = 50000 };
		files[i] = (struct transfer){ .path = paths[i],
					      .size = 50000,
					      .read = i == 7 ? give_none : give,
					      .arg = &moved[i] };
	}
	files[8].path = "/etc/passwd/x";
	assert_int_equal(sandbox_upload(*state, files, MANY, &stop, &err), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(files[i].error, i == 7   ? FILE_OTHER
						 : i == 8 ? FILE_INVALID_PATH
							  : FILE_OK);
	expect(*state, "ls /tmp/many | wc -l; cat /tmp/many/* | wc -c", 0,
	       "98\n4900000\n", "");
}

/* What was there keeps its mode unless another is asked for. */
static void test_modes(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct moved m = { .size = 3 };
	struct transfer f = {
		.path = "/tmp/mode", .size = 3, .read = give, .arg = &m
	};

	expect(*state, "echo x >/tmp/mode; chmod 751 /tmp/mode", 0, "", "");
	assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
	expect(*state, "stat -c %a /tmp/mode", 0, "751\n", "");
	m.at = 0;
	f.mode = 0600;
	assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
	expect(*state, "stat -c %a /tmp/mode", 0, "600\n", "");
}

/* One stream, in pieces of n bytes. */
static void feed(struct str stream, size_t n, struct vercel_lines *l, bool logs,
		 struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < stream.len; i += n) {
		size_t len = stream.len - i < n ? stream.len - i : n;

		rc = vercel_lines_feed(l, (struct str){ stream.ptr + i, len },
				       err);
	}
	if (rc == 0)
		(void)vercel_lines_end(l, logs, err);
}

#define BEGIN "{\"command\":{\"id\":\"cmd_1\",\"exitCode\":null}}\n"
#define OUT "{\"stream\":\"stdout\",\"data\":\"h\\u00e9\\n\"}\n"
#define ERR "{\"stream\":\"stderr\",\"data\":\"no\"}\n"
#define STOPPED                                                                \
	"{\"stream\":\"error\",\"data\":{\"code\":\"sandbox_stopped\"}}\n"
#define END "{\"command\":{\"id\":\"cmd_1\",\"exitCode\":0}}\n"

static void test_lines(void **state)
{
	static const struct {
		const char *stream;
		bool logs;
		enum err code;
		const char *out;
	} cases[] = {
		{ BEGIN OUT ERR OUT END, false, ERR_NONE,
		  "h\303\251\nh\303\251\n" },
		{ BEGIN END, false, ERR_NONE, "" },
		{ BEGIN "\r\n\n" OUT END, false, ERR_NONE, "h\303\251\n" },
		{ BEGIN OUT, false, ERR_NETWORK, "h\303\251\n" },
		{ BEGIN, false, ERR_NETWORK, "" },
		{ "", false, ERR_NETWORK, "" },
		{ BEGIN OUT STOPPED, false, ERR_NETWORK, "h\303\251\n" },
		{ "", true, ERR_NONE, "" },
		{ OUT ERR, true, ERR_NONE, "h\303\251\n" },
		{ OUT "{\"stream\":", true, ERR_NETWORK, "h\303\251\n" },
		{ OUT "<html>\n" OUT, true, ERR_PROTOCOL, "h\303\251\n" },
		{ "{\"stream\":7,\"data\":[]}\n7\n", true, ERR_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t n = 1; n < 90; n++) {
			struct buf out = BUF_INIT(100);
			struct vercel_lines l = { .out = &out };
			struct error err = { 0 };

			feed(str_of(cases[i].stream), n, &l, cases[i].logs,
			     &err);
			if (err.code != cases[i].code)
				print_error("case %zu by %zu: %s\n", i, n,
					    err.message);
			assert_int_equal(err.code, cases[i].code);
			assert_string_equal(out.ptr ? out.ptr : "",
					    cases[i].out);
			vercel_lines_release(&l);
			buf_release(&out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
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
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
