/* toolargs_test.c - the arguments that a model sent. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"
#include "unit.h"

static const char *const modes[] = { "a", "b", "c", NULL };
static const struct tool_arg rows[] = {
	{ .name = "path", .type = ARG_STRING, .required = true },
	{ .name = "n", .type = ARG_INT },
	{ .name = "max", .type = ARG_INT, .positive = true },
	{ .name = "all", .type = ARG_BOOL },
	{ .name = "mode", .type = ARG_STRING, .choices = modes },
	{ 0 },
};
static const struct tool toy = { .spec = { .name = "toy" }, .args = rows };

static cJSON *read_args(const char *json, struct buf *out)
{
	char *text = json ? strdup(json) : NULL;
	char id[] = "c1";
	struct part call = { .kind = PART_TOOL_CALL, .id = id, .args = text };
	cJSON *args = args_read(&toy, &call, out);

	free(text);
	return args;
}

static void expect_good(const char *json, const char *want)
{
	struct buf out = BUF_INIT(4096);
	cJSON *args = read_args(json, &out);

	assert_non_null(args);
	assert_int_equal(out.len, 0);
	json_print(&out, args);
	assert_string_equal(out.ptr, want);
	cJSON_Delete(args);
	buf_release(&out);
}

static void expect_bad(const char *json, const char *want)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);

	assert_null(read_args(json, &out));
	assert_string_equal(out.ptr, want);
	buf_release(&out);
}

static void test_good(void **state)
{
	(void)state;
	expect_good("{\"path\":\"x\"}", "{\"path\":\"x\"}");
	expect_good(" {\"path\":\"\\\\u0000\"} ", "{\"path\":\"\\\\u0000\"}");
	expect_good("{\"path\":\"x\",\"n\":\"10\"}",
		    "{\"path\":\"x\",\"n\":10}");
	expect_good("{\"path\":\"x\",\"n\":10.0}", "{\"path\":\"x\",\"n\":10}");
	expect_good("{\"path\":\"x\",\"n\":\" -3 \",\"max\":1}",
		    "{\"path\":\"x\",\"n\":-3,\"max\":1}");
	expect_good("{\"path\":\"x\",\"n\":null,\"mode\":null,\"all\":null}",
		    "{\"path\":\"x\"}");
	expect_good("{\"path\":\"x\",\"n\":null,\"n\":null}",
		    "{\"path\":\"x\"}");
	expect_good("{\"path\":\"x\",\"all\":\"True\"}",
		    "{\"path\":\"x\",\"all\":true}");
	expect_good("{\"path\":\"x\",\"all\":0}",
		    "{\"path\":\"x\",\"all\":false}");
	expect_good("{\"path\":\"x\",\"mode\":\"b\",\"extra\":[1]}",
		    "{\"path\":\"x\",\"mode\":\"b\",\"extra\":[1]}");
}

#define WRONG(kwargs, lines)                                                   \
	"Error invoking tool 'toy' with kwargs " kwargs " with error:\n" lines \
	" Please fix the error and try again."

static void test_bad(void **state)
{
	(void)state;
	expect_bad("{}", WRONG("{}", " path: Field required\n"));
	expect_bad("", WRONG("{}", " path: Field required\n"));
	expect_bad(NULL, WRONG("{}", " path: Field required\n"));
	expect_bad("{\"path\":5}",
		   WRONG("{'path': 5}",
			 " path: Input should be a valid string\n"));
	expect_bad("{\"path\":null}",
		   WRONG("{'path': None}",
			 " path: Input should be a valid string\n"));
	expect_bad("{\"path\":\"x\",\"n\":\"ten\",\"max\":0}",
		   WRONG("{'path': 'x', 'n': 'ten', 'max': 0}",
			 " n: Input should be a valid integer, unable to parse "
			 "string as an integer\n"
			 " max: Input should be greater than 0\n"));
	expect_bad("{\"path\":\"x\",\"n\":1.5}",
		   WRONG("{'path': 'x', 'n': 1.5}",
			 " n: Input should be a valid integer, got a number "
			 "with a fractional part\n"));
	expect_bad("{\"path\":\"x\",\"n\":1e300}",
		   WRONG("{'path': 'x', 'n': 1e+300}",
			 " n: Input should be a valid integer\n"));
	expect_bad("{\"path\":\"x\",\"n\":true}",
		   WRONG("{'path': 'x', 'n': True}",
			 " n: Input should be a valid integer\n"));
	expect_bad("{\"path\":\"x\",\"all\":\"maybe\"}",
		   WRONG("{'path': 'x', 'all': 'maybe'}",
			 " all: Input should be a valid boolean\n"));
	expect_bad("{\"path\":\"x\",\"mode\":\"d\"}",
		   WRONG("{'path': 'x', 'mode': 'd'}",
			 " mode: Input should be 'a', 'b' or 'c'\n"));
}

static void test_malformed(void **state)
{
	static const char *const texts[] = { "[1]", "{\"path\":", "nonsense",
					     "\"x\"", "{} {}" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_bad(texts[i], "Tool call toy with id c1 could not be "
				     "executed - arguments were malformed or "
				     "truncated.");
}

/* What our strings would lose the rest behind. */
static void test_nul(void **state)
{
	struct buf out = BUF_INIT(4096);

	(void)state;
	assert_null(read_args("{\"path\":\"a\\\\\\u0000b\"}", &out));
	assert_non_null(strstr(out.ptr, "contains the character NUL"));
	buf_release(&out);
}

/* What is repeated of the arguments stays short. */
static void test_huge(void **state)
{
	struct buf json = BUF_INIT(RESULT_RAW_BYTES);
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);

	(void)state;
	buf_adds(&json, "{\"path\":[");
	for (int i = 0; i < 20000; i++)
		buf_adds(&json, "\"aaaaaaaaaa\",");
	buf_adds(&json, "1]}");
	assert_null(read_args(json.ptr, &out));
	assert_true(out.len < 3000);
	assert_true(str_ends(buf_str(&out), "try again."));
	buf_release(&json);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),      cmocka_unit_test(test_bad),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_nul),
		cmocka_unit_test(test_huge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
