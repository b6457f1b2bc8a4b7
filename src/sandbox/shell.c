/* shell.c - commands with a terminal, for sandbox_ops.shell. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	CHUNK = 16 << 10,
	INPUT_MAX = 1 << 20,
	QUIET_MS = 100, /* at the end, stop reading after this silence */
	DRAIN_MS = 1000,
	HANG_UP_MS = 1000, /* after SIGHUP, before SIGKILL */
};

struct follow {
	int pty;
	const struct exec_request *req;
	struct buf input; /* not yet written */
	bool dry;         /* the source is at its end */
	bool closed;      /* nothing has the terminal open any more */
};

static void set_size(int pty, const struct exec_terminal *size)
{
	struct winsize w = { .ws_row = (unsigned short)size->rows,
			     .ws_col = (unsigned short)size->columns };

	(void)ioctl(pty, TIOCSWINSZ, &w);
}

int shell_open_pty(const struct exec_terminal *size, int *ours, int *theirs,
		   struct error *err)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	*theirs = -1;
	if (fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0)
		*theirs = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*theirs < 0) {
		error_errno(err, "making a terminal");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	set_size(fd, size);
	*ours = fd;
	return 0;
}

/* Passes on what the terminal shows. Returns 1 if there was something. */
static int pass_output(struct follow *f, struct error *err)
{
	char room[CHUNK];
	ssize_t n = io_read(f->pty, room, sizeof(room));

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) { /* EIO */
		f->closed = true;
		return 0;
	}
	return f->req->output(f->req->arg, EXEC_STDOUT,
			      (struct str){ room, (size_t)n }, NULL, err) < 0
		       ? -1
		       : 1;
}

static int read_source(struct follow *f, struct error *err)
{
	char *room = buf_room(&f->input, CHUNK);
	int64_t n = f->req->source(f->req->source_arg, room, CHUNK, err);

	if (n == EXEC_LATER)
		n = 0;
	else if (n < 0)
		return -1;
	else
		f->dry = n == 0;
	buf_added(&f->input, (size_t)n);
	if (f->req->terminal->resized) {
		f->req->terminal->resized = false;
		set_size(f->pty, f->req->terminal);
	}
	return 0;
}

static void write_input(struct follow *f)
{
	ssize_t n = io_write(f->pty, f->input.ptr, f->input.len);

	if (n > 0)
		buf_consume(&f->input, (size_t)n);
	else if (n < 0 && errno != EAGAIN)
		buf_clear(&f->input);
}

/* Waits once and copies. Returns 1 when done is readable. */
static int copy_some(struct follow *f, int done, const struct stop *stop,
		     struct error *err)
{
	struct pollfd set[4] = {
		{ .fd = stop_fd(stop), .events = POLLIN },
		{ .fd = done, .events = POLLIN },
		{ .fd = f->closed ? -1 : f->pty,
		  .events = (short)(POLLIN | (f->input.len ? POLLOUT : 0)) },
		{ .fd = f->dry || f->input.len ? -1 : f->req->source_fd,
		  .events = POLLIN },
	};

	if (io_poll(set, 4, stop_poll_ms(stop, -1)) < 0)
		return error_errno(err, "waiting for the terminal");
	if (stop_check(stop, err) < 0)
		return -1;
	if (set[2].revents && pass_output(f, err) < 0)
		return -1;
	if (set[2].revents & POLLOUT)
		write_input(f);
	if (set[3].revents && read_source(f, err) < 0)
		return -1;
	return set[1].revents != 0;
}

/* Passes on what the command has printed, without waiting for processes that
 * still have the terminal open. */
static int drain_output(struct follow *f, struct error *err)
{
	int64_t end = clock_ms() + DRAIN_MS;
	int got = 1;

	while (got >= 0 && !f->closed && clock_ms() < end) {
		struct pollfd set = { .fd = f->pty, .events = POLLIN };

		if (!got && io_poll(&set, 1, QUIET_MS) <= 0)
			return 0;
		got = pass_output(f, err);
	}
	return got < 0 ? -1 : 0;
}

int shell_follow(int pty, int done, const struct exec_request *req,
		 const struct stop *stop, struct error *err)
{
	struct follow f = { .pty = pty,
			    .req = req,
			    .input = BUF_INIT(INPUT_MAX) };
	int rc;

	do {
		rc = copy_some(&f, done, stop, err);
	} while (rc == 0);
	if (rc > 0)
		rc = drain_output(&f, err);
	buf_release(&f.input);
	return rc;
}

/* Reaps the program. Before that, ends it if it still runs: the terminal's end
 * has sent SIGHUP. */
static int end_program(pid_t pid, int done)
{
	struct pollfd set = { .fd = done, .events = POLLIN };
	int status = 0;

	if (done < 0 || io_poll(&set, 1, HANG_UP_MS) <= 0)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return proc_exit_code(status);
}

int shell_run_program(const struct proc_spec *program,
		      const struct exec_request *req, struct exec_result *res,
		      const struct stop *stop, struct error *err)
{
	struct proc_spec spec = *program;
	int ours;
	int theirs;
	int fds[3];
	int done;
	pid_t pid;
	int rc;

	if (shell_open_pty(req->terminal, &ours, &theirs, err) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		fds[i] = theirs;
	spec.fds = fds;
	spec.nfds = 3;
	spec.session = spec.terminal = true;
	rc = proc_spawn_bound(&spec, &pid, err);
	close(theirs);
	if (rc < 0) {
		close(ours);
		return -1;
	}
	done = proc_fd(pid, err);
	rc = done < 0 ? -1 : shell_follow(ours, done, req, stop, err);
	close(ours);
	res->exit_code = end_program(pid, done);
	if (done >= 0)
		close(done);
	return rc;
}
