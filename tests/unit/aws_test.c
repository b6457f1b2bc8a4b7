/* aws_test.c - where AWS's keys come from: files, programs, endpoints. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aws/credentials.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"

static struct aws_profile read_profile(const char *text, const char *name,
				       bool config)
{
	struct aws_profile p = { 0 };

	aws_profile_read(str_of(text), name, config, &p);
	return p;
}

static void test_profiles(void **state)
{
	static const char text[] = "\xef\xbb\xbf# a comment\r\n"
				   "[default]\r\n"
				   "aws_access_key_id = AKID1\r\n"
				   "aws_secret_access_key=a=b/c+d#e\r\n"
				   "; another\n"
				   "[ profile  \"my own\" ]\n"
				   "AWS_ACCESS_KEY_ID = AKID2\n"
				   "s3 =\n"
				   "  aws_secret_access_key = nested\n"
				   "aws_session_token = one\n"
				   "aws_session_token = two\n"
				   "[my own]\n"
				   "credential_process = /bin/x --y 'a b'\n"
				   "[profile role]\n"
				   "role_arn = arn:aws:iam::1:role/x\n";
	struct aws_profile p = read_profile(text, "default", true);

	(void)state;
	assert_true(p.found);
	assert_string_equal(p.id, "AKID1");
	assert_string_equal(p.secret, "a=b/c+d#e");
	assert_null(p.token);
	aws_profile_release(&p);
	p = read_profile(text, "my own", true);
	assert_string_equal(p.id, "AKID2");
	assert_null(p.secret);
	assert_string_equal(p.token, "two");
	assert_null(p.process);
	aws_profile_release(&p);
	p = read_profile(text, "my own", false);
	assert_string_equal(p.process, "/bin/x --y 'a b'");
	assert_null(p.id);
	aws_profile_release(&p);
	p = read_profile(text, "role", true);
	assert_string_equal(p.unsupported, "role_arn");
	aws_profile_release(&p);
	p = read_profile(text, "role", false);
	assert_false(p.found);
	aws_profile_release(&p);
	p = read_profile(text, "none", true);
	assert_false(p.found);
	aws_profile_release(&p);
}

static void expect_words(const char *line, const char *joined)
{
	char **words = aws_words(str_of(line));
	struct buf out = BUF_INIT(4096);

	if (!joined) {
		assert_null(words);
		return;
	}
	assert_non_null(words);
	for (size_t i = 0; words[i]; i++)
		buf_addf(&out, "%s|", words[i]);
	assert_string_equal(out.ptr, joined);
	buf_release(&out);
	aws_words_free(words);
}

static void test_words(void **state)
{
	(void)state;
	expect_words("a b  c\t", "a|b|c|");
	expect_words("\"/opt/my tool\" --x='a \"b\"' \"c'd\"",
		     "/opt/my tool|--x=a \"b\"|c'd|");
	expect_words("a\\ b \"q\\\"r\\\\s\\t\" ''", "a b|q\"r\\s\\t||");
	/* nothing of these is a shell's */
	expect_words("a; rm $HOME `x` >y", "a;|rm|$HOME|`x`|>y|");
	expect_words("", NULL);
	expect_words("  ", NULL);
	expect_words("a 'b", NULL);
	expect_words("a \"b\\\"", NULL);
}

static void test_json(void **state)
{
	struct aws_credentials c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		aws_take_json(STR("{\"Version\":1,\"AccessKeyId\":\"A\","
				  "\"SecretAccessKey\":\"S\",\"Token\":\"T\","
				  "\"Expiration\":\"2026-11-20T10:00:00Z\"}"),
			      "Token", "it", &c, &err),
		0);
	assert_string_equal(c.id, "A");
	assert_string_equal(c.secret, "S");
	assert_string_equal(c.token, "T");
	assert_int_equal(c.expires, 1795168800);
	assert_int_equal(aws_take_json(STR("{\"AccessKeyId\":\"A\"}"), "Token",
				       "it", &c, &err),
			 -1);
	assert_string_equal(c.id, "A"); /* the old one stays */
	assert_int_equal(
		aws_take_json(STR("{\"AccessKeyId\":\"A\",\"SecretAccessKey\":"
				  "\"S\",\"Expiration\":\"soon\"}"),
			      "Token", "it", &c, &err),
		-1);
	assert_int_equal(aws_take_json(STR("nothing"), "Token", "it", &c, &err),
			 -1);
	assert_int_equal(err.code, ERR_AUTH);
	aws_credentials_release(&c);
}

/* A program in a file; returns its command line. */
static char *program(char dir[], const char *script)
{
	char *path = xasprintf("%s/a key", dir);
	char *line = xasprintf("\"%s\" one 'two $(id)'", path);
	struct error err = { 0 };

	assert_int_equal(path_write(path, str_of(script), 0755, &err), 0);
	free(path);
	return line;
}

static char *usual[] = { (char *)"PATH=/usr/bin:/bin", NULL };

static int run_program(const char *script, struct aws_credentials *c,
		       int64_t ms, struct error *err)
{
	char dir[] = "/tmp/dcode-unit-XXXXXX";
	struct stop stop = stop_cleanup(ms);
	struct error ignored = { 0 };
	char *line;
	int rc;

	assert_non_null(mkdtemp(dir));
	line = program(dir, script);
	rc = aws_process(line, usual, c, &stop, err);
	free(line);
	assert_int_equal(path_remove_tree(dir, &ignored), 0);
	return rc;
}

static void test_process(void **state)
{
	struct aws_credentials c = { 0 };
	struct error err = { 0 };
	struct stop stop = stop_cleanup(60000);
	int64_t began;

	(void)state;
	assert_int_equal(
		run_program("#!/bin/sh\n"
			    "echo '{\"Version\":1,\"AccessKeyId\":\"'$1'\",'\n"
			    "echo '\"SecretAccessKey\":\"'\"$2\"'\"}'\n",
			    &c, 60000, &err),
		0);
	assert_string_equal(c.id, "one");
	assert_string_equal(c.secret, "two $(id)");
	assert_int_equal(
		run_program("#!/bin/sh\necho '{}'; exit 3\n", &c, 60000, &err),
		-1);
	assert_non_null(strstr(err.message, "status 3"));
	assert_int_equal(run_program("#!/bin/sh\nexec yes\n", &c, 60000, &err),
			 -1);
	assert_int_equal(err.code, ERR_LIMIT);
	began = clock_ms();
	assert_int_equal(run_program("#!/bin/sh\nsleep 300 & sleep 300\n", &c,
				     300, &err),
			 -1);
	assert_true(clock_ms() - began < 60000);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(
		aws_process("no-such-program x", usual, &c, &stop, &err), -1);
	assert_int_equal(aws_process("./relative", usual, &c, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	aws_credentials_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_process),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
