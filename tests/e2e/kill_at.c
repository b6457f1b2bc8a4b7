/* kill_at.c - runs a program and kills it before its n-th system call. */
/* SPDX-License-Identifier: MIT */

/*
 * kill_at N COUNT_FILE PROGRAM ARGUMENT...
 *
 * Counts the calls, of all threads together, that change something outside
 * the process or wait for what it asked for (those that wait one after another
 * are one, for a busy machine makes more of them); before the N-th the program
 * gets SIGKILL (N = 0: never). The number seen goes to COUNT_FILE. What the
 * program spawned is not followed. The exit status is the program's, 137 when
 * killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int waits(long call)
{
#ifdef SYS_poll
	if (call == SYS_poll)
		return 1;
#endif
	return call == SYS_ppoll;
}

static int counts(pid_t pid)
{
	static long last;
	static const long calls[] = {
		SYS_write,     SYS_writev,  SYS_pwrite64, SYS_sendto,
		SYS_sendmsg,   SYS_connect, SYS_fsync,    SYS_fdatasync,
		SYS_ftruncate, SYS_mkdirat, SYS_renameat, SYS_renameat2,
		SYS_unlinkat,  SYS_linkat,  SYS_clone,    SYS_clone3,
		SYS_shutdown,  SYS_ppoll,   SYS_fchmod,   SYS_exit_group,
		SYS_syncfs,
#ifdef SYS_mkdir
		SYS_mkdir,     SYS_rename,  SYS_unlink,   SYS_rmdir,
		SYS_vfork,     SYS_fork,    SYS_poll,
#endif
	};
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return 0;
	if (info.entry.nr == SYS_openat)
		return (info.entry.args[2] & O_CREAT) != 0;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		long before = last;

		if ((long)info.entry.nr != calls[i])
			continue;
		last = calls[i];
		return !waits(last) || !waits(before);
	}
	return 0;
}

static void let_go(pid_t pid, int sig)
{
	/* A thread that has ended meanwhile is no failure. */
	(void)ptrace(PTRACE_SYSCALL, pid, 0, sig);
}

/* What a stop that is no system call hands on to the program. */
static int signal_of(int status)
{
	int sig = WSTOPSIG(status);

	if (status >> 16 || sig == SIGTRAP || sig == SIGSTOP)
		return 0;
	return sig;
}

static void note(const char *path, long seen)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fprintf(f, "%ld\n", seen);
		fclose(f);
	}
}

static int follow(pid_t child, long n, const char *file)
{
	long seen = 0;
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return 1;
		if (WIFSTOPPED(status)) {
			int is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);

			if (is_call && counts(pid) && ++seen == n)
				kill(child, SIGKILL);
			let_go(pid, is_call ? 0 : signal_of(status));
		} else if (pid == child) {
			break;
		}
	}
	note(file, seen);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc < 4)
		return 2;
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 1;
	ptrace(PTRACE_SETOPTIONS, child, 0,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	let_go(child, 0);
	return follow(child, strtol(argv[1], NULL, 10), argv[2]);
}
