/* langsmith_test.c - LangSmith: the contract, files, life, frames. */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "exec_contract.h"
#include "providers/langsmith.h"
#include "providers/langsmith_frame.h"

#define KEY "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789"

static const struct cloud_case at_emulator = {
	.emulator = "langsmith.py",
	.provider = &langsmith_provider,
	.env = { "LANGSMITH_API_KEY=" KEY, "LANGSMITH_ENDPOINT=%s" },
};
static const struct cloud_case over_http = {
	.emulator = "langsmith.py",
	.provider = &langsmith_provider,
	.env = { "LANGSMITH_API_KEY=" KEY, "LANGSMITH_ENDPOINT=%s" },
	.config = "[sandboxes.providers.langsmith.params]\n"
		  "websocket = false\n",
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static int setup_http(void **state)
{
	return cloud_setup(state, &over_http);
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

static void test_stdin(void **state)
{
	(void)contract_source;
	(void)contract_stdin;
	expect(*state, "cat | wc -c", 0, "0\n", "");
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
		{ "/root/empty", 0 },
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
	const struct sandbox_ops *ops = langsmith_provider.ops;
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

	expect(sb, "echo kept >/root/kept", 0, "", "");
	assert_int_equal(langsmith_snapshot(sb, "saved", &stop, &err), 0);
	assert_int_equal(sandbox_create(&copy, sb->host, &spec, &stop, &err),
			 0);
	expect(&copy, "cat kept", 0, "kept\n", "");
	assert_int_equal(sandbox_remove(sb->host, copy.id, &stop, &err), 0);
	sandbox_release(&copy);
}

static void test_frames(void **state)
{
	static const struct {
		const char *text;
		enum err code;
		enum langsmith_word word;
		int exit_code;
	} cases[] = {
		{ "{\"type\":\"started\",\"pid\":4}", 0, LANGSMITH_STARTED, 0 },
		{ "{\"type\":\"stdout\",\"data\":\"x\",\"offset\":3}", 0,
		  LANGSMITH_OUTPUT, 0 },
		{ "{\"type\":\"stderr\",\"data\":\"x\"}", 0, LANGSMITH_OUTPUT,
		  0 },
		{ "{\"type\":\"exit\",\"exit_code\":137}", 0, LANGSMITH_EXIT,
		  137 },
		{ "{\"type\":\"exit\",\"exit_code\":-9}", 0, LANGSMITH_EXIT,
		  137 },
		{ "{\"type\":\"error\",\"error_type\":\"CommandTimeout\"}", 0,
		  LANGSMITH_TIMEOUT, 0 },
		{ "{\"type\":\"error\",\"error_type\":\"SessionExpired\"}", 0,
		  LANGSMITH_UNKNOWN, 0 },
		{ "{\"type\":\"error\",\"error\":\"x\"}", 0, LANGSMITH_FAILED,
		  0 },
		{ "{\"type\":\"news\"}", 0, LANGSMITH_OTHER, 0 },
		{ "{\"type\":\"exit\"}", ERR_PROTOCOL, 0, 0 },
		{ "{\"type\":\"exit\",\"exit_code\":\"0\"}", ERR_PROTOCOL, 0,
		  0 },
		{ "{\"type\":\"exit\",\"exit_code\":1e9}", ERR_PROTOCOL, 0, 0 },
		{ "{\"type\":\"stdout\"}", ERR_PROTOCOL, 0, 0 },
		{ "{\"type\":\"stdout\",\"data\":\"\",\"offset\":-5}",
		  ERR_PROTOCOL, 0, 0 },
		{ "[]", ERR_PROTOCOL, 0, 0 },
		{ "{\"type\":", ERR_PROTOCOL, 0, 0 },
		{ "", ERR_PROTOCOL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct langsmith_frame f;
		struct error err = { 0 };

		langsmith_frame_parse(&f, str_of(cases[i].text), &err);
		assert_int_equal(err.code, cases[i].code);
		if (!err.code)
			assert_int_equal(f.word, cases[i].word);
		if (f.word == LANGSMITH_EXIT)
			assert_int_equal(f.exit_code, cases[i].exit_code);
		langsmith_frame_release(&f);
	}
}

/* Each byte once, whatever is repeated. */
static void test_stream(void **state)
{
	static const struct {
		const char *data;
		int64_t offset;
		const char *part; /* NULL: something is missing */
	} steps[] = {
		{ "hello", 0, "hello" },
		{ "hello", 0, "" },
		{ "lo wor", 3, " wor" },
		{ "d", 10, NULL },
		{ "ld", 9, "ld" },
		{ "!", -1, "!" },
		{ "\xEF\xBF\xBD", 12, "\xEF\xBF\xBD" },
		{ "after", 13, "after" },
	};
	struct langsmith_stream s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct langsmith_frame f = { .data = str_of(steps[i].data),
					     .offset = steps[i].offset };
		struct str part = { 0 };
		int rc = langsmith_stream_take(&s, &f, &part);

		assert_int_equal(rc, steps[i].part ? 0 : -1);
		if (steps[i].part)
			assert_true(str_is(part, steps[i].part));
	}
	assert_int_equal(s.at, 18);
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_cancel),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_env_cwd),
		cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_background),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_snapshot),
	};
	int failed = cmocka_run_group_tests(plain, setup_http, cloud_teardown);

	return failed + cmocka_run_group_tests(tests, setup, cloud_teardown);
}
