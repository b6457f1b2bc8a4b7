/* process.c - programs of hooks, side by side, each to its end. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "hooks/hooks_impl.h"

enum { KILL_PASSES = 20, FDS = 4 };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int make_pipe(int ours_end, int fd[2], struct error *err)
{
	if (pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "starting a hook");
	(void)fcntl(fd[ours_end], F_SETFL, O_NONBLOCK);
	return 0;
}

static int start(struct hook_process *p, struct error *err)
{
	int in[2] = { -1, -1 };
	int out[2] = { -1, -1 };
	int said[2] = { -1, -1 };
	int rc = -1;

	if (make_pipe(1, in, err) == 0 && make_pipe(0, out, err) == 0 &&
	    make_pipe(0, said, err) == 0) {
		int fds[] = { in[0], out[1], said[1] };
		struct proc_spec spec = {
			.path = p->program,
			.argv = p->argv,
			.env = p->env,
			.cwd = p->cwd,
			.fds = fds,
			.nfds = 3,
			.session = true,
			.core = true,
		};

		rc = proc_spawn(&spec, &p->pid, err);
	}
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&said[1]);
	p->in_fd = in[1];
	p->out_fd = out[0];
	p->err_fd = said[0];
	return rc;
}

static void close_all(struct hook_process *p)
{
	close_fd(&p->in_fd);
	close_fd(&p->out_fd);
	close_fd(&p->err_fd);
	close_fd(&p->pid_fd);
	p->ended = true;
}

static void begin(struct hook_process *p)
{
	p->pid_fd = p->in_fd = p->out_fd = p->err_fd = -1;
	p->out = BUF_INIT(HOOK_OUTPUT_MAX);
	p->err = BUF_INIT(HOOK_OUTPUT_MAX);
	p->deadline = clock_ms() + p->handler->timeout_ms;
	if (!p->program)
		error_set(&p->failed, ERR_NOT_FOUND, "there is no %s",
			  p->handler->argv[0]);
	else if (start(p, &p->failed) == 0)
		p->pid_fd = proc_fd(p->pid, &p->failed);
	if (p->failed.code && !p->pid)
		close_all(p);
}

/* Its descendants, also those that left its group; it is not reaped yet. */
static void kill_tree(const struct hook_process *p)
{
	const struct proc_tree tree = { .root = p->pid };

	for (int i = 0; i < KILL_PASSES; i++) {
		if (proc_tree_kill(&tree) <= 0)
			break;
		(void)poll(NULL, 0, 1);
	}
	(void)kill(-p->pid, SIGKILL);
	(void)kill(p->pid, SIGKILL);
}

/* False at the end of the stream. */
static bool read_some(int fd, struct buf *out)
{
	char chunk[8192];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n > 0)
		buf_add(out, chunk, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* All that is there; what a program in the background may still write is not
 * waited for. */
static void drain(int fd, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t most = 64;

	while (fd >= 0 && most-- && poll(&p, 1, 0) > 0 && read_some(fd, out))
		;
}

static void finish(struct hook_process *p)
{
	int status = 0;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->status = proc_exit_code(status);
	drain(p->out_fd, &p->out);
	drain(p->err_fd, &p->err);
	close_all(p);
}

static void write_input(struct hook_process *p)
{
	struct str rest = str_skip(p->input, p->written);
	ssize_t n = rest.len ? write(p->in_fd, rest.ptr, rest.len) : 0;

	if (n > 0)
		p->written += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    p->written == p->input.len)
		close_fd(&p->in_fd);
}

static void handle(struct hook_process *p, const struct pollfd *fds)
{
	if (fds[0].revents)
		write_input(p);
	if (fds[1].revents && !read_some(p->out_fd, &p->out))
		close_fd(&p->out_fd);
	if (fds[2].revents && !read_some(p->err_fd, &p->err))
		close_fd(&p->err_fd);
	if (fds[3].revents) {
		finish(p);
	} else if (clock_ms() >= p->deadline) {
		p->timed_out = true;
		kill_tree(p);
		finish(p);
	}
}

/* Fills fds for those that run; returns ms until the next deadline, or -1 when
 * none runs. */
static int prepare(struct hook_process *list, size_t n, struct pollfd *fds)
{
	int64_t now = clock_ms();
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		struct hook_process *p = &list[i];
		struct pollfd *f = &fds[i * FDS];

		f[0] = (struct pollfd){ .fd = p->in_fd, .events = POLLOUT };
		f[1] = (struct pollfd){ .fd = p->out_fd, .events = POLLIN };
		f[2] = (struct pollfd){ .fd = p->err_fd, .events = POLLIN };
		f[3] = (struct pollfd){ .fd = p->pid_fd, .events = POLLIN };
		if (!p->ended && p->deadline < next)
			next = p->deadline;
	}
	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : (int)(next - now);
}

int hook_processes_run(struct hook_process *list, size_t n,
		       const struct stop *stop, struct error *err)
{
	struct pollfd *fds = xcalloc(n * FDS + 1, sizeof(*fds));
	int rc = 0;
	int ms;

	for (size_t i = 0; i < n; i++)
		begin(&list[i]);
	while (rc == 0 && (ms = prepare(list, n, fds)) >= 0) {
		fds[n * FDS] = (struct pollfd){ .fd = stop_fd(stop),
						.events = POLLIN };
		(void)poll(fds, n * FDS + 1, stop_poll_ms(stop, ms));
		rc = stop_check(stop, err);
		for (size_t i = 0; rc == 0 && i < n; i++)
			if (!list[i].ended)
				handle(&list[i], &fds[i * FDS]);
	}
	for (size_t i = 0; i < n; i++)
		if (!list[i].ended) {
			kill_tree(&list[i]);
			finish(&list[i]);
		}
	free(fds);
	return rc;
}
