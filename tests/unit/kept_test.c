/* kept_test.c - jobs that stay in their sandbox: run once, found again. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/supervise/kept.h"
#include "unit.h"

/* A sandbox is a shell on this machine; some of its answers are lost. */
static atomic_int lost;
static atomic_int requests;
static atomic_int starts;
static atomic_bool gated; /* the next request waits */

static int shell_attach(struct sandbox *sb, const char *id,
			const struct stop *stop, struct error *err)
{
	(void)stop;
	(void)err;
	sb->id = xstrdup(id);
	return 0;
}

static int shell_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err)
{
	const char *argv[] = { "sh", "-c", req->command.ptr, NULL };
	char room[65536];
	int fds[2];
	ssize_t n;
	pid_t pid;

	(void)sb;
	(void)stop;
	requests++;
	while (gated)
		usleep(1000);
	starts += strstr(req->command.ptr, "s_op=start") != NULL;
	if (pipe2(fds, O_CLOEXEC))
		abort();
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execv("/bin/sh", (char *const *)argv);
		_exit(98);
	}
	close(fds[1]);
	while ((n = read(fds[0], room, sizeof(room))) > 0)
		if (lost <= 0)
			(void)req->output(req->arg, EXEC_STDOUT,
					  (struct str){ room, (size_t)n }, NULL,
					  err);
	close(fds[0]);
	waitpid(pid, NULL, 0);
	if (lost > 0) {
		lost--;
		return error_set(err, ERR_NETWORK, "the connection was cut");
	}
	res->exit_code = 0;
	return 0;
}

static const struct sandbox_ops shell_ops = { .attach = shell_attach,
					      .execute = shell_execute };
static const struct sandbox_provider shell = { .name = "shell",
					       .workdir = "/",
					       .flags = SANDBOX_ATTACH |
							SANDBOX_LIVE,
					       .ops = &shell_ops };
const struct sandbox_provider *const sandbox_providers[] = { &shell, NULL };

struct place {
	struct sandbox_client host;
	struct sandbox sb;
	struct mask *mask;
	struct buf out;
	struct job_state state;
	struct job_record record; /* as the log has it */
	char job[SUPERVISE_JOB + 1];
	char dir[40]; /* for the jobs' files */
};

static int log_add(void *arg, struct job_record *r, struct error *err)
{
	struct place *p = arg;

	(void)err;
	p->record = *r;
	p->record.command = "stored";
	p->record.job = p->job;
	snprintf(p->job, sizeof(p->job), "%s", r->job);
	return 0;
}

static void log_update(void *arg, const struct job_record *r)
{
	struct place *p = arg;

	p->record.read = r->read;
	p->record.started = r->started;
	p->record.told = r->told;
}

static void attach(struct place *p)
{
	const struct jobs_log log = { log_add, log_update, p };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	p->host.provider = &shell;
	assert_int_equal(sandbox_attach(&p->sb, &p->host, "x", &ever, &err), 0);
	jobs_set_log(&p->sb, &log);
}

static void open_place(struct place *p)
{
	*p = (struct place){ .out = BUF_INIT(64 << 20) };
	snprintf(p->dir, sizeof(p->dir), "/tmp/dcode-kept-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	lost = 0;
	p->mask = mask_new();
	attach(p);
}

static void shell_line(char *line)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(98);
	}
	waitpid(pid, NULL, 0);
	free(line);
}

/* This dcode ends; its jobs stay. */
static void leave(struct place *p)
{
	(void)jobs_end(&p->sb.jobs);
	sandbox_release(&p->sb);
}

static void close_place(struct place *p)
{
	leave(p);
	shell_line(xasprintf("rm -rf %s /tmp/.dcode-jobs*/%s", p->dir,
			     p->job[0] ? p->job : "none"));
	buf_release(&p->out);
	mask_free(p->mask);
}

static unsigned begin(struct place *p, char *command)
{
	const struct job_order order = { .command = str_of(command),
					 .mask = p->mask };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	unsigned number = 0;

	assert_int_equal(jobs_start(&p->sb, &order, &number, &ever, &err), 0);
	free(command);
	return number;
}

/* What a new dcode finds. */
static void find_again(struct place *p)
{
	attach(p);
	jobs_adopt(&p->sb, &p->record, p->mask);
	jobs_refresh(p->sb.jobs, 60000);
}

static void see(struct place *p, int64_t from, size_t most, int64_t wait_ms)
{
	const struct job_read what = { 1, from, most, wait_ms };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	buf_clear(&p->out);
	assert_int_equal(
		jobs_read(p->sb.jobs, &what, &ever, &p->out, &p->state, &err),
		0);
	buf_adds(&p->out, "");
}

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
	(void)begin(&p, xasprintf("echo one; until [ -e %s/go ]; do sleep "
				  "0.02; done; echo two >&2; exit 3",
				  p.dir));
	do
		see(&p, 0, 100, 0);
	while (!p.out.len);
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

static void test_one_that_was_started_is_not_claimed(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	(void)begin(&p, xasprintf("echo x; until [ -e %s/go ]; do sleep 0.02; "
				  "done",
				  p.dir));
	do
		see(&p, 0, 100, 0);
	while (!p.out.len);
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
	struct job_order order = { .command = STR("exit 4") };
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
	(void)begin(&p, xasprintf("echo x; until [ -e %s/go ]; do sleep 0.02; "
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
	(void)begin(&p, xasprintf("echo x; sleep 60"));
	do
		see(&p, 0, 100, 0);
	while (!p.out.len);
	shell_line(xasprintf("d=$(echo /tmp/.dcode-jobs*/%s); read -r k _ "
			     "<$d/pid; kill -9 $k; for f in $(grep -ls "
			     "DCODE_EXEC=%s /proc/[0-9]*/environ); do f="
			     "${f#/proc/}; kill -9 ${f%%/*}; done",
			     p.job, p.job));
	see(&p, 0, 100, 60000);
	assert_string_equal(p.out.ptr, "x\n");
	assert_non_null(strstr(p.state.error.message, "cut off"));
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
		cmocka_unit_test(test_one_that_was_started_is_not_claimed),
		cmocka_unit_test(
			test_a_secret_is_masked_wherever_reading_begins),
		cmocka_unit_test(
			test_the_newest_output_stays_and_whole_lines_are_read),
		cmocka_unit_test(test_a_kill_ends_all_that_it_started),
		cmocka_unit_test(
			test_a_start_that_was_given_up_in_time_is_not_begun),
		cmocka_unit_test(test_an_absurd_age_of_a_job_is_no_number),
		cmocka_unit_test(test_a_job_whose_keeper_died_was_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
