/* held_test.c - a held stream over a plain shell: requests, cuts, silence. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "contract_run.h"
#include "providers/held/held.h"

static struct held *open_program(const char *script)
{
	static char *argv[] = { "sh", "-c", NULL, NULL };
	static char *env[] = { "PATH=/usr/bin:/bin", "HOME=/tmp", NULL };

	argv[2] = (char *)script;
	return held_new(&(struct held_program){ .path = "/bin/sh",
						.argv = argv,
						.env = env,
						.name = "there",
						.start_ms = 20000 });
}

static int ask(struct held *h, const char *text, char *room, size_t size,
	       struct error *err)
{
	struct stop stop = stop_cleanup(20000);
	struct buf out = BUF_INIT(size - 1);
	int rc = held_call(h, str_of(text), 0, &out, &stop, err);

	snprintf(room, size, "%s", out.ptr ? out.ptr : "");
	buf_release(&out);
	return rc;
}

static void test_a_request_is_answered_with_what_it_printed(void **state)
{
	struct held *h = open_program("echo noise; exec sh");
	struct error err = { 0 };
	char out[256];

	(void)state;
	assert_int_equal(ask(h, "echo a; echo b >&2", out, sizeof(out), &err),
			 0);
	assert_string_equal(out, "a\nb");
	assert_int_equal(ask(h, ":", out, sizeof(out), &err), 0);
	assert_string_equal(out, "");
	held_free(h);
}

/* struct sandbox_ops.execute */
static int execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	struct supervisor s = held_supervisor(sb->client->priv);

	return supervise_execute(sb, req, res, &s, stop, err);
}

static const struct sandbox_ops ops = { .execute = execute };
static const struct sandbox_provider provider = { .name = "held",
						  .flags = SANDBOX_LIVE,
						  .ops = &ops };

static const char *const not_here[] = { "dialog",       "source of input",
					"attach by id", "list by label",
					"info",         "lifetime",
					"extend",       "network none and full",
					"snapshot",     NULL };

static void test_commands_keep_the_contract_over_it(void **state)
{
	struct held *h = open_program("exec sh");
	struct sandbox_client client = { .provider = &provider, .priv = h };
	struct sandbox sb = { .client = &client,
			      .id = (char *)"there",
			      .workdir = (char *)"/tmp" };

	promised.sandbox = &sb;
	promised_absent = not_here;
	keeps(NULL);
	test_output(state);
	test_live(state);
	test_timeout(state);
	test_cancel(state);
	test_background(state);
	test_large_file_errors(state);
	held_free(h);
}

static void test_a_program_that_ended_is_started_again(void **state)
{
	struct held *h = open_program("exec sh");
	struct error err = { 0 };
	char out[256];

	(void)state;
	assert_int_equal(ask(h, "kill -9 $$; sleep 9", out, sizeof(out), &err),
			 -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_int_equal(ask(h, "echo again", out, sizeof(out), &err), 0);
	assert_string_equal(out, "again");
	held_free(h);
}

/* The first time what stands before the else, then a plain shell. */
static struct held *open_once(const char *first, char *mark, size_t size)
{
	char script[512];

	snprintf(mark, size, "/tmp/.dcode-held-test.%d", (int)getpid());
	snprintf(script, sizeof(script),
		 "if mkdir %s; then %s; else exec sh; fi", mark, first);
	return open_program(script);
}

/* A request (the second, where the first is answered) gets no answer in time,
 * the next one does. */
static void recovers_from(const char *first, bool answered)
{
	char mark[64];
	struct held *h = open_once(first, mark, sizeof(mark));
	struct stop stop;
	struct buf none = BUF_INIT(256);
	struct error err = { 0 };
	char out[256];

	if (answered)
		assert_int_equal(ask(h, "echo a", out, sizeof(out), &err), 0);
	stop = stop_cleanup(1500);
	assert_int_equal(held_call(h, STR("echo a"), 0, &none, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(ask(h, "echo b", out, sizeof(out), &err), 0);
	assert_string_equal(out, "b");
	buf_release(&none);
	held_free(h);
	rmdir(mark);
}

static void test_an_answer_whose_end_was_damaged_takes_no_other(void **state)
{
	(void)state;
	recovers_from("sh | sed -u 's/:end$/:enc/'", false);
}

static void test_complaints_are_no_answer(void **state)
{
	(void)state;
	recovers_from("(while sleep 0.1; do echo what >&2; done) & "
		      "sh | sed -u -n 1,6p",
		      true);
}

static void test_a_program_that_never_gets_there_is_quoted(void **state)
{
	struct held *h = open_program("echo 'no \033[31mroute' >&2; exit 255");
	struct error err = { 0 };
	char out[256];

	(void)state;
	assert_int_equal(ask(h, ":", out, sizeof(out), &err), -1);
	assert_string_equal(err.message, "cannot reach there: no route");
	held_free(h);
}

static void test_a_refusal_of_the_loop_is_told(void **state)
{
	struct held *h =
		open_program("read -r n; printf '\n@held:%s:nowhere\n' "
			     "\"${n#held_nonce=}\"; exec sleep 20");
	struct error err = { 0 };
	char out[256];

	(void)state;
	assert_int_equal(ask(h, ":", out, sizeof(out), &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_true(err.nothing_made);
	assert_string_equal(err.message, "the connection to there: it has "
					 "no writable directory");
	held_free(h);
}

static void test_a_slow_start_goes_on_after_a_request_gave_up(void **state)
{
	char path[] = "/tmp/held_test.XXXXXX";
	char script[128];
	struct stop stop = stop_cleanup(200);
	struct buf none = BUF_INIT(16);
	struct error err = { 0 };
	struct held *h;
	char out[256];

	(void)state;
	close(mkstemp(path));
	snprintf(script, sizeof(script), "echo x >>%s; sleep 1; exec sh", path);
	h = open_program(script);
	assert_int_equal(held_call(h, STR(":"), 0, &none, &stop, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	snprintf(script, sizeof(script), "cat %s", path);
	err = (struct error){ 0 };
	assert_int_equal(ask(h, script, out, sizeof(out), &err), 0);
	assert_string_equal(out, "x");
	buf_release(&none);
	held_free(h);
	unlink(path);
}

static void test_what_was_given_up_before_the_start_is_never_done(void **state)
{
	struct held *h = open_program("sleep 1; exec sh");
	struct stop stop = stop_cleanup(200);
	struct buf none = BUF_INIT(16);
	struct error err = { 0 };
	char path[] = "/tmp/held_test.XXXXXX";
	char script[128];
	char out[256];

	(void)state;
	close(mkstemp(path));
	snprintf(script, sizeof(script), "echo x >>%s", path);
	assert_int_equal(held_call(h, str_of(script), 0, &none, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_true(err.nothing_made);
	snprintf(script, sizeof(script), "echo y >>%s; cat %s", path, path);
	assert_int_equal(ask(h, script, out, sizeof(out), &err), 0);
	assert_string_equal(out, "y");
	buf_release(&none);
	held_free(h);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_request_is_answered_with_what_it_printed),
		cmocka_unit_test(test_commands_keep_the_contract_over_it),
		cmocka_unit_test(test_a_program_that_ended_is_started_again),
		cmocka_unit_test(
			test_an_answer_whose_end_was_damaged_takes_no_other),
		cmocka_unit_test(test_complaints_are_no_answer),
		cmocka_unit_test(
			test_a_program_that_never_gets_there_is_quoted),
		cmocka_unit_test(test_a_refusal_of_the_loop_is_told),
		cmocka_unit_test(
			test_a_slow_start_goes_on_after_a_request_gave_up),
		cmocka_unit_test(
			test_what_was_given_up_before_the_start_is_never_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
