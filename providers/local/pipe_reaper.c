/* pipe_reaper.c - drains pipes and reaps processes that outlive a call. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "providers/local/pipes.h"

void pipe_reaper_init(struct pipe_reaper *r)
{
	*r = (struct pipe_reaper){ .wake = { -1, -1 } };
	pthread_mutex_init(&r->lock, NULL);
}

/* Reads what is there; false at the end of the file. */
static bool drain(int fd)
{
	char drop[16384];
	ssize_t n;

	do {
		n = read(fd, drop, sizeof(drop));
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

/* False when the item is to be closed. */
static bool handle_item(const struct left_behind *item)
{
	if (!item->pid)
		return drain(item->fd);
	return waitpid(item->pid, NULL, WNOHANG) == 0;
}

/* Called with the lock held; the set stands behind the wake-up pipe. */
static struct pollfd *poll_set(const struct pipe_reaper *r, struct pollfd *set)
{
	set = xrealloc(set, r->n + 1, sizeof(*set));
	set[0] = (struct pollfd){ .fd = r->wake[0], .events = POLLIN };
	for (size_t i = 0; i < r->n; i++)
		set[i + 1] = (struct pollfd){ .fd = r->items[i].fd,
					      .events = POLLIN };
	return set;
}

static void *run(void *arg)
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
		for (size_t i = n; i-- > 0;) { /* others only append */
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

/* Signals are the main thread's business. */
static bool start_thread(struct pipe_reaper *r)
{
	sigset_t all;
	sigset_t old;

	if (pipe2(r->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r->running = pthread_create(&r->thread, NULL, run, r) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r->running)
		for (int i = 0; i < 2; i++)
			close(r->wake[i]);
	return r->running;
}

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

void pipe_reaper_drain(struct pipe_reaper *r, int fd)
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
