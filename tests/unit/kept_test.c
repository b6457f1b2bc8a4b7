/* kept_test.c - jobs that stay in their sandbox: run once, found again. */
/* SPDX-License-Identifier: MIT */
#include "kept_place.h"

static void test_a_start_whose_answers_were_lost_runs_once(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	lost = 3;
	(void)begin(&p, xasprintf("echo ran >>%s/ran; cat %s/ran; exit 5",
				  p.dir, p.dir));
	see(&p, 0, 100, 60000);
	assert_string_equal(p.out.ptr, "ran\n");
	assert_int_equal(p.state.result.exit_code, 5);
	assert_false(p.state.running);
	close_place(&p);
}

static void test_a_job_is_found_again_with_output_and_status(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	begin_seen(&p, xasprintf("echo one; until [ -e %s/go ]; do sleep "
				 "0.02; done; echo two >&2; exit 3",
				 p.dir));
	assert_string_equal(p.out.ptr, "one\n");
	leave(&p);
	assert_int_equal(p.record.read, 4);
	assert_true(p.record.started);
	assert_false(p.record.told);
	shell_line(xasprintf("touch %s/go", p.dir));
	find_again(&p);
	see(&p, -1, 100, 60000);
	assert_string_equal(p.out.ptr, "two\n");
	assert_int_equal(p.state.from, 4);
	assert_int_equal(p.state.result.exit_code, 3);
	leave(&p);
	assert_true(p.record.told);
	close_place(&p);
}

static void test_what_was_not_started_never_will_be(void **state)
{
	struct stop ever = stop_on(NULL);
	struct exec_request req = { 0 };
	struct error err = { 0 };
	struct place p;
	char *command;

	(void)state;
	open_place(&p);
	kept_name(p.job);
	p.record = (struct job_record){ .number = 1,
					.job = p.job,
					.command = "stored" };
	leave(&p);
	find_again(&p); /* the log has it, its start never arrived */
	see(&p, 0, 100, 60000);
	assert_non_null(strstr(p.state.error.message, "not started"));
	command = xasprintf("echo ran >%s/ran", p.dir);
	req.command = str_of(command);
	assert_int_equal(kept_start(&p.sb, p.job, &req, "", &ever, &err), 0);
	free(command);
	command = xasprintf("%s/ran", p.dir);
	usleep(300000); /* nothing can be waited for that never comes */
	assert_int_equal(access(command, F_OK), -1);
	free(command);
	close_place(&p);
}

static void test_one_that_another_dcode_starts_is_left_to_it(void **state)
{
	struct stop ever = stop_on(NULL);
	struct exec_request req = { .command = STR("echo ran; exit 4") };
	struct error err = { 0 };
	struct place p;

	(void)state;
	open_place(&p);
	kept_name(p.job);
	p.record = (struct job_record){
		.number = 1, .job = p.job, .command = "stored", .starting = true
	};
	leave(&p);
	find_again(&p); /* its start is still on the way */
	see(&p, 0, 100, 0);
	assert_true(p.state.running);
	assert_int_equal(kept_start(&p.sb, p.job, &req, "", &ever, &err), 0);
	see(&p, 0, 100, 60000);
	assert_string_equal(p.out.ptr, "ran\n");
	assert_int_equal(p.state.result.exit_code, 4);
	close_place(&p);
}

static void test_one_that_was_started_is_not_claimed(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	begin_seen(&p, xasprintf("echo x; until [ -e %s/go ]; do sleep 0.02; "
				 "done",
				 p.dir));
	leave(&p);
	p.record.started = false; /* killed before it was stored */
	find_again(&p);
	see(&p, 0, 100, 0);
	assert_true(p.state.running);
	shell_line(xasprintf("touch %s/go", p.dir));
	see(&p, 0, 100, 60000);
	assert_int_equal(p.state.result.exit_code, 0);
	assert_int_equal(p.state.error.code, 0);
	close_place(&p);
}

/* A value that is cut by where reading ends, or begins anew. */
static void test_a_secret_is_masked_wherever_reading_begins(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	(void)begin(&p, xasprintf("printf 'a hunter2hunter2 b\\n'"));
	see(&p, 6, 100, 60000);
	assert_string_equal(p.out.ptr, "er2hunter2 b\n"); /* control */
	assert_true(mask_add(p.mask, "KEY", STR("hunter2hunter2")));
	see(&p, 0, 6, 0);
	assert_string_equal(p.out.ptr, "a ");
	assert_int_equal(p.state.read, 6);
	see(&p, -1, 100, 0);
	assert_string_equal(p.out.ptr, "[masked:KEY] b\n");
	for (int64_t at = 3; at < 16; at++) {
		see(&p, at, 100, 0);
		assert_null(strstr(p.out.ptr, "unter2"));
	}
	close_place(&p);
}

static void test_the_newest_output_stays_and_whole_lines_are_read(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	(void)begin(&p, xasprintf("yes abcdefg | head -c 24000000; echo end"));
	see(&p, 0, 1000, 60000);
	while (p.state.running)
		see(&p, 0, 1000, 60000);
	assert_int_equal(p.state.bytes, 24000004);
	assert_true(p.state.first >= 24000004 - (12 << 20));
	assert_true(p.state.first <= 24000004 - (4 << 20));
	assert_true(p.state.from > p.state.first);
	see(&p, 24000000 - 8, 11, 0);
	assert_string_equal(p.out.ptr, "abcdefg\n");
	see(&p, -1, 100, 0);
	assert_string_equal(p.out.ptr, "end\n");
	close_place(&p);
}

static void test_output_comes_in_pieces(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	(void)begin(&p, xasprintf("yes abcdefg | head -c 100000"));
	see(&p, 0, 8, 60000);
	for (whole = 0; whole <= 10000; whole += 10000) {
		requests = 0;
		see(&p, 0, 60000, 0);
		assert_true(whole ? requests < 40 : requests == 1);
		assert_int_equal(p.out.len, 60000);
		for (size_t i = 0; i < 60000; i++)
			assert_int_equal(p.out.ptr[i], "abcdefg\n"[i % 8]);
	}
	whole = 0;
	close_place(&p);
}

static void test_a_kill_ends_all_that_it_started(void **state)
{
	const struct job_kill what = { 1, true, 60000 };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;
	char *file;

	(void)state;
	open_place(&p);
	(void)begin(&p, xasprintf("(sleep 2; echo >%s/late) & setsid sleep 60",
				  p.dir));
	assert_int_equal(jobs_kill(p.sb.jobs, &what, &ever, &p.state, &err), 0);
	assert_true(p.state.killed);
	assert_false(p.state.running);
	file = xasprintf("%s/late", p.dir);
	sleep(3);
	assert_int_equal(access(file, F_OK), -1);
	free(file);
	close_place(&p);
}

/* While another request is on its way the user ends the turn. */
static void test_a_start_that_was_given_up_in_time_is_not_begun(void **state)
{
	struct job_order order = { .req.command = STR("exit 4") };
	const struct job_read what = { 2, 0, 100, 60000 };
	struct stop ever = stop_on(NULL);
	struct stop soon;
	struct error err = { 0 };
	unsigned number = 0;
	struct place p;
	char *first;

	(void)state;
	open_place(&p);
	order.mask = p.mask;
	(void)begin(&p, xasprintf("until [ -e %s/go ]; do sleep 0.02; done",
				  p.dir));
	first = xstrdup(p.job);
	starts = 0;
	gated = true;
	jobs_refresh(p.sb.jobs, 50);
	soon = stop_cleanup(50);
	assert_int_equal(jobs_start(&p.sb, &order, &number, &soon, &err), -1);
	gated = false;
	assert_int_equal(
		jobs_read(p.sb.jobs, &what, &ever, &p.out, &p.state, &err), 0);
	assert_false(p.state.running);
	assert_true(p.state.killed);
	assert_int_equal(starts, 0);
	shell_line(xasprintf("touch %s/go", p.dir));
	see(&p, 0, 100, 60000);
	assert_int_equal(p.state.result.exit_code, 0); /* control */
	shell_line(xasprintf("rm -rf /tmp/.dcode-jobs*/%s", first));
	free(first);
	close_place(&p);
}

static void test_an_absurd_age_of_a_job_is_no_number(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	begin_seen(&p, xasprintf("echo x; until [ -e %s/go ]; do sleep 0.02; "
				 "done",
				 p.dir));
	shell_line(xasprintf("for d in /tmp/.dcode-jobs*/%s; do echo 0 "
			     "-2000000000000000000 >$d/born; done",
			     p.job));
	see(&p, 0, 100, 0);
	assert_true(p.state.ms >= 1 << 30);
	shell_line(xasprintf("touch %s/go", p.dir));
	see(&p, 0, 100, 60000);
	assert_int_equal(p.state.result.exit_code, 0);
	close_place(&p);
}

static void test_a_job_whose_keeper_died_was_cut_off(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	begin_seen(&p, xasprintf("echo x; sleep 60"));
	shell_line(xasprintf("d=$(echo /tmp/.dcode-jobs*/%s); read -r k _ "
			     "<$d/pid; kill -9 $k; for f in $(grep -ls "
			     "DCODE_EXEC=%s /proc/[0-9]*/environ); do f="
			     "${f#/proc/}; kill -9 ${f%%/*}; done",
			     p.job, p.job));
	see(&p, 0, 100, 60000);
	assert_string_equal(p.out.ptr, "x\n");
	assert_non_null(strstr(p.state.error.message, "interrupted"));
	close_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_start_whose_answers_were_lost_runs_once),
		cmocka_unit_test(
			test_a_job_is_found_again_with_output_and_status),
		cmocka_unit_test(test_what_was_not_started_never_will_be),
		cmocka_unit_test(
			test_one_that_another_dcode_starts_is_left_to_it),
		cmocka_unit_test(test_one_that_was_started_is_not_claimed),
		cmocka_unit_test(
			test_a_secret_is_masked_wherever_reading_begins),
		cmocka_unit_test(
			test_the_newest_output_stays_and_whole_lines_are_read),
		cmocka_unit_test(test_output_comes_in_pieces),
		cmocka_unit_test(test_a_kill_ends_all_that_it_started),
		cmocka_unit_test(
			test_a_start_that_was_given_up_in_time_is_not_begun),
		cmocka_unit_test(test_an_absurd_age_of_a_job_is_no_number),
		cmocka_unit_test(test_a_job_whose_keeper_died_was_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
