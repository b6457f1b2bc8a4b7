/* dotenv_test.c - .env files: syntax, references, refusals, limits. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "config/dotenv.h"

static const char *lookup(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "SHELL_VAR") ? NULL : "from shell";
}

static struct dotenv parse_as(struct str text, enum dotenv_owner owner)
{
	struct dotenv d = { 0 };
	struct dotenv_input in = { text, "f", owner, lookup, NULL };

	dotenv_parse(&d, &in);
	return d;
}

static struct dotenv parse(const char *text)
{
	return parse_as(str_of(text), DOTENV_USER);
}

/* One assignment to A and what it means; no warning. */
static void means(const char *text, const char *value)
{
	struct dotenv d = parse(text);

	if (d.n_warnings)
		fail_msg("%s", d.warnings[0]);
	assert_non_null(dotenv_get(&d, STR("A")));
	assert_string_equal(dotenv_get(&d, STR("A")), value);
	dotenv_release(&d);
}

/* The line is refused with this warning, and B behind it still counts. */
static void warns(const char *text, const char *warning)
{
	struct buf all = BUF_INIT(4096);
	struct dotenv d;

	buf_adds(&all, text);
	buf_adds(&all, "\nB=1\n");
	d = parse_as(buf_str(&all), DOTENV_USER);
	assert_null(dotenv_get(&d, STR("A")));
	assert_string_equal(dotenv_get(&d, STR("B")), "1");
	assert_int_equal(d.n_warnings, 1);
	assert_string_equal(d.warnings[0], warning);
	dotenv_release(&d);
	buf_release(&all);
}

static void plain(void **state)
{
	(void)state;
	means("A=b", "b");
	means("A=", "");
	means("  A \t=  b c  \t\n", "b c");
	means("\xEF\xBB\xBF"
	      "A=b\r\n",
	      "b");
	means("export A=b", "b");
	means("export\t A=b", "b");
	means("\n# A=no\n\r\nA=b\n", "b");
	means("A=b#c", "b#c");
	means("A=#c", "#c");
	means("A=b # c", "b");
	means("A= # c", "");
	means("A=b'c\"d", "b'c\"d");
	means("A=a\\nb", "a\\nb");
	means("A=x=y", "x=y");
	means("A=1\nA=2", "2");
	means("exported=1\nA=b", "b");
}

static void quotes(void **state)
{
	(void)state;
	means("A='b # c'", "b # c");
	means("A='b' # c", "b");
	means("A='it\\'s \\\\ \\n'", "it's \\ \\n");
	means("A=\"b # c\"", "b # c");
	means("A=\"a\\n\\t\\\"\\\\\\q\"", "a\n\t\"\\\\q");
	means("A=\"two\nlines\"\nB=1", "two\nlines");
	means("A='two\nlines'", "two\nlines");
	means("A=\"\"", "");
}

static void references(void **state)
{
	(void)state;
	means("B=x\nA=${B}y", "xy");
	means("B=x\nA=\"${B} ${B}\"", "x x");
	means("B=x\nA='${B}'", "${B}");
	means("A=\"\\${B}\"", "${B}");
	means("A=${SHELL_VAR}", "from shell");
	means("SHELL_VAR=file\nA=${SHELL_VAR}", "from shell");
	means("A=<${NONE}>", "<>");
	means("A=${NONE:-other}", "other");
	means("B=\nA=${B:-other}", "other");
	means("B=x\nA=${B:-other}", "x");
	means("A=$B ${ ${} ${1} ${B", "$B ${ ${} ${1} ${B");
	means("A=1\nA=${A}2", "12");
}

/* What a repository writes is not given the user's values. */
static void references_of_a_project(void **state)
{
	struct dotenv d = parse_as(STR("IN=x\nA=${IN}-${SHELL_VAR}\n"
				       "B=\"${NONE:-other}${SHELL_VAR}\"\n"
				       "C='${SHELL_VAR}'\nEMPTY=\n"
				       "D=<${EMPTY}>\nE=${LATER}\nLATER=1\n"),
				   DOTENV_PROJECT);

	(void)state;
	assert_string_equal(dotenv_get(&d, STR("A")), "x-${SHELL_VAR}");
	assert_string_equal(dotenv_get(&d, STR("B")), "other${SHELL_VAR}");
	assert_string_equal(dotenv_get(&d, STR("C")), "${SHELL_VAR}");
	assert_string_equal(dotenv_get(&d, STR("D")), "<>");
	assert_string_equal(dotenv_get(&d, STR("E")), "${LATER}");
	assert_int_equal(d.n_warnings, 3);
	assert_string_equal(d.warnings[0],
			    "f:2: ${SHELL_VAR} is not replaced, because this "
			    "file does not set it: a project's .env file "
			    "cannot use other variables");
	dotenv_release(&d);
}

static void mistakes(void **state)
{
	(void)state;
	warns("A", "f:1: expected NAME=value; this line is ignored");
	warns("A b", "f:1: expected NAME=value; this line is ignored");
	warns("\n=b", "f:2: expected NAME=value; this line is ignored");
	warns("1A=b", "f:1: expected NAME=value; this line is ignored");
	warns("A='b", "f:1: a quote is not closed; this line is ignored");
	warns("A=\"b", "f:1: a quote is not closed; this line is ignored");
	warns("A=\"b\"c",
	      "f:1: text after the closing quote; this line is ignored");
	warns("# x\n\nA='\n\n'x",
	      "f:3: text after the closing quote; this line is ignored");
	warns("PATH=/x", "f:1: PATH may not be set in a .env file; ignored");
}

static void nul_bytes(void **state)
{
	struct dotenv d = parse_as(STR("A=x\0y\nB=1\n"), DOTENV_USER);

	(void)state;
	assert_null(dotenv_get(&d, STR("A")));
	assert_string_equal(dotenv_get(&d, STR("B")), "1");
	assert_string_equal(d.warnings[0], "f:1: A contains a NUL byte; "
					   "ignored");
	dotenv_release(&d);
}

static bool denied(const char *name, enum dotenv_owner owner)
{
	return dotenv_denied(str_of(name), owner);
}

static void denied_to_all(void **state)
{
	static const char *const names[] = {
		"PATH",
		"Path",
		"LD_PRELOAD",
		"LD_LIBRARY_PATH",
		"DYLD_INSERT_LIBRARIES",
		"BASH_ENV",
		"ENV",
		"BASH_FUNC_ls%%",
		"GIT_SSH_COMMAND",
		"GIT_CONFIG_KEY_0",
		"PYTHONPATH",
		"PERL5OPT",
		"NODE_OPTIONS",
		"DEEPAGENTS_CODE_READ_PROJECT_DOTENV",
		"DEEPAGENTS_INHERITED_PYTHONPATH",
		"deepagents_code_ld_preload",
		"DEEPAGENTS_CODE_DEEPAGENTS_CODE_PATH",
	};
	static const char *const fine[] = {
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTPS_PROXY",
		"DOCKER_HOST",    "MY_PATH",         "ENVIRONMENT",
		"SSL_CERT_FILE",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(denied(names[i], DOTENV_USER));
		assert_true(denied(names[i], DOTENV_PROJECT));
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
		assert_false(denied(fine[i], DOTENV_USER));
}

static void denied_to_projects(void **state)
{
	static const char *const names[] = {
		"OPENAI_BASE_URL",
		"openai_base_url",
		"OPENAI_API_BASE",
		"AZURE_OPENAI_ENDPOINT",
		"AWS_ENDPOINT_URL_S3",
		"OLLAMA_HOST",
		"E2B_DOMAIN",
		"HTTP_PROXY",
		"https_proxy",
		"ALL_PROXY",
		"no_proxy",
		"SSL_CERT_FILE",
		"SSL_CERT_DIR",
		"CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE",
		"OPENAI_API_KEY_ENV",
		"AWS_PROFILE",
		"ANTHROPIC_CUSTOM_HEADERS",
		"HOME",
		"XDG_CONFIG_HOME",
		"DOCKER_HOST",
		"DOCKER_CONFIG",
		"TERM_PROGRAM",
		"DEEPAGENTS_CODE_OPENAI_BASE_URL",
		"DEEPAGENTS_CODE_HTTPS_PROXY",
		"DEEPAGENTS_CODE_SHELL_ALLOW_LIST",
		"DEEPAGENTS_CODE_AUTO_CLASSIFIER_MODEL",
		"DEEPAGENTS_CODE_DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS",
		"DEEPAGENTS_CODE_OPENAI_API_KEY",
		"deepagents_code_anything",
	};
	static const char *const fine[] = {
		"OPENAI_API_KEY",  "MODAL_TOKEN_ID", "DATABASE",
		"HOSTNAME_PREFIX", "URLS",           "AWS_REGION",
		"GREETING",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!denied(names[i], DOTENV_PROJECT))
			fail_msg("%s", names[i]);
		assert_false(denied(names[i], DOTENV_USER));
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
		assert_false(denied(fine[i], DOTENV_PROJECT));
}

static void no_values_in_warnings(void **state)
{
	struct dotenv d = parse_as(STR("X_URL=s3cret\nKEY='s3cret\n"
				       "OTHER=\"s3cret\"s3cret\ns3cret\n"),
				   DOTENV_PROJECT);

	(void)state;
	assert_int_equal(d.n, 0);
	assert_int_equal(d.n_warnings, 4);
	assert_string_equal(d.warnings[0], "f:1: X_URL may not be set in a "
					   "project's .env file; ignored");
	for (size_t i = 0; i < d.n_warnings; i++)
		assert_null(strstr(d.warnings[i], "s3cret"));
	dotenv_release(&d);
}

/* A small file that would grow to terabytes, and files too large at once. */
static void limits(void **state)
{
	struct buf text = BUF_INIT(4 << 20);
	struct dotenv d;

	(void)state;
	buf_adds(&text, "V0=0123456789\n");
	for (int i = 1; i < 60; i++)
		buf_addf(&text, "V%d=${V%d}${V%d}\n", i, i - 1, i - 1);
	d = parse_as(buf_str(&text), DOTENV_USER);
	assert_non_null(dotenv_get(&d, STR("V10")));
	assert_null(dotenv_get(&d, STR("V14")));
	assert_int_equal(d.n_warnings, 1);
	assert_string_equal(d.warnings[0],
			    "f:15: V14 is larger than 131072 bytes; ignored");
	dotenv_release(&d);
	buf_clear(&text);

	buf_adds(&text, "V0=0123456789\n");
	for (int i = 1; i < 14; i++)
		buf_addf(&text, "V%d=${V%d}${V%d}\n", i, i - 1, i - 1);
	for (int i = 0; i < 50000; i++)
		buf_addf(&text, "W%d=${V13}\n", i);
	d = parse_as(buf_str(&text), DOTENV_USER);
	assert_true(d.n < 100);
	assert_int_equal(d.n_warnings, 1);
	assert_non_null(strstr(d.warnings[0], "; the rest is ignored"));
	dotenv_release(&d);
	buf_clear(&text);

	for (int i = 0; i < 60000; i++)
		buf_adds(&text, "bad line\n");
	d = parse_as(buf_str(&text), DOTENV_USER);
	assert_int_equal(d.n_warnings, DOTENV_MOST_WARNINGS + 1);
	dotenv_release(&d);
	buf_clear(&text);

	while (text.len <= DOTENV_LARGEST)
		buf_adds(&text, "A=1\n");
	d = parse_as(buf_str(&text), DOTENV_USER);
	assert_int_equal(d.n, 0);
	assert_int_equal(d.n_warnings, 1);
	dotenv_release(&d);
	buf_release(&text);
}

static void many_names(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct dotenv d;

	(void)state;
	for (int i = 0; i < 60000; i++)
		buf_addf(&text, "NAME_%d=%d\n", i, i);
	d = parse_as(buf_str(&text), DOTENV_PROJECT);
	assert_int_equal(d.n, 60000);
	assert_string_equal(dotenv_get(&d, STR("NAME_59999")), "59999");
	assert_int_equal(d.vars[41].line, 42);
	dotenv_release(&d);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(quotes),
		cmocka_unit_test(references),
		cmocka_unit_test(references_of_a_project),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(nul_bytes),
		cmocka_unit_test(denied_to_all),
		cmocka_unit_test(denied_to_projects),
		cmocka_unit_test(no_values_in_warnings),
		cmocka_unit_test(limits),
		cmocka_unit_test(many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
