/* proc_run.c - programs of the user's, side by side, each to its end. */
/* SPDX-License-Identifier: MIT */
#include "base/proc_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

enum {
	KILL_PASSES = 20,
	REAP_MS = 2000, /* until a killed one is given up */
	REAP_STEP_MS = 5,
	FDS = 4,
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int make_pipe(int ours_end, int fd[2], struct error *err)
{
	if (pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "starting a program");
	(void)fcntl(fd[ours_end], F_SETFL, O_NONBLOCK);
	return 0;
}

static int start(struct proc_run *p, struct error *err)
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
			.core = p->core,
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

static void close_all(struct proc_run *p)
{
	close_fd(&p->in_fd);
	close_fd(&p->out_fd);
	close_fd(&p->err_fd);
	close_fd(&p->pid_fd);
	p->ended = true;
}

/* Its descendants, also those that left its group; it is not reaped yet. */
static void kill_tree(const struct proc_run *p)
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
	ssize_t n = io_read(fd, chunk, sizeof(chunk));

	if (n > 0) {
		buf_add(out, chunk, (size_t)n);
		explicit_bzero(chunk, (size_t)n); /* it may be a key */
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* All that is there; what a program in the background may still write is not
 * waited for. */
static void drain(int fd, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t most = 64;

	while (fd >= 0 && most-- && io_poll(&p, 1, 0) > 0 && read_some(fd, out))
		;
}

/* Not for longer than REAP_MS: SIGKILL does nothing to a program of another
 * user, and nothing yet to one in an uninterruptible wait; one that is traced
 * is not ours to reap before its tracer has. */
static bool reap(const struct proc_run *p, int *status)
{
	struct pollfd fd = { .fd = p->pid_fd, .events = POLLIN };
	int64_t until = clock_ms() + REAP_MS;
	pid_t found;

	(void)io_poll(&fd, fd.fd >= 0, REAP_MS);
	while ((found = waitpid(p->pid, status, WNOHANG)) != p->pid) {
		if ((found < 0 && errno != EINTR) || clock_ms() >= until)
			return false;
		(void)poll(NULL, 0, REAP_STEP_MS);
	}
	return true;
}

static void finish(struct proc_run *p)
{
	int status = SIGKILL; /* as waitpid has it */

	(void)reap(p, &status);
	p->status = proc_exit_code(status);
	drain(p->out_fd, &p->out);
	drain(p->err_fd, &p->err);
	close_all(p);
}

static void end_early(struct proc_run *p)
{
	kill_tree(p);
	finish(p);
}

static void begin(struct proc_run *p)
{
	p->pid_fd = p->in_fd = p->out_fd = p->err_fd = -1;
	p->deadline = p->ms ? clock_ms() + p->ms : INT64_MAX;
	if (p->program && start(p, &p->failed) == 0)
		p->pid_fd = proc_fd(p->pid, &p->failed);
	if (p->pid && p->pid_fd < 0)
		end_early(p);
	else if (!p->pid)
		close_all(p);
}

static void write_input(struct proc_run *p)
{
	struct str rest = str_skip(p->input, p->written);
	ssize_t n = rest.len ? write(p->in_fd, rest.ptr, rest.len) : 0;

	if (n > 0)
		p->written += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    p->written == p->input.len)
		close_fd(&p->in_fd);
}

static void handle(struct proc_run *p, const struct pollfd *fds)
{
	if (fds[0].revents)
		write_input(p);
	if (fds[1].revents && !read_some(p->out_fd, &p->out))
		close_fd(&p->out_fd);
	if (fds[2].revents && !read_some(p->err_fd, &p->err))
		close_fd(&p->err_fd);
	if (fds[3].revents) {
		finish(p);
	} else if (p->ends_over && p->out.over) {
		end_early(p);
	} else if (clock_ms() >= p->deadline) {
		p->timed_out = true;
		end_early(p);
	}
}

/* Fills fds for those that run; false when none does. *next: the nearest
 * deadline. */
static bool prepare(struct proc_run *const *list, size_t n, struct pollfd *fds,
		    int64_t *next)
{
	bool any = false;

	*next = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct proc_run *p = list[i];
		struct pollfd *f = &fds[i * FDS];

		f[0] = (struct pollfd){ .fd = p->in_fd, .events = POLLOUT };
		f[1] = (struct pollfd){ .fd = p->out_fd, .events = POLLIN };
		f[2] = (struct pollfd){ .fd = p->err_fd, .events = POLLIN };
		f[3] = (struct pollfd){ .fd = p->pid_fd, .events = POLLIN };
		any |= !p->ended;
		if (!p->ended && p->deadline < *next)
			*next = p->deadline;
	}
	return any;
}

static void wait_for(struct pollfd *fds, size_t n, int64_t next,
		     const struct stop *stop)
{
	struct stop own = { .deadline = next };

	fds[n++] = (struct pollfd){ .fd = stop_fd(stop), .events = POLLIN };
	(void)poll(fds, n, stop_poll_ms(stop, stop_poll_ms(&own, -1)));
}

int proc_run_all(struct proc_run *const *list, size_t n,
		 const struct stop *stop, struct error *err)
{
	struct pollfd *fds = xcalloc(n * FDS + 1, sizeof(*fds));
	int64_t next;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		begin(list[i]);
	while (rc == 0 && prepare(list, n, fds, &next)) {
		wait_for(fds, n * FDS, next, stop);
		rc = stop_check(stop, err);
		for (size_t i = 0; rc == 0 && i < n; i++)
			if (!list[i]->ended)
				handle(list[i], &fds[i * FDS]);
	}
	for (size_t i = 0; i < n; i++)
		if (!list[i]->ended)
			end_early(list[i]);
	free(fds);
	return rc;
}
