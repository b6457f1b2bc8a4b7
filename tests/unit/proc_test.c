/* proc_test.c - starting, finding and killing processes. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/stop.h"
#include "unit.h"

static int run_shell(const char *command, const int *fds, size_t n,
		     const char *cwd, struct error *err)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	char *env[] = { "A=1", NULL };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .cwd = cwd,
				  .fds = fds,
				  .nfds = n };
	int status;
	pid_t pid;

	if (proc_spawn(&spec, &pid, err) < 0)
		return -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return proc_exit_code(status);
}

static void test_spawn(void **state)
{
	const int none[3] = { -1, -1, -1 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run_shell("exit 7", none, 3, NULL, &err), 7);
	assert_int_equal(run_shell("kill -15 $$", none, 3, NULL, &err), 143);
	assert_int_equal(run_shell("[ $A = 1 ] && [ -z \"$HOME\" ] && "
				   "[ \"$(pwd)\" = / ]",
				   none, 3, "/", &err),
			 0);
	assert_int_equal(run_shell("true", none, 3, "/no/such", &err), -1);
	assert_non_null(strstr(err.message, "/no/such"));
	err = (struct error){ 0 };
	assert_int_equal(
		proc_spawn(
			&(struct proc_spec){ .path = "/no/sh",
					     .argv = (char *[]){ "sh", NULL },
					     .env = environ,
					     .fds = none,
					     .nfds = 3 },
			&(pid_t){ 0 }, &err),
		-1);
	assert_non_null(strstr(err.message, "/no/sh: No such file"));
}

/* What a child gets as its PATH, started either way. */
static int has_path(char *path, const char *wanted, bool bound)
{
	const int none[3] = { -1, -1, -1 };
	char *test = xasprintf("[ \"$PATH\" = '%s' ] && [ $A = 1 ]", wanted);
	char *argv[] = { (char *)"sh", (char *)"-c", test, NULL };
	char a[] = "A=1";
	char *env[] = { path, a, NULL };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .fds = none,
				  .nfds = 3 };
	struct error err = { 0 };
	int status = -1;
	pid_t pid;

	assert_int_equal(bound ? proc_spawn_bound(&spec, &pid, &err)
			       : proc_spawn(&spec, &pid, &err),
			 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(test);
	return proc_exit_code(status);
}

static void test_no_child_gets_a_relative_entry_of_path(void **state)
{
	static const char *const paths[] = {
		"PATH=/a:/b",  "PATH=.:/a:/b", "PATH=:/a:/b",
		"PATH=/a::/b", "PATH=/a:/b:",  "PATH=/a:x/y:/b:."
	};
	char *none = proc_absolute_path("");

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		for (int bound = 0; bound < 2; bound++)
			assert_int_equal(
				has_path((char *)paths[i], "/a:/b", bound), 0);
	assert_int_equal(has_path((char *)"PATH=", none, false), 0);
	assert_int_equal(has_path((char *)"PATH=.", none, true), 0);
	free(none);
}

static void test_a_relative_program_is_not_started(void **state)
{
	const int none[3] = { -1, -1, -1 };
	char *argv[] = { (char *)"sh", NULL };
	struct proc_spec spec = { .path = "bin/sh",
				  .argv = argv,
				  .env = environ,
				  .fds = none,
				  .nfds = 3 };
	struct error err = { 0 };
	pid_t pid;

	(void)state;
	assert_int_equal(proc_spawn(&spec, &pid, &err), -1);
	assert_int_equal(proc_spawn_bound(&spec, &pid, &err), -1);
}

/* Sources that lie where targets go, a cycle even, and nothing else open. */
static void test_descriptors(void **state)
{
	struct error err = { 0 };
	int extra = fcntl(0, F_DUPFD, 40); /* not close-on-exec */
	int fds[6];
	int got;

	(void)state;
	for (int i = 0; i < 6; i++)
		fds[i] = -1;
	for (int i = 3; i < 6; i++) {
		char name[] = "/tmp/proc_test.XXXXXX";
		int fd = mkstemp(name);

		unlink(name);
		assert_int_equal(dup2(fd, 20 + i), 20 + i);
		close(fd);
		assert_int_equal(write(20 + i, &"345"[i - 3], 1), 1);
		lseek(20 + i, 0, SEEK_SET);
	}
	for (int i = 3; i < 6; i++)
		assert_int_equal(dup2(20 + i, i), i);
	fds[3] = 4;
	fds[4] = 5;
	fds[5] = 3;
	got = run_shell(
		"[ \"$(cat <&3)$(cat <&4)$(cat <&5)\" = 453 ] || exit 8;"
		"for i in 6 7 8 9 23 24 25 40 41 42; do "
		"[ -e /proc/$$/fd/$i ] && exit 9; done; true",
		fds, 6, NULL, &err);
	for (int i = 3; i < 6; i++) {
		close(i);
		close(20 + i);
	}
	close(extra);
	assert_int_equal(got, 0);
}

static void test_signals(void **state)
{
	const int none[3] = { -1, -1, -1 };
	struct error err = { 0 };
	char line[64];
	sigset_t set;
	sigset_t old;

	(void)state;
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(
		run_shell("kill -PIPE $$; exit 0", none, 3, NULL, &err),
		128 + SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGRTMIN + 1, SIG_IGN);
	snprintf(line, sizeof(line), "kill -%d $$; exit 0", SIGRTMIN + 1);
	assert_int_equal(run_shell(line, none, 3, NULL, &err),
			 128 + SIGRTMIN + 1);
	signal(SIGRTMIN + 1, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void test_find(void **state)
{
	char *sh = proc_find("sh", "relative:.::/no/such:/bin:/usr/bin");

	(void)state;
	assert_string_equal(sh, "/bin/sh");
	free(sh);
	assert_null(proc_find("sh", "bin:."));
	sh = proc_find("sh", NULL); /* without $PATH: the usual places */
	assert_non_null(sh);
	free(sh);
	assert_null(proc_find("sh", ""));
	assert_null(proc_find("passwd", "/etc")); /* not executable */
}

static void test_absolute_path(void **state)
{
	static const char *const rows[][2] = {
		{ "/usr/bin:/bin", "/usr/bin:/bin" },
		{ ":/usr/bin::/bin:", "/usr/bin:/bin" },
		{ "bin:.:/bin:../x:~/bin", "/bin" },
		{ "", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" },
		{ NULL, "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *path = proc_absolute_path(rows[i][0]);

		assert_string_equal(path, rows[i][1]);
		free(path);
	}
}

static void test_tree(void **state)
{
	char *argv[] = { "sh", "-c",
			 "env M_ARK=1 setsid sleep 60 & (setsid sh -c "
			 "'env M_ARK=1 sleep 61 & wait' &); sleep 63",
			 NULL };
	const int none[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = environ,
				  .fds = none,
				  .nfds = 3,
				  .session = true };
	struct proc_tree tree = { .marker = "M_ARK=1" };
	struct error err = { 0 };
	int status;

	(void)state;
	assert_int_equal(proc_spawn(&spec, &tree.root, &err), 0);
	assert_true(proc_started(tree.root) > 0);
	usleep(300000);
	/* sh, its sleep, and the marked ones that left the session. */
	assert_int_equal(proc_tree_kill(&tree), 4);
	for (int i = 0; i < 100 && proc_tree_kill(&tree) > 0; i++)
		usleep(1000);
	assert_int_equal(proc_tree_kill(&tree), 0);
	assert_int_equal(waitpid(tree.root, &status, 0), tree.root);
	assert_int_equal(proc_exit_code(status), 137);
	assert_int_equal(proc_started(tree.root), 0);
	assert_true(proc_started(getpid()) > 0);
}

/* Makes pidfd_open() fail as on a kernel that does not have it. */
static bool deny_pidfds(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Returns 0, or the number of the step that failed. */
static int watch_a_child(void)
{
	struct error err = { 0 };
	struct pollfd p = { .events = POLLIN };
	int status = 0;
	pid_t child;

	if (!deny_pidfds() || syscall(SYS_pidfd_open, getpid(), 0) >= 0)
		return 1;
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	p.fd = proc_fd(child, &err);
	if (p.fd < 0 || poll(&p, 1, 50) != 0)
		return 2;
	kill(child, SIGTERM);
	if (poll(&p, 1, 10000) != 1)
		return 3;
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		return 4;
	return proc_fd(getppid(), &err) < 0 ? 0 : 5;
}

static void test_a_child_is_watched_on_a_kernel_without_pidfds(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(watch_a_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(proc_exit_code(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spawn),
		cmocka_unit_test(test_no_child_gets_a_relative_entry_of_path),
		cmocka_unit_test(test_a_relative_program_is_not_started),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_absolute_path),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(
			test_a_child_is_watched_on_a_kernel_without_pidfds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
