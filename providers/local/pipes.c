/* pipes.c - transfers a local command's input and output until it ends. */
/* SPDX-License-Identifier: MIT */
/*
 * Both local providers run a command as a process with three pipes. struct pump
 * transfers bytes between them and an exec_request, without a thread: begin
 * with pump_run(). pump_program() does all of it for a program of this machine;
 * box.c uses the pump for a command in a jail.
 *
 * A command may leave processes behind that still print. Nobody reads that, but
 * a full pipe would block them, so a thread, the pipe reaper, reads and drops
 * it (the first part of the file).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/thread.h"
#include "providers/local/local.h"
#include "sandbox/shell.h"

void pipe_reaper_init(struct pipe_reaper *r)
{
	*r = (struct pipe_reaper){ .wake = { -1, -1 } };
	pthread_mutex_init(&r->lock, NULL);
}

/* Reads and drops the available bytes. False at the end of the file. */
static bool drain_pipe(int fd)
{
	char drop[16384];
	ssize_t n;

	do {
		n = read(fd, drop, sizeof(drop));
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

/* Handles an item whose descriptor is ready. False if it is done and must be
 * closed. */
static bool handle_item(const struct left_behind *item)
{
	if (!item->pid)
		return drain_pipe(item->fd);
	return waitpid(item->pid, NULL, WNOHANG) == 0;
}

/* Fills the poll set: entry 0 is the wake-up pipe, the items follow. Called
 * with the lock held. */
static struct pollfd *poll_set(const struct pipe_reaper *r, struct pollfd *set)
{
	set = xrealloc(set, r->n + 1, sizeof(*set));
	set[0] = (struct pollfd){ .fd = r->wake[0], .events = POLLIN };
	for (size_t i = 0; i < r->n; i++)
		set[i + 1] = (struct pollfd){ .fd = r->items[i].fd,
					      .events = POLLIN };
	return set;
}

/* Main function of the thread. Other threads only append items, so it removes
 * from the end. */
static void *reap_items(void *arg)
{
	struct pipe_reaper *r = arg;
	struct pollfd *set = NULL;
	char drop[64];

	pthread_mutex_lock(&r->lock);
	while (!r->leaving) {
		size_t n = r->n;

		set = poll_set(r, set);
		pthread_mutex_unlock(&r->lock);
		poll(set, n + 1, -1);
		while (io_read(r->wake[0], drop, sizeof(drop)) > 0)
			;
		pthread_mutex_lock(&r->lock);
		for (size_t i = n; i-- > 0;) { /* other threads only append */
			if (!set[i + 1].revents || handle_item(&r->items[i]))
				continue;
			close(r->items[i].fd);
			r->items[i] = r->items[--r->n];
		}
	}
	pthread_mutex_unlock(&r->lock);
	free(set);
	return NULL;
}

/* Called with the lock held. */
static bool start_thread(struct pipe_reaper *r)
{
	struct error ignored = { 0 };

	if (pipe2(r->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	r->running = thread_start(&r->thread, reap_items, r, &ignored) == 0;
	if (!r->running)
		for (int i = 0; i < 2; i++)
			close(r->wake[i]);
	return r->running;
}

/* Adds an item for the thread. If the thread cannot be started, the descriptor
 * is closed, and SIGPIPE ends processes that still print. */
static void add_item(struct pipe_reaper *r, struct left_behind item)
{
	pthread_mutex_lock(&r->lock);
	if (r->running || start_thread(r)) {
		r->items = xrealloc(r->items, r->n + 1, sizeof(*r->items));
		r->items[r->n++] = item;
		(void)!io_write(r->wake[1], "x", 1);
	} else {
		close(item.fd);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Takes ownership of the descriptor. */
static void pipe_reaper_drain(struct pipe_reaper *r, int fd)
{
	add_item(r, (struct left_behind){ .fd = fd });
}

void pipe_reaper_reap(struct pipe_reaper *r, pid_t pid)
{
	struct error ignored = { 0 };
	int fd;

	if (waitpid(pid, NULL, WNOHANG) != 0)
		return;
	fd = proc_fd(pid, &ignored);
	if (fd >= 0)
		add_item(r, (struct left_behind){ .fd = fd, .pid = pid });
}

void pipe_reaper_release(struct pipe_reaper *r)
{
	if (r->running) {
		pthread_mutex_lock(&r->lock);
		r->leaving = true;
		(void)!io_write(r->wake[1], "x", 1);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
		close(r->wake[0]);
		close(r->wake[1]);
	}
	for (size_t i = 0; i < r->n; i++) {
		if (r->items[i].pid)
			waitpid(r->items[i].pid, NULL, WNOHANG);
		close(r->items[i].fd);
	}
	free(r->items);
	pthread_mutex_destroy(&r->lock);
}

enum {
	CHUNK = 32 << 10,       /* bytes per read */
	SOURCE = 64 << 10,      /* bytes per call of exec_request.source */
	PENDING_MAX = 64 << 20, /* bytes of replies not yet written */
	KILL_MS = 2000,
};

/* Indexes of the poll set. */
enum { AT_STOP, AT_DONE, AT_OUT, AT_ERR, AT_IN, AT_COUNT };

/* Creates a pipe whose end fd[ours] is non-blocking. */
static int open_pipe(int fd[2], int ours, struct error *err)
{
	if (pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "creating a pipe");
	(void)fcntl(fd[ours], F_SETFL, O_NONBLOCK);
	return 0;
}

static int open_terminal(struct pump *p, struct error *err)
{
	if (shell_open_pty(p->req->terminal, &p->pty, &p->theirs[0], err) < 0)
		return -1;
	for (int i = 1; i < 3; i++)
		p->theirs[i] = fcntl(p->theirs[0], F_DUPFD_CLOEXEC, 0);
	return p->theirs[1] < 0 || p->theirs[2] < 0
		       ? error_errno(err, "making a terminal")
		       : 0;
}

int pump_open(struct pump *p, const struct exec_request *req, struct error *err)
{
	int fd[2];

	*p = (struct pump){ .theirs = { -1, -1, -1 },
			    .in = -1,
			    .out = { -1, -1 },
			    .pty = -1,
			    .req = req,
			    .dry = !req->source,
			    .pending = BUF_INIT(PENDING_MAX) };
	if (req->command.len &&
	    memchr(req->command.ptr, '\0', req->command.len))
		return error_set(err, ERR_USAGE,
				 "the command contains a NUL byte");
	if (req->terminal)
		return open_terminal(p, err);
	if (req->input.len || req->dialog || req->source) {
		if (open_pipe(fd, 1, err) < 0)
			return -1;
		p->theirs[0] = fd[0];
		p->in = fd[1];
	}
	for (int i = 0; i < (req->merged ? 1 : 2); i++) {
		if (open_pipe(fd, 0, err) < 0)
			return -1;
		p->out[i] = fd[0];
		p->theirs[i + 1] = fd[1];
	}
	if (!req->merged)
		return 0;
	p->theirs[2] = fcntl(p->theirs[1], F_DUPFD_CLOEXEC, 0);
	return p->theirs[2] < 0 ? error_errno(err, "creating a pipe") : 0;
}

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void pump_close_theirs(struct pump *p)
{
	for (int i = 0; i < 3; i++)
		close_fd(&p->theirs[i]);
}

/* True if there is input to write, or there may be later. */
static bool may_have_input(const struct pump *p)
{
	return p->in >= 0 &&
	       (p->sent < p->req->input.len || p->pending.len > 0 || !p->dry);
}

/* Reads the next piece of req->source when the previous one is written. */
static int read_source(struct pump *p, struct error *err)
{
	char *room;
	int64_t n;

	if (p->dry || p->pending.len)
		return 0;
	room = buf_room(&p->pending, SOURCE);
	n = p->req->source(p->req->source_arg, room, SOURCE, err);
	if (n < 0)
		return -1;
	p->dry = n == 0;
	buf_added(&p->pending, (size_t)n);
	return 0;
}

/* Writes some of the pending input. EPIPE means that the command no longer
 * reads; dcode ignores SIGPIPE. */
static int write_input(struct pump *p, struct error *err)
{
	bool input = p->sent < p->req->input.len;
	struct str left;
	ssize_t n;

	if (read_source(p, err) < 0)
		return -1;
	left = buf_str(&p->pending);
	if (input)
		left = (struct str){ p->req->input.ptr + p->sent,
				     p->req->input.len - p->sent };
	n = left.len ? write(p->in, left.ptr, left.len) : 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close_fd(&p->in);
		return 0;
	}
	if (n > 0 && input)
		p->sent += (size_t)n;
	else if (n > 0)
		buf_consume(&p->pending, (size_t)n);
	if (!p->req->dialog && !may_have_input(p))
		close_fd(&p->in);
	return 0;
}

/* Passes on output i (0: stdout, 1: stderr). */
static int pass_output(struct pump *p, int i, struct str chunk,
		       struct error *err)
{
	const struct exec_request *req = p->req;

	if (!req->output)
		return 0;
	if (req->output(req->arg, i ? EXEC_STDERR : EXEC_STDOUT, chunk,
			req->dialog ? &p->pending : NULL, err) < 0)
		return -1;
	return buf_check(&p->pending, "unread input of the command", err);
}

/* Reads at most max bytes. *got is how many were read; 0 if none are
 * available. */
static int read_output(struct pump *p, int i, size_t max, size_t *got,
		       struct error *err)
{
	char room[CHUNK];
	ssize_t n = io_read(p->out[i], room, max < CHUNK ? max : CHUNK);

	*got = 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_fd(&p->out[i]);
		return 0;
	}
	*got = (size_t)n;
	return pass_output(p, i, (struct str){ room, (size_t)n }, err);
}

/* Calls p->late when it is due. Returns how many ms remain until then, or -1 if
 * p->late is not set or was called. */
static int late_ms(struct pump *p)
{
	int64_t left = p->late_at - clock_ms();

	if (p->late && left <= 0) {
		p->late(p->late_arg);
		p->late = NULL;
	}
	return p->late ? (int)left : -1;
}

/* Polls once and handles the events. Output is read before the end is reported,
 * and a cancel takes precedence over the time limit. *more: call again. */
static enum pump_end move_bytes(struct pump *p, int done,
				const struct stop *stop,
				const struct stop *limit, bool *more,
				struct error *err)
{
	struct pollfd set[AT_COUNT] = {
		[AT_STOP] = { .fd = stop_fd(stop), .events = POLLIN },
		[AT_DONE] = { .fd = done, .events = POLLIN },
		[AT_OUT] = { .fd = p->out[0], .events = POLLIN },
		[AT_ERR] = { .fd = p->out[1], .events = POLLIN },
		[AT_IN] = { .fd = may_have_input(p) ? p->in : -1,
			    .events = POLLOUT },
	};
	size_t got;

	*more = false;
	if (poll(set, AT_COUNT, stop_poll_ms(limit, late_ms(p))) < 0 &&
	    errno != EINTR) {
		error_errno(err, "waiting for the command");
		return PUMP_FAILED;
	}
	if (set[AT_STOP].revents && stop_check(stop, err) < 0)
		return PUMP_FAILED;
	for (int i = 0; i < 2; i++)
		if (set[AT_OUT + i].revents &&
		    read_output(p, i, CHUNK, &got, err) < 0)
			return PUMP_FAILED;
	if (set[AT_DONE].revents)
		return PUMP_ENDED;
	if (set[AT_IN].revents && write_input(p, err) < 0)
		return PUMP_FAILED;
	if (limit->deadline != INT64_MAX && clock_ms() >= limit->deadline)
		return stop_check(stop, err) < 0 ? PUMP_FAILED : PUMP_TIMEOUT;
	*more = true;
	return PUMP_ENDED;
}

enum pump_end pump_run(struct pump *p, int done, const struct stop *stop,
		       struct error *err)
{
	struct stop limit = *stop;
	bool more = true;
	enum pump_end end = PUMP_ENDED;

	if (p->pty >= 0) {
		if (p->late)
			p->late(p->late_arg);
		p->late = NULL;
		return shell_follow(p->pty, done, p->req, stop, err) < 0
			       ? PUMP_FAILED
			       : PUMP_ENDED;
	}
	if (p->req->timeout_ms > 0)
		limit = stop_within(stop, p->req->timeout_ms);
	while (more)
		end = move_bytes(p, done, stop, &limit, &more, err);
	return end;
}

int pump_rest(struct pump *p, struct error *err)
{
	for (int i = 0; i < 2; i++) {
		int left = 0;
		size_t got = 1;

		if (p->out[i] < 0)
			continue;
		/* Read only what is in the pipe now: later output comes from
		 * background processes. */
		if (ioctl(p->out[i], FIONREAD, &left) < 0)
			left = 0;
		while (left > 0 && got > 0 && p->out[i] >= 0) {
			if (read_output(p, i, (size_t)left, &got, err) < 0)
				return -1;
			left -= (int)got;
		}
	}
	return 0;
}

void pump_release(struct pump *p, struct pipe_reaper *reaper)
{
	for (int i = 0; i < 2; i++) {
		struct pollfd set = { .fd = p->out[i], .events = POLLIN };
		bool ended;

		if (p->out[i] < 0)
			continue;
		ended = io_poll(&set, 1, 0) > 0 && !(set.revents & POLLIN);
		if (!ended)
			pipe_reaper_drain(reaper, p->out[i]);
		else
			close(p->out[i]);
	}
	close_fd(&p->in);
	close_fd(&p->pty);
	pump_close_theirs(p);
	buf_release(&p->pending);
}

/* A program that runs. */
struct program_run {
	struct kill kill;
	struct pump pump;
	struct pipe_reaper *reaper;
	char *marker; /* owned; value of DCODE_EXEC, or NULL */
	pid_t pid;
	int fd; /* readable when the program has ended; or -1 */
	int exit_code;
	void (*ended)(void *arg, const char *marker);
	void *arg;
};

/* Reaps the program and sets its exit status: -1 if SIGKILL did not end it (it
 * hangs in the kernel), and then the reaper waits for it. */
static void reap_program(struct program_run *r)
{
	struct pollfd set = { .fd = r->fd, .events = POLLIN };
	int status = 0;

	if (io_poll(&set, 1, KILL_MS) <= 0) {
		pipe_reaper_reap(r->reaper, r->pid);
		r->exit_code = -1;
		return;
	}
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	r->exit_code = proc_exit_code(status);
}

/* Implements kill.run: kills the program's processes until none is left, for at
 * most 2 s. */
static void kill_program(struct kill *k)
{
	struct program_run *r = (struct program_run *)k;
	struct proc_tree tree = { .root = r->pid, .marker = r->marker };
	struct stop own = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };

	while (proc_tree_kill(&tree) > 0 && stop_sleep(&own, 1, &ignored) == 0)
		;
	reap_program(r);
}

static void free_run(struct kill *k)
{
	struct program_run *r = (struct program_run *)k;

	close_fd(&r->fd);
	pump_release(&r->pump, r->reaper);
	if (r->ended)
		r->ended(r->arg, r->marker);
	free(r->marker);
	free(r);
}

/* Transfers input and output until the program ends or must be killed. */
static int follow_program(struct program_run *r, struct sandbox *sb,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	enum pump_end end = PUMP_FAILED;

	r->fd = proc_fd(r->pid, err);
	if (r->fd >= 0)
		end = pump_run(&r->pump, r->fd, stop, err);
	if (end == PUMP_ENDED)
		reap_program(r);
	else if (sandbox_kill(sb, &r->kill, stop, err) < 0)
		return -1;
	res->exit_code = r->exit_code;
	if (end == PUMP_FAILED)
		return -1;
	if (end == PUMP_TIMEOUT) {
		res->exit_code = 124;
		res->timed_out = true;
	}
	return pump_rest(&r->pump, err);
}

int pump_program(const struct pump_program *program,
		 const struct exec_request *req, struct exec_result *res,
		 const struct stop *stop, struct error *err)
{
	struct program_run *r = xcalloc(1, sizeof(*r));
	struct proc_spec spec = program->spec;
	int rc;

	*r = (struct program_run){
		.kill = { .run = kill_program, .release = free_run },
		.reaper = program->reaper,
		.marker = program->marker ? xstrdup(program->marker) : NULL,
		.fd = -1,
		.ended = program->ended,
		.arg = program->arg,
	};
	*res = (struct exec_result){ .exit_code = -1 };
	rc = pump_open(&r->pump, req, err);
	spec.fds = r->pump.theirs;
	spec.nfds = 3;
	if (rc == 0)
		rc = proc_spawn(&spec, &r->pid, err);
	pump_close_theirs(&r->pump);
	if (rc == 0 && program->started)
		program->started(r->arg, r->marker, r->pid);
	if (rc == 0)
		rc = follow_program(r, program->sb, res, stop, err);
	kill_drop(&r->kill);
	return rc;
}
