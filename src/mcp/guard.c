/* guard.c - the process between dcode and a server that it started. */
/* SPDX-License-Identifier: MIT */
#include "mcp/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

enum { KILL_MS = 5000, NOT_STARTED = 127 };

extern char **environ;

/* Closes the guard's own copies of the program's pipes. Otherwise dcode would
 * not notice when the program closes its output. */
static void close_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < MCP_GUARD_FD; i++)
		if (null >= 0)
			(void)dup2(null, i);
}

/* Waits until the program has ended and returns its exit status. Returns -1
 * when the socket to dcode is closed: the program must be killed. */
static int wait_for_end(pid_t program, int ended)
{
	struct pollfd set[2] = { { .fd = MCP_GUARD_FD, .events = POLLIN },
				 { .fd = ended, .events = POLLIN } };
	int status;
	char order;

	for (;;) {
		if (poll(set, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (set[1].revents && waitpid(program, &status, WNOHANG) > 0)
			return proc_exit_code(status);
		if (!set[0].revents)
			continue;
		if (recv(MCP_GUARD_FD, &order, 1, MSG_DONTWAIT) <= 0)
			return -1;
		(void)kill(-program, SIGTERM);
	}
}

int mcp_guard_main(int argc, char **argv)
{
	static const int fds[] = { 0, 1, 2 };
	struct error err = { 0 };
	struct proc_spec spec = { .cwd = ".", /* dcode started the guard in
					       * the right directory */
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	pid_t program;
	int status = -1;
	int ended;

	if (argc < 4 || fcntl(MCP_GUARD_FD, F_SETFD, FD_CLOEXEC) < 0)
		return 2; /* not started by dcode */
	spec.path = argv[2];
	spec.argv = argv + 3;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (proc_spawn_bound(&spec, &program, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		_exit(NOT_STARTED);
	}
	ended = proc_fd(program, &err);
	close_pipes();
	if (ended >= 0)
		status = wait_for_end(program, ended);
	(void)proc_kill_below(KILL_MS);
	_exit(status < 0 ? 128 + SIGKILL : status);
}
