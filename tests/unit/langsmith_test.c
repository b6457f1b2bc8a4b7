/* langsmith_test.c - LangSmith: the contract, files, life, frames. */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "providers/langsmith/plane.c"

#define KEY "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789"

static const char *const not_here[] = { "dialog", "source of input", "lifetime",
					NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "langsmith.py",
	.provider = &langsmith_provider,
	.env = { "LANGSMITH_API_KEY=" KEY, "LANGSMITH_ENDPOINT=%s" },
};
static const struct cloud_case over_http = {
	.not_here = not_here,
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

static void test_life(void **state)
{
	(void)state;
	cloud_ghost("ghost");
	(void)cloud_extended(1234);
}

static void test_frames(void **state)
{
	static const struct {
		const char *text;
		enum err code;
		enum langsmith_kind kind;
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

		parse_frame(&f, str_of(cases[i].text), &err);
		assert_int_equal(err.code, cases[i].code);
		if (!err.code)
			assert_int_equal(f.kind, cases[i].kind);
		if (f.kind == LANGSMITH_EXIT)
			assert_int_equal(f.exit_code, cases[i].exit_code);
		release_frame(&f);
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
		int rc = advance_stream(&s, &f, &part);

		assert_int_equal(rc, steps[i].part ? 0 : -1);
		if (steps[i].part)
			assert_true(str_is(part, steps[i].part));
	}
	assert_int_equal(s.at, 18);
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		COMMAND_ROWS,
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_life),
		CONTRACT_ROWS,
		cmocka_unit_test(test_no_parts_are_left),
		cmocka_unit_test(test_snapshot),
	};
	int failed = cmocka_run_group_tests(plain, setup_http, cloud_teardown);

	return failed + cmocka_run_group_tests(tests, setup, cloud_teardown);
}
