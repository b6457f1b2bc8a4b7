/* link.c - one run of a held stream's program, and the thread that moves its
 * bytes. */
/* SPDX-License-Identifier: MIT */
#include "providers/held/link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"

enum {
	CHUNK = 64 << 10,
	STATUS_MS = 500, /* for an exit status, once the output is closed */
	KILL_MS = 2000,
};

enum { AT_WAKE, AT_END, AT_OUT, AT_ERR, AT_IN, AT_COUNT };

void link_poke(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

void link_keep_tail(struct buf *tail, struct str bytes)
{
	if (bytes.len > LINK_TAIL)
		bytes = str_skip(bytes, bytes.len - LINK_TAIL);
	buf_addstr(tail, bytes);
	if (tail->len > LINK_TAIL)
		buf_consume(tail, tail->len - LINK_TAIL);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void link_break(struct link *l, const char *reason)
{
	if (l->state == LINK_BROKEN)
		return;
	l->state = LINK_BROKEN;
	if (!l->why.code)
		error_set(&l->why, ERR_NETWORK, "the connection to %s: %s",
			  l->program->name, reason);
	for (struct link_call *c = l->calls; c; c = c->next)
		link_poke(c->event);
	link_poke(l->wake);
}

/* On the link's own thread, whose end is the program's, too. */
static int spawn(struct link *l, struct error *err)
{
	int theirs[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = l->program->path,
				  .argv = l->program->argv,
				  .env = l->program->env,
				  .fds = theirs,
				  .nfds = 3,
				  .session = true };
	int rc = proc_pipe(&l->in, &theirs[0], false, err);

	if (rc == 0)
		rc = proc_pipe(&l->out, &theirs[1], true, err);
	if (rc == 0)
		rc = proc_pipe(&l->err, &theirs[2], true, err);
	if (rc == 0)
		rc = proc_spawn_bound(&spec, &l->pid, err);
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	return rc;
}

/* False when nothing came. */
static bool read_chunk(struct link *l, int *fd)
{
	char room[CHUNK];
	ssize_t n = *fd < 0 ? 0 : io_read(*fd, room, sizeof(room));
	struct str bytes = { room, n > 0 ? (size_t)n : 0 };

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	pthread_mutex_lock(&l->lock);
	/* Complaints of a shell whose input was damaged are no answer. */
	if (fd == &l->out)
		l->heard = clock_ms();
	if (fd == &l->err) {
		link_keep_tail(&l->tail, bytes);
	} else if (l->state != LINK_BROKEN) {
		(void)link_feed(l, bytes);
	}
	pthread_mutex_unlock(&l->lock);
	return true;
}

static void write_queue(struct link *l)
{
	ssize_t n;

	pthread_mutex_lock(&l->lock);
	n = l->queue.len ? write(l->in, l->queue.ptr, l->queue.len) : 0;
	if (n > 0)
		buf_consume(&l->queue, (size_t)n);
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (l->leaving && !l->queue.len))
		close_fd(&l->in);
	pthread_mutex_unlock(&l->lock);
}

/* Kills the rest of the group before its number can be given to another. */
static void reap(struct link *l, bool wait)
{
	struct error ignored = { 0 };
	int fd = proc_fd(l->pid, &ignored);
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int status = 0;
	bool ended = fd >= 0 && io_poll(&end, 1, wait ? STATUS_MS : 0) > 0;

	while (read_chunk(l, &l->err))
		;
	(void)kill(-l->pid, SIGKILL);
	if (fd >= 0)
		(void)io_poll(&end, 1, KILL_MS);
	close_fd(&fd);
	if (waitpid(l->pid, &status, WNOHANG) != l->pid || !ended)
		return;
	pthread_mutex_lock(&l->lock);
	l->status = proc_exit_code(status);
	pthread_mutex_unlock(&l->lock);
}

static bool step(struct link *l, int end)
{
	struct pollfd set[AT_COUNT] = {
		[AT_WAKE] = { .fd = l->wake, .events = POLLIN },
		[AT_END] = { .fd = end, .events = POLLIN },
		[AT_ERR] = { .fd = l->err, .events = POLLIN },
		[AT_OUT] = { .fd = l->out, .events = POLLIN },
		[AT_IN] = { .fd = -1, .events = POLLOUT },
	};
	uint64_t count;
	bool over;

	pthread_mutex_lock(&l->lock);
	if (l->queue.len || l->leaving)
		set[AT_IN].fd = l->in;
	over = l->state == LINK_BROKEN;
	pthread_mutex_unlock(&l->lock);
	if (over || l->out < 0)
		return false;
	if (poll(set, AT_COUNT, -1) < 0)
		return errno == EINTR;
	if (set[AT_WAKE].revents)
		(void)!io_read(l->wake, &count, sizeof(count));
	if (set[AT_IN].revents)
		write_queue(l);
	if (set[AT_ERR].revents)
		(void)read_chunk(l, &l->err);
	if (set[AT_OUT].revents)
		(void)read_chunk(l, &l->out);
	if (!set[AT_END].revents)
		return true;
	while (read_chunk(l, &l->out))
		;
	return false;
}

static void *run(void *arg)
{
	struct link *l = arg;
	struct error why = { 0 };
	int end = -1;
	int rc = spawn(l, &why);

	if (rc == 0)
		end = proc_fd(l->pid, &why);
	pthread_mutex_lock(&l->lock);
	l->spawned = rc == 0;
	if (rc < 0 || end < 0) {
		l->why = why;
		link_break(l, "");
	}
	pthread_mutex_unlock(&l->lock);
	while (end >= 0 && step(l, end))
		;
	close_fd(&end);
	if (rc == 0) {
		bool asked;

		pthread_mutex_lock(&l->lock);
		asked = l->state == LINK_BROKEN;
		pthread_mutex_unlock(&l->lock);
		reap(l, !asked);
	}
	close_fd(&l->in);
	close_fd(&l->out);
	close_fd(&l->err);
	pthread_mutex_lock(&l->lock);
	link_break(l, "it ended");
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void release(struct link *l)
{
	close_fd(&l->wake);
	buf_release(&l->queue);
	buf_release(&l->waiting);
	buf_release(&l->held);
	buf_release(&l->tail);
	buf_release(&l->prelude);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

struct link *link_new(const struct held_program *program, struct error *err)
{
	struct link *l = xcalloc(1, sizeof(*l));

	*l = (struct link){ .program = program,
			    .in = -1,
			    .out = -1,
			    .err = -1,
			    .status = -1,
			    .began = clock_ms(),
			    .heard = clock_ms(),
			    .queue = BUF_INIT(LINK_QUEUE),
			    .waiting = BUF_INIT(LINK_QUEUE),
			    .held = BUF_INIT(LINK_NOISE + 2 * CHUNK),
			    .tail = BUF_INIT(LINK_TAIL + CHUNK),
			    .prelude = BUF_INIT(LINK_TAIL + CHUNK) };
	pthread_mutex_init(&l->lock, NULL);
	ids_random(l->nonce, LINK_ID);
	buf_addf(&l->queue, "held_nonce=%s\n", l->nonce);
	if (program->script) {
		buf_adds(&l->queue, program->script);
	} else {
		program_add_loop(&l->queue);
		/* Read whole before it runs: its input is the stream's. */
		buf_adds(&l->queue, "held_loop; exit\n");
	}
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0)
		error_errno(err, "creating an event");
	else if (thread_start(&l->thread, run, l, err) == 0)
		return l;
	release(l);
	return NULL;
}

int link_send(struct link *l, struct link_call *c, char kind, struct str text,
	      struct error *err)
{
	struct buf *to = l->state == LINK_READY ? &l->queue : &l->waiting;
	bool whole = text.len && text.ptr[text.len - 1] == '\n';
	size_t lines = !whole;
	size_t from = to->len;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	if (text.len > LINK_REQUEST || to->len + text.len + 100 > to->max)
		return error_set(err, ERR_LIMIT,
				 "too much is waiting to be sent to %s",
				 l->program->name);
	buf_addf(to, "%s %c %zu %zu\n", c ? c->id : "-", kind,
		 text.len + !whole, lines);
	buf_addstr(to, text);
	if (!whole)
		buf_addc(to, '\n');
	if (c) {
		c->from = from;
		c->size = to->len - from;
		c->next = l->calls;
		l->calls = c;
	}
	link_poke(l->wake);
	return 0;
}

/* What was given up before the loop began is not done later. */
static void take_back(struct link *l, const struct link_call *c)
{
	struct buf *b = &l->waiting;
	size_t end = c->from + c->size;

	memmove(b->ptr + c->from, b->ptr + end, b->len - end);
	b->len -= c->size;
	for (struct link_call *o = l->calls; o; o = o->next)
		if (o->from > c->from)
			o->from -= c->size;
}

bool link_forget(struct link *l, struct link_call *c)
{
	struct link_call **at = &l->calls;
	bool waits = l->state == LINK_STARTING && c->size;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	if (waits)
		take_back(l, c);
	return waits;
}

void link_free(struct link *l, int64_t grace_ms)
{
	int64_t end = clock_ms() + grace_ms;
	struct stop until = stop_cleanup(grace_ms);
	struct error ignored = { 0 };
	bool over = false;

	pthread_mutex_lock(&l->lock);
	l->leaving = true;
	pthread_mutex_unlock(&l->lock);
	link_poke(l->wake);
	while (!over && clock_ms() < end) {
		pthread_mutex_lock(&l->lock);
		over = l->state == LINK_BROKEN;
		pthread_mutex_unlock(&l->lock);
		if (!over)
			(void)stop_sleep(&until, 2, &ignored);
	}
	pthread_mutex_lock(&l->lock);
	link_break(l, "it was closed");
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	release(l);
}
