/* proc_output.c - what a program of the user's prints, within a time. */
/* SPDX-License-Identifier: MIT */
#include "base/proc_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

enum { KILL_MS = 2000 };

/* Reads until the end of what it prints. */
static int read_all(int fd, struct buf *out, const struct stop *stop,
		    struct error *err)
{
	for (;;) {
		struct pollfd set[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};
		char room[4096];
		ssize_t n;

		if (stop_check(stop, err) < 0)
			return -1;
		if (poll(set, 2, stop_poll_ms(stop, -1)) <= 0 ||
		    !set[0].revents)
			continue;
		n = read(fd, room, sizeof(room));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? error_errno(err, "reading its output")
				     : buf_check(out, "its output", err);
		buf_add(out, room, (size_t)n);
		explicit_bzero(room, sizeof(room));
		if (out->over)
			return buf_check(out, "its output", err);
	}
}

/* Waits for the end of it, and of what it left behind when it has to end. */
static int reap(pid_t pid, bool stopped, const struct stop *stop,
		struct error *err)
{
	struct proc_tree tree = { .root = pid };
	struct stop own = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };
	int fd = proc_fd(pid, &ignored);
	struct pollfd set[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};
	int status = 0;

	while (!stopped && fd >= 0 && !set[0].revents) {
		stopped = stop_check(stop, err) < 0;
		if (!stopped)
			(void)poll(set, 2, stop_poll_ms(stop, -1));
	}
	while (stopped && proc_tree_kill(&tree) > 0 &&
	       stop_sleep(&own, 1, &ignored) == 0)
		;
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return stopped ? -1 : proc_exit_code(status);
}

int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err)
{
	int fds[2] = { -1, -1 };
	int used[] = { -1, -1, -1 };
	struct proc_spec spec = { .path = path,
				  .argv = argv,
				  .env = env,
				  .fds = used,
				  .nfds = 3,
				  .session = true };
	pid_t pid;
	int rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_errno(err, "a pipe");
	used[1] = fds[1];
	rc = proc_spawn(&spec, &pid, err);
	close(fds[1]);
	if (rc == 0)
		rc = reap(pid, read_all(fds[0], out, stop, err) < 0, stop, err);
	close(fds[0]);
	return rc;
}
