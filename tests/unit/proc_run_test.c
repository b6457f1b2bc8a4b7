/* proc_run_test.c - running programs to their end, whatever they do. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/str.h"
#include "unit.h"

enum { LONG_MS = 60000 };

static const struct stop never = { .deadline = INT64_MAX };

static struct proc_run shell_run(char **argv, const char *command)
{
	argv[0] = (char *)"sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)command;
	argv[3] = NULL;
	return (struct proc_run){ .program = "/bin/sh",
				  .argv = argv,
				  .env = environ,
				  .out = BUF_INIT(1000),
				  .err = BUF_INIT(1000) };
}

static void release(struct proc_run *p)
{
	buf_release(&p->out);
	buf_release(&p->err);
}

static void test_input_output_and_status_are_passed(void **state)
{
	struct error err = { 0 };
	char *argv[2][4];
	struct proc_run a = shell_run(argv[0], "cat; echo no >&2; exit 3");
	struct proc_run b = shell_run(argv[1], "pwd; kill -9 $$");
	struct proc_run *list[] = { &a, &b };

	(void)state;
	a.input = STR("some words");
	assert_int_equal(proc_run_all(list, 2, &never, &err), 0);
	assert_string_equal(a.out.ptr, "some words");
	assert_string_equal(a.err.ptr, "no\n");
	assert_int_equal(a.status, 3);
	assert_string_equal(b.out.ptr, "/\n");
	assert_int_equal(b.status, 128 + SIGKILL);
	assert_false(a.timed_out || b.timed_out);
	release(&a);
	release(&b);
}

static void test_one_that_prints_too_much_is_ended_or_cut(void **state)
{
	struct error err = { 0 };
	char *argv[4];
	struct proc_run p = shell_run(argv, "yes");
	struct proc_run *list[] = { &p };
	struct buf out = BUF_INIT(1000);

	(void)state;
	p.ends_over = true;
	assert_int_equal(proc_run_all(list, 1, &never, &err), 0);
	assert_true(p.out.over && p.out.len == 1000);
	release(&p);
	p = shell_run(argv, "yes | head -c 100000; exit 4");
	assert_int_equal(proc_run_all(list, 1, &never, &err), 0);
	assert_true(p.out.over && p.status == 4);
	release(&p);
	p = shell_run(argv, "yes");
	assert_int_equal(
		proc_output(p.program, argv, environ, &out, &never, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	buf_release(&out);
}

static void test_its_time_ends_it_with_all_that_it_started(void **state)
{
	struct error err = { 0 };
	char *argv[4];
	struct proc_run p = shell_run(argv, "setsid sleep 1000 & echo $!; "
					    "exec sleep 1000");
	struct proc_run *list[] = { &p };
	int64_t child;

	(void)state;
	p.ms = 500;
	assert_int_equal(proc_run_all(list, 1, &never, &err), 0);
	assert_true(p.timed_out);
	assert_int_equal(p.status, 128 + SIGKILL);
	assert_true(str_to_int(str_trim(buf_str(&p.out)), &child));
	for (int i = 0; proc_started((pid_t)child) && i < 500; i++)
		(void)usleep(10000);
	assert_int_equal(proc_started((pid_t)child), 0);
	release(&p);
}

static void test_one_that_is_not_there_is_said(void **state)
{
	struct error err = { 0 };
	char *argv[4];
	struct proc_run p = shell_run(argv, "true");
	struct proc_run *list[] = { &p };

	(void)state;
	p.program = "/no/such/program";
	assert_int_equal(proc_run_all(list, 1, &never, &err), 0);
	assert_non_null(strstr(p.failed.message, "/no/such/program"));
	release(&p);
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK) < 0)
		(void)usleep(1000);
}

static void write_pid(const char *path, pid_t pid)
{
	int fd = open("new", O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, &pid, sizeof(pid)) != sizeof(pid) ||
	    rename("new", path) < 0)
		_exit(1);
	close(fd);
}

/* What this program is when it is run as "proc_run_test traced DIR". */
static int be_traced(const char *dir)
{
	/* By whomever: Yama lets only an ancestor trace, else. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (chdir(dir) < 0)
		return 1;
	write_pid("pid", getpid());
	wait_for_file("seized");
	for (;;)
		(void)pause();
}

/* A tracer that never reaps: what it has traced stays dead and unreaped, as
 * alive stays what SIGKILL does not reach. */
static pid_t start_tracer(const char *dir)
{
	pid_t tracer = fork();
	pid_t pid;
	int fd;

	if (tracer)
		return tracer;
	if (chdir(dir) < 0)
		_exit(1);
	wait_for_file("pid");
	fd = open("pid", O_RDONLY);
	if (read(fd, &pid, sizeof(pid)) != sizeof(pid) ||
	    ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		_exit(1);
	write_pid("seized", pid);
	for (;;)
		(void)pause();
}

static void test_one_that_cannot_be_reaped_is_left(void **state)
{
	char dir[] = "/tmp/proc_run_test.XXXXXX";
	char *argv[] = { (char *)"x", (char *)"traced", dir, NULL };
	struct proc_run p = { .program = "/proc/self/exe",
			      .argv = argv,
			      .env = environ,
			      .ms = 3000 };
	struct proc_run *list[] = { &p };
	struct error err = { 0 };
	char command[100];
	int64_t began;
	pid_t tracer;
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tracer = start_tracer(dir);
	began = clock_ms();
	assert_int_equal(proc_run_all(list, 1, &never, &err), 0);
	assert_true(clock_ms() - began >= 5000);
	assert_true(clock_ms() - began < LONG_MS);
	assert_int_equal(p.failed.code, 0);
	assert_true(p.timed_out);
	assert_int_equal(p.status, 128 + SIGKILL);
	/* It was traced indeed: now that the tracer goes, it can be reaped. */
	assert_int_equal(waitpid(p.pid, &status, WNOHANG), 0);
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	release(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_output_and_status_are_passed),
		cmocka_unit_test(test_one_that_prints_too_much_is_ended_or_cut),
		cmocka_unit_test(
			test_its_time_ends_it_with_all_that_it_started),
		cmocka_unit_test(test_one_that_is_not_there_is_said),
		cmocka_unit_test(test_one_that_cannot_be_reaped_is_left),
	};

	if (argc == 3 && !strcmp(argv[1], "traced"))
		return be_traced(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
