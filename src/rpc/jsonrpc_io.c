/* jsonrpc_io.c - the thread that moves the bytes between a child and its calls.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "rpc/jsonrpc_impl.h"

enum {
	CHUNK = 64 << 10,
	ROUNDS = 1024,   /* chunks read at the end, however much there is */
	STATUS_MS = 500, /* for an exit status, once the output is closed */
	KILL_MS = 2000,
};

enum { AT_WAKE, AT_END, AT_OUT, AT_ERR, AT_IN, AT_COUNT };

void jsonrpc_poke(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* False at the end, or when there is nothing now. */
static bool read_chunk(struct jsonrpc *w, int *fd)
{
	char room[CHUNK];
	ssize_t n = *fd < 0 ? 0 : io_read(*fd, room, sizeof(room));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	pthread_mutex_lock(&w->lock);
	if (fd == &w->out)
		jsonrpc_feed(w, (struct str){ room, (size_t)n });
	else
		jsonrpc_add_tail(w, (struct str){ room, (size_t)n });
	pthread_mutex_unlock(&w->lock);
	return true;
}

/* A child that reads no more is no error by itself: calls have deadlines. */
static void write_queue(struct jsonrpc *w)
{
	ssize_t n;

	pthread_mutex_lock(&w->lock);
	n = w->queue.len ? write(w->in, w->queue.ptr, w->queue.len) : 0;
	if (n > 0)
		buf_consume(&w->queue, (size_t)n);
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (w->leaving && !w->queue.len))
		close_fd(&w->in);
	pthread_mutex_unlock(&w->lock);
}

/* Reaps the child and says in the error how it ended. */
static void break_by_status(struct jsonrpc *w)
{
	int status = 0;

	w->reaped = waitpid(w->pid, &status, WNOHANG) == w->pid;
	if (!w->reaped)
		jsonrpc_break(w, "cannot be ended");
	else if (WIFSIGNALED(status))
		jsonrpc_break(w, "was killed by signal %d", WTERMSIG(status));
	else
		jsonrpc_break(w, "ended with exit status %d",
			      WEXITSTATUS(status));
}

void jsonrpc_kill(struct jsonrpc *w)
{
	if (w->peer->kill)
		w->peer->kill(w->arg);
	else
		(void)kill(-w->pid, SIGKILL);
}

/* Kills the rest of the group before its number can be given to another. */
static void finish(struct jsonrpc *w)
{
	struct pollfd end = { .fd = w->end, .events = POLLIN };
	bool ended;

	ended = io_poll(&end, 1, jsonrpc_broken(w) ? 0 : STATUS_MS) > 0;
	for (int i = 0; i < ROUNDS && read_chunk(w, &w->out); i++)
		;
	for (int i = 0; i < ROUNDS && read_chunk(w, &w->err); i++)
		;
	pthread_mutex_lock(&w->lock);
	jsonrpc_add_tail(w, buf_str(&w->line));
	if (!ended)
		jsonrpc_break(w, "closed its output");
	pthread_mutex_unlock(&w->lock);
	jsonrpc_kill(w);
	(void)io_poll(&end, 1, KILL_MS);
	pthread_mutex_lock(&w->lock);
	break_by_status(w);
	pthread_mutex_unlock(&w->lock);
}

/* false: it is over. */
static bool step(struct jsonrpc *w)
{
	struct pollfd set[AT_COUNT] = {
		[AT_WAKE] = { .fd = w->wake, .events = POLLIN },
		[AT_END] = { .fd = w->end, .events = POLLIN },
		[AT_ERR] = { .fd = w->err, .events = POLLIN },
		[AT_OUT] = { .fd = -1, .events = POLLIN },
		[AT_IN] = { .fd = -1, .events = POLLOUT },
	};
	uint64_t count;
	bool over;

	pthread_mutex_lock(&w->lock);
	if (!jsonrpc_is_behind(w))
		set[AT_OUT].fd = w->out;
	if (w->queue.len || w->leaving)
		set[AT_IN].fd = w->in;
	over = w->broken;
	pthread_mutex_unlock(&w->lock);
	if (over || w->out < 0)
		return false;
	if (poll(set, AT_COUNT, -1) < 0)
		return errno == EINTR;
	if (set[AT_WAKE].revents)
		(void)!io_read(w->wake, &count, sizeof(count));
	if (set[AT_IN].revents)
		write_queue(w);
	if (set[AT_ERR].revents)
		(void)read_chunk(w, &w->err);
	if (set[AT_OUT].revents)
		(void)read_chunk(w, &w->out);
	return !set[AT_END].revents;
}

void *jsonrpc_run(void *arg)
{
	struct jsonrpc *w = arg;

	while (step(w))
		;
	finish(w);
	close_fd(&w->in);
	close_fd(&w->out);
	close_fd(&w->err);
	return NULL;
}
