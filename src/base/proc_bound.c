/* proc_bound.c - a child process that does not outlive its parent. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"

enum { NOT_STARTED = 127, FDS_TRIED = 4096 };

#define TO_THE_LAST (~0U)
#define ON_EXEC 4U /* CLOSE_RANGE_CLOEXEC of Linux 5.11 */

/* Before exec only what is safe after fork() in a program with threads. */
static void default_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			(void)sigaction(i, &plain, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* First all out of the way of the targets, then each to its own. */
static int place_fds(const struct proc_spec *spec)
{
	int moved[PROC_FDS_MAX];

	for (size_t i = 0; i < spec->nfds; i++) {
		int from = spec->fds[i];

		moved[i] =
			from < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : from;
		if (moved[i] >= 0)
			moved[i] =
				fcntl(moved[i], F_DUPFD_CLOEXEC, PROC_FDS_MAX);
		if (moved[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < spec->nfds; i++)
		if (dup2(moved[i], (int)i) < 0)
			return -1;
	return 0;
}

/* Those that somebody opened without close-on-exec. */
static void close_others(unsigned from)
{
	if (syscall(SYS_close_range, from, TO_THE_LAST, ON_EXEC) == 0)
		return;
	for (int fd = (int)from; fd < FDS_TRIED; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void run_child(const struct proc_spec *spec, char *const *env,
		      pid_t parent, int report)
{
	struct rlimit most = { spec->data_max, spec->data_max };
	int number;

	report = fcntl(report, F_DUPFD_CLOEXEC, PROC_FDS_MAX);
	/* The parent may have ended before the kernel knew of it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(NOT_STARTED);
	if (spec->data_max)
		(void)setrlimit(RLIMIT_DATA, &most);
	if (spec->umask_077)
		(void)umask(077);
	default_signals();
	close_others((unsigned)spec->nfds);
	if ((!spec->session || setsid() >= 0) && place_fds(spec) == 0 &&
	    chdir(spec->cwd ? spec->cwd : "/") == 0)
		execve(spec->path, spec->argv, env);
	number = errno;
	(void)!io_write(report, &number, sizeof(number));
	_exit(NOT_STARTED);
}

int proc_spawn_bound(const struct proc_spec *spec, pid_t *pid,
		     struct error *err)
{
	pid_t parent = getpid();
	char **cleaned;
	int report[2];
	int number = 0;
	ssize_t n;

	if (spec->nfds > PROC_FDS_MAX)
		return error_set(err, ERR_SYSTEM, "too many descriptors");
	if (spec->path[0] != '/')
		return error_set(err, ERR_SYSTEM, "not an absolute path: %s",
				 spec->path);
	if (pipe2(report, O_CLOEXEC) < 0)
		return error_errno(err, "starting %s", spec->path);
	cleaned = proc_environ_absolute(spec->env);
	*pid = fork();
	if (*pid == 0)
		run_child(spec, cleaned ? cleaned : spec->env, parent,
			  report[1]);
	proc_environ_release(cleaned, spec->env);
	close(report[1]);
	if (*pid < 0) {
		close(report[0]);
		return error_errno(err, "starting %s", spec->path);
	}
	/* Its end is that of the pipe, which exec closes. */
	while ((n = read(report[0], &number, sizeof(number))) < 0 &&
	       errno == EINTR)
		;
	close(report[0]);
	if (n != sizeof(number))
		return 0;
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	errno = number;
	return error_errno(err, "starting %s", spec->path);
}
