/* relay.c - connects to a port of a sandbox through a command or a program. */
/* SPDX-License-Identifier: MIT */
/*
 * A command in the sandbox (scripts/sandbox/relay.sh) connects to the port and
 * copies bytes between the connection and its standard streams. A thread of
 * dcode runs it and copies between these streams and a socket pair, whose other
 * end is the port_link's. Begin reading at ports_dial_by_command().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/ports/ports.h"
#include "sandbox/quote.h"

enum {
	SCRIPT_MAX = 16 << 10,
	PIECE = 64 << 10,
	SAID_MAX = 512,
	LINE_MAX_BYTES = 64, /* of the relay's own lines */
	ANSWER_MS = 30000,   /* until the relay's first line */
};

static const unsigned char relay_sh[] = {
#include "scripts/sandbox/relay.sh.inc"
};

enum relay_state {
	RELAY_STARTS, /* before its first line */
	RELAY_RAW,
	RELAY_LENGTH, /* before a frame's length */
	RELAY_FRAME,
	RELAY_ENDED, /* the server's direction has ended */
	RELAY_REFUSED,
	RELAY_NONE, /* the sandbox has no program for it */
};

struct relay {
	struct sandbox *sandbox; /* borrowed */
	ports_run *run;
	unsigned port;
	int ours; /* dcode's end of the socket pair */
	pthread_t thread;
	struct cancel over; /* ends the thread */
	/* of the thread alone: */
	struct buf line; /* the beginning of a line of the relay */
	uint64_t left;   /* bytes of a frame */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock: */
	enum relay_state state;
	bool ended; /* the command has ended */
	struct error err;
};

static void set_state(struct relay *r, enum relay_state state)
{
	pthread_mutex_lock(&r->lock);
	r->state = state;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* A client that does not read holds up the server, until the link is closed. */
static int pass_on(struct relay *r, struct str data, struct error *err)
{
	struct stop stop = stop_on(&r->over);

	return stop_send(&stop, r->ours, data.ptr, data.len, err);
}

/* Reads the relay's first line. */
static int read_first_line(struct relay *r, struct str line, struct error *err)
{
	if (str_is(line, "framed"))
		set_state(r, RELAY_LENGTH);
	else if (str_is(line, "raw"))
		set_state(r, RELAY_RAW);
	else if (str_is(line, "refused"))
		set_state(r, RELAY_REFUSED);
	else if (str_is(line, "none"))
		set_state(r, RELAY_NONE);
	else
		return error_set(err, ERR_PROTOCOL,
				 "the sandbox answered something else");
	return 0;
}

static int read_length(struct relay *r, struct str line, struct error *err)
{
	int64_t n;

	if (!str_to_int(line, &n) || n < 0 || n > INT32_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the sandbox's relay is garbled");
	r->left = (uint64_t)n;
	set_state(r, n ? RELAY_FRAME : RELAY_ENDED);
	if (!n)
		(void)shutdown(r->ours, SHUT_WR);
	return 0;
}

/* Moves bytes of a line from chunk; reads the line once it is whole. */
static int feed_line(struct relay *r, struct str *chunk, struct error *err)
{
	size_t end = str_find(*chunk, '\n');
	int rc;

	buf_addstr(&r->line, (struct str){ chunk->ptr, end });
	if (buf_check(&r->line, "a line of the relay", err) < 0)
		return -1;
	if (end == chunk->len) {
		*chunk = (struct str){ 0 };
		return 0;
	}
	*chunk = str_skip(*chunk, end + 1);
	rc = r->state == RELAY_STARTS
		     ? read_first_line(r, buf_str(&r->line), err)
		     : read_length(r, buf_str(&r->line), err);
	buf_clear(&r->line);
	return rc;
}

/* exec_request.output. Only this thread changes the state, so it reads it
 * without the lock. */
static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct relay *r = arg;

	(void)reply;
	while (stream == EXEC_STDOUT && chunk.len) {
		struct str piece = chunk;

		switch (r->state) {
		case RELAY_STARTS:
		case RELAY_LENGTH:
			if (feed_line(r, &chunk, err) < 0)
				return -1;
			continue;
		case RELAY_RAW:
			return pass_on(r, chunk, err);
		case RELAY_FRAME:
			if (piece.len > r->left)
				piece.len = (size_t)r->left;
			if (pass_on(r, piece, err) < 0)
				return -1;
			chunk = str_skip(chunk, piece.len);
			r->left -= piece.len;
			if (!r->left)
				set_state(r, RELAY_LENGTH);
			continue;
		default:
			return 0;
		}
	}
	return 0;
}

/* exec_request.source: what the client sends. */
static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	const struct relay *r = arg;
	ssize_t n = recv(r->ours, room, len, 0);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return error_errno(err, "the forward's client");
	return n < 0 ? EXEC_LATER : n;
}

static void *run_relay(void *arg)
{
	struct relay *r = arg;
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct exec_request req = { .plain = true,
				    .live = true,
				    .source = on_source,
				    .source_arg = r,
				    .source_fd = r->ours,
				    .output = on_output,
				    .arg = r };
	struct stop stop = stop_on(&r->over);
	struct exec_result res = { 0 };
	struct error err = { 0 };

	buf_addf(&script, "d_port=%u\n", r->port);
	buf_addstr(&script, SCRIPT(relay_sh));
	req.command = buf_str(&script);
	(void)r->run(r->sandbox, &req, &res, &stop, &err);
	buf_release(&script);
	(void)shutdown(r->ours, SHUT_RDWR);
	pthread_mutex_lock(&r->lock);
	r->ended = true;
	r->err = err;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Waits for the relay's first line. */
static int await_start(struct relay *r, const struct stop *stop,
		       struct error *err)
{
	struct stop limit = stop_within(stop, ANSWER_MS);
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	while (rc == 0 && r->state == RELAY_STARTS && !r->ended) {
		thread_wait(&r->changed, &r->lock, 50);
		rc = stop_check(&limit, err);
	}
	if (rc == 0 && r->state == RELAY_STARTS) {
		*err = r->err;
		rc = r->err.code ? -1
				 : error_set(err, ERR_PROTOCOL,
					     "the sandbox's relay ended");
	}
	if (rc == 0 && r->state == RELAY_REFUSED)
		rc = error_set(err, ERR_NOT_FOUND,
			       "nothing listens on port %u in the sandbox",
			       r->port);
	if (rc == 0 && r->state == RELAY_NONE) {
		rc = error_set(err, ERR_USAGE,
			       "the sandbox has no program that could pass on "
			       "its ports");
		error_hint(err, "Install python3, perl, nc or bash in it.");
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

/* Implements port_link.end. */
static void end_relay(struct port_link *link)
{
	struct relay *r = link->relay;

	cancel_trigger(&r->over);
	pthread_join(r->thread, NULL);
	close(r->ours);
	cancel_release(&r->over);
	buf_release(&r->line);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r);
}

/* Implements port_link.end. */
static void end_program(struct port_link *link)
{
	kill(link->pid, SIGKILL);
	io_reap(link->pid);
}

int ports_dial_by_command(struct sandbox *sb, ports_run *run, unsigned port,
			  struct port_link *link, const struct stop *stop,
			  struct error *err)
{
	struct relay *r;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return error_errno(err, "a socket pair");
	r = xcalloc(1, sizeof(*r));
	*r = (struct relay){ .sandbox = sb,
			     .run = run,
			     .port = port,
			     .ours = pair[0],
			     .line = BUF_INIT(LINE_MAX_BYTES),
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	link->fd = pair[1];
	if (cancel_init(&r->over, err) < 0 ||
	    thread_start(&r->thread, run_relay, r, err) < 0) {
		cancel_release(&r->over);
		close(r->ours);
		free(r);
		return -1;
	}
	link->relay = r;
	link->end = end_relay;
	return await_start(r, stop, err);
}

int ports_dial_by_program(const char *path, char *const *argv, char *const *env,
			  struct port_link *link, struct error *err)
{
	int pair[2];
	int said[2];
	int fds[3];
	struct proc_spec spec = { .path = path,
				  .argv = argv,
				  .env = env,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	int rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "a socket pair");
	link->fd = pair[1];
	if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0 ||
	    pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
		close(pair[0]);
		return error_errno(err, "a pipe");
	}
	link->said = said[0];
	fds[0] = fds[1] = pair[0];
	fds[2] = said[1];
	rc = proc_spawn_bound(&spec, &link->pid, err);
	if (rc == 0)
		link->end = end_program;
	close(pair[0]);
	close(said[1]);
	return rc;
}

struct program_streams { /* between a program and a request */
	int fd;
	struct buf held; /* of the source, not written yet */
	bool said;       /* the program has written something */
	bool eof;        /* the source has ended */
};

/* Takes what the source has, and writes it. */
static int feed_program(struct program_streams *s,
			const struct exec_request *req, struct error *err)
{
	char room[PIECE];
	int64_t n = 0;

	if (!s->held.len) {
		n = req->source(req->source_arg, room, sizeof(room), err);
		if (n < 0)
			return n == EXEC_LATER ? 0 : -1;
		buf_add(&s->held, room, (size_t)n);
		s->eof = !n;
	}
	while (s->held.len) {
		ssize_t sent = send(s->fd, s->held.ptr, s->held.len,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (sent < 0) { /* it reads no more */
			s->eof = true;
			buf_clear(&s->held);
			return 0;
		}
		buf_consume(&s->held, (size_t)sent);
	}
	if (s->eof)
		(void)shutdown(s->fd, SHUT_WR);
	return 0;
}

/* Passes on what the program has written. Returns 1 at its end. */
static int drain_program(struct program_streams *s,
			 const struct exec_request *req, struct error *err)
{
	char room[PIECE];
	struct buf ignored = BUF_INIT(0);
	ssize_t n = recv(s->fd, room, sizeof(room), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	if (!n)
		return 1;
	s->said = true;
	return req->output(req->arg, EXEC_STDOUT,
			   (struct str){ room, (size_t)n }, &ignored, err);
}

static int follow_program(struct program_streams *s,
			  const struct exec_request *req,
			  const struct stop *stop, struct error *err)
{
	int rc = 0;

	while (rc == 0) {
		struct pollfd set[3] = {
			{ .fd = stop_fd(stop), .events = POLLIN },
			{ .fd = s->fd,
			  .events = (short)(POLLIN |
					    (s->held.len ? POLLOUT : 0)) },
			{ .fd = s->held.len || s->eof ? -1 : req->source_fd,
			  .events = POLLIN },
		};

		if (io_poll(set, 3, -1) < 0)
			return error_errno(err, "poll");
		rc = stop_check(stop, err);
		if (rc == 0 && (set[2].revents || set[1].revents & POLLOUT))
			rc = feed_program(s, req, err);
		if (rc == 0 && set[1].revents & (POLLIN | POLLHUP | POLLERR))
			rc = drain_program(s, req, err);
	}
	return rc < 0 ? -1 : 0;
}

int ports_run_program(const struct proc_spec *program,
		      const struct exec_request *req, const struct stop *stop,
		      struct error *err)
{
	struct port_link link = PORT_LINK_NONE;
	struct program_streams s = { .held = BUF_INIT(PIECE) };
	char said[SAID_MAX];
	ssize_t n;
	int rc = ports_dial_by_program(program->path, program->argv,
				       program->env, &link, err);

	s.fd = link.fd;
	if (rc == 0)
		rc = follow_program(&s, req, stop, err);
	n = link.said >= 0 ? io_read(link.said, said, sizeof(said)) : 0;
	if (rc == 0 && !s.said)
		rc = error_set(err, ERR_NETWORK, "%.*s", n > 0 ? (int)n : 0,
			       said);
	if (link.fd >= 0)
		close(link.fd);
	if (link.said >= 0)
		close(link.said);
	if (link.end)
		link.end(&link);
	buf_release(&s.held);
	return rc;
}
