/* shell.c - commands with a terminal, for sandbox_ops.shell. */
/* SPDX-License-Identifier: MIT */
/*
 * Three ways: a program of this machine on a pseudo-terminal
 * (shell_run_program()), a vendor's terminal that a thread reaches
 * (shell_run_way()), and a terminal that a program in the sandbox makes
 * (shell_execute()), which works with every vendor that runs commands.
 */
#include "sandbox/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/quote.h"

enum {
	CHUNK = 16 << 10,
	INPUT_MAX = 1 << 20,
	QUIET_MS = 100, /* at the end, stop reading after this silence */
	DRAIN_MS = 1000,
	HANG_UP_MS = 1000, /* after SIGHUP, before SIGKILL */
	/* For a terminal that a program in the sandbox makes: */
	NONCE = 16,
	KEYS_MAX = 4096, /* bytes of keys in one command */
	SCRIPT_MAX = 64 << 10,
	SAID_MAX = 512,
	KEYS_MS = 10000, /* until the program must have taken the keys */
	CLEAN_MS = 5000,
	/* After a connection to a vendor's terminal was lost: */
	PAUSE_MS = 1000,
	PATIENCE_MS = 60000,
	STEADY_MS = 5000, /* a connection that lasts so long is a good one */
};

static const unsigned char shell_sh[] = {
#include "scripts/sandbox/shell.sh.inc"
};

struct follow {
	int pty;
	struct shell_link *link; /* NULL: pty is a pseudo-terminal */
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

static void pass_size(struct shell_link *l, const struct exec_terminal *size)
{
	pthread_mutex_lock(&l->lock);
	l->size = *size;
	cancel_trigger(&l->resized);
	pthread_mutex_unlock(&l->lock);
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
		if (f->link)
			pass_size(f->link, f->req->terminal);
		else
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

static int follow(struct follow *f, int done, const struct stop *stop,
		  struct error *err)
{
	int rc;

	f->input = BUF_INIT(INPUT_MAX);
	do {
		rc = copy_some(f, done, stop, err);
	} while (rc == 0);
	if (rc > 0)
		rc = drain_output(f, err);
	buf_release(&f->input);
	return rc;
}

int shell_follow(int pty, int done, const struct exec_request *req,
		 const struct stop *stop, struct error *err)
{
	struct follow f = { .pty = pty, .req = req };

	return follow(&f, done, stop, err);
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

/* A vendor's terminal. */

static int watch(int events, int fd, struct error *err)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(events, EPOLL_CTL_ADD, fd, &e) < 0
		       ? error_errno(err, "watching the terminal")
		       : 0;
}

static void release_link(struct shell_link *l)
{
	cancel_chain_release(&l->ended);
	cancel_release(&l->over);
	cancel_release(&l->resized);
	cancel_release(&l->done);
	if (l->events.fd[0] >= 0)
		close(l->events.fd[0]);
	if (l->theirs >= 0)
		close(l->theirs);
	pthread_mutex_destroy(&l->lock);
}

/* *ours: the caller's end of the socket pair. */
static int init_link(struct shell_link *l, int *ours, struct error *err)
{
	int pair[2];

	*ours = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return error_errno(err, "a socket pair");
	*ours = pair[0];
	l->theirs = pair[1];
	l->events.fd[0] = epoll_create1(EPOLL_CLOEXEC);
	if (cancel_init(&l->over, err) < 0 ||
	    cancel_init(&l->resized, err) < 0 ||
	    cancel_init(&l->done, err) < 0 ||
	    cancel_chain_init(&l->ended, &l->over, err) < 0 ||
	    watch(l->events.fd[0], l->theirs, err) < 0 ||
	    watch(l->events.fd[0], l->over.fd[0], err) < 0)
		return -1;
	return watch(l->events.fd[0], l->resized.fd[0], err);
}

static bool take_size(struct shell_link *l, struct exec_terminal *size)
{
	bool is_new;

	pthread_mutex_lock(&l->lock);
	is_new = cancel_triggered(&l->resized);
	if (is_new)
		cancel_reset(&l->resized);
	*size = l->size;
	pthread_mutex_unlock(&l->lock);
	return is_new;
}

/* Passes on keys and sizes until the shell has ended. Keys that cannot be sent
 * are lost, which is said. */
static void *send_keys(void *arg)
{
	struct shell_link *l = arg;
	const struct shell_way *way = l->way;
	struct stop stop = stop_on(&l->ended.cancel);
	struct error err = { 0 };

	while (cancel_await(&l->events, &stop, &err) == 0 &&
	       stop_check(&stop, &err) == 0) {
		struct stop limit = stop_within(&stop, KEYS_MS);
		struct exec_terminal size;
		char keys[KEYS_MAX];
		ssize_t n;
		int rc = 0;

		if (take_size(l, &size))
			(void)way->resize(way->arg, &size, &limit, &err);
		n = recv(l->theirs, keys, sizeof(keys), 0);
		if (n > 0)
			rc = way->send(way->arg,
				       (struct str){ keys, (size_t)n }, &limit,
				       &err);
		if (rc < 0 && err.code != ERR_CANCELLED)
			(void)shell_print(
				l, STR("\r\ndcode: keys were lost\r\n"), &err);
	}
	return NULL;
}

static void *run_way(void *arg)
{
	struct shell_link *l = arg;
	struct exec_terminal size = l->size;
	pthread_t keys;

	l->rc = thread_start(&keys, send_keys, l, l->err);
	if (l->rc == 0) {
		l->rc = l->way->run(l->way->arg, l, &size, l->res, l->err);
		cancel_trigger(&l->ended.cancel);
		pthread_join(keys, NULL);
	}
	(void)shutdown(l->theirs, SHUT_WR);
	cancel_trigger(&l->done);
	return NULL;
}

int shell_run_way(const struct shell_way *way, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	static const struct cancel none = { { -1, -1 } };
	struct error why = { 0 };
	struct shell_link l = { .over = none,
				.events = none,
				.theirs = -1,
				.resized = none,
				.done = none,
				.ended = { .cancel = none, .own = -1 },
				.lock = PTHREAD_MUTEX_INITIALIZER,
				.size = *req->terminal,
				.way = way,
				.res = res,
				.err = &why };
	struct follow f = { .req = req, .link = &l };
	pthread_t thread;
	int rc = init_link(&l, &f.pty, err);

	if (rc == 0)
		rc = thread_start(&thread, run_way, &l, err);
	if (rc == 0) {
		rc = follow(&f, l.done.fd[0], stop, err);
		cancel_trigger(&l.over);
		pthread_join(thread, NULL);
		if (rc == 0 && l.rc < 0) {
			*err = why;
			rc = -1;
		}
	}
	if (f.pty >= 0)
		close(f.pty);
	release_link(&l);
	return rc;
}

int shell_print(struct shell_link *link, struct str text, struct error *err)
{
	struct stop stop = stop_on(&link->over);

	return stop_send(&stop, link->theirs, text.ptr, text.len, err);
}

bool shell_retry(struct shell_retry *retry, struct shell_link *link,
		 struct error *err)
{
	struct stop stop = stop_on(&link->over);
	struct error ignored = { 0 };

	if (err->code != ERR_NETWORK && err->code != ERR_TIMEOUT &&
	    err->code != ERR_UNREACHABLE)
		return false;
	if (retry->connected && clock_ms() - retry->connected >= STEADY_MS)
		retry->since = 0;
	retry->connected = 0;
	if (!retry->since) {
		retry->since = clock_ms();
		(void)shell_print(link,
				  STR("\r\ndcode: the connection was lost; "
				      "connecting again\r\n"),
				  &ignored);
	} else if (clock_ms() - retry->since > PATIENCE_MS) {
		return false;
	}
	if (stop_sleep(&stop, PAUSE_MS, &ignored) < 0)
		return false;
	*err = (struct error){ 0 };
	return true;
}

/* A terminal that a program in the sandbox makes. */

struct inside {
	struct sandbox *sb;
	const struct exec_request *req;
	struct shell_link *link;
	char nonce[NONCE + 1]; /* names the directory with the FIFO */
	struct buf said;       /* what the script itself reports */
};

/* Begins a script: what it does, and where. */
static void begin_script(const struct inside *s, const char *verb,
			 struct buf *out)
{
	buf_addf(out, "s_do=%s\ns_nonce=%s\n", verb, s->nonce);
}

static void add_size(struct buf *out, const struct exec_terminal *size)
{
	buf_addf(out, "s_rows=%u\ns_columns=%u\n", size->rows, size->columns);
}

/* Runs the script, and releases it. Fails also if the script does: its FIFO is
 * gone, or nothing reads it any more. */
static int run_part(struct inside *s, struct buf *script,
		    const struct stop *stop, struct error *err)
{
	struct exec_request req = { .plain = true,
				    .timeout_ms = KEYS_MS,
				    .output = exec_collect_output };
	struct buf out = BUF_INIT(SAID_MAX);
	struct exec_result res;
	int rc;

	quote_script(script, SCRIPT(shell_sh));
	req.command = buf_str(script);
	req.arg = &out;
	rc = sandbox_execute(s->sb, &req, &res, stop, err);
	if (rc == 0 && res.exit_code > 0)
		rc = error_set(err, ERR_REMOTE,
			       "the terminal in the sandbox does not answer");
	buf_release(&out);
	buf_release(script);
	return rc;
}

/* Implements shell_way.send. */
static int send_inside(void *arg, struct str keys, const struct stop *stop,
		       struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);

	begin_script(arg, "keys", &script);
	(void)quote_content(&script, keys, false);
	return run_part(arg, &script, stop, err);
}

/* Implements shell_way.resize. */
static int resize_inside(void *arg, const struct exec_terminal *size,
			 const struct stop *stop, struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);

	begin_script(arg, "resize", &script);
	add_size(&script, size);
	return run_part(arg, &script, stop, err);
}

static int print_output(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err)
{
	struct inside *s = arg;

	(void)reply;
	if (stream == EXEC_STDOUT)
		return shell_print(s->link, chunk, err);
	if (s->said.len + chunk.len <= s->said.max)
		buf_addstr(&s->said, chunk);
	return 0;
}

/* Removes the FIFO after the script was killed. */
static void clean_up(struct inside *s)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct stop stop = stop_cleanup(CLEAN_MS);
	struct error ignored = { 0 };

	begin_script(s, "remove", &script);
	(void)run_part(s, &script, &stop, &ignored);
}

static int check_said(const struct inside *s, struct error *err)
{
	if (str_search(buf_str(&s->said), STR("dcode-no-terminal")) ==
	    s->said.len)
		return 0;
	error_set(err, ERR_USAGE,
		  "no program in the sandbox can make a terminal");
	return error_hint(err, "Install python3 or `script` (of util-linux) in "
			       "it. `dcode sandbox exec` runs single "
			       "commands.");
}

/* Implements shell_way.run. */
static int run_inside(void *arg, struct shell_link *link,
		      const struct exec_terminal *size, struct exec_result *res,
		      struct error *err)
{
	struct inside *s = arg;
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct stop stop = stop_on(&link->over);
	struct exec_request req = { .plain = true,
				    .live = true,
				    .env = s->req->env,
				    .output = print_output,
				    .arg = s };
	int rc;

	s->link = link;
	begin_script(s, "begin", &script);
	add_size(&script, size);
	quote_assign(&script, "s_command", s->req->command);
	quote_script(&script, SCRIPT(shell_sh));
	req.command = buf_str(&script);
	rc = sandbox_execute(s->sb, &req, res, &stop, err);
	if (rc < 0)
		clean_up(s);
	else
		rc = check_said(s, err);
	buf_release(&script);
	return rc;
}

bool shell_is_possible(const struct sandbox_client *client)
{
	return client->provider->ops->shell ||
	       ((client->provider->flags & SANDBOX_LIVE) &&
		!(client->lacks & SANDBOX_LIVE));
}

int shell_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	struct inside s = { .sb = sb, .req = req, .said = BUF_INIT(SAID_MAX) };
	const struct shell_way way = { .run = run_inside,
				       .send = send_inside,
				       .resize = resize_inside,
				       .arg = &s };
	int rc;

	if (sb->client->provider->ops->shell)
		return sandbox_execute(sb, req, res, stop, err);
	ids_random(s.nonce, NONCE);
	rc = shell_run_way(&way, req, res, stop, err);
	buf_release(&s.said);
	return rc;
}
