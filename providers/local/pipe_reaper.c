/* pipe_reaper.c - one thread that drains pipes and reaps processes left behind.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "providers/local/pipes.h"

void pipe_reaper_init(struct pipe_reaper *k)
{
	*k = (struct pipe_reaper){ .wake = { -1, -1 } };
	pthread_mutex_init(&k->lock, NULL);
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

static bool keep(const struct kept *item)
{
	if (!item->pid)
		return drain(item->fd);
	return waitpid(item->pid, NULL, WNOHANG) == 0;
}

/* Called with the lock held; the set stands behind the wake-up pipe. */
static struct pollfd *poll_set(const struct pipe_reaper *k, struct pollfd *set)
{
	set = xrealloc(set, k->n + 1, sizeof(*set));
	set[0] = (struct pollfd){ .fd = k->wake[0], .events = POLLIN };
	for (size_t i = 0; i < k->n; i++)
		set[i + 1] = (struct pollfd){ .fd = k->items[i].fd,
					      .events = POLLIN };
	return set;
}

static void *run(void *arg)
{
	struct pipe_reaper *k = arg;
	struct pollfd *set = NULL;
	char drop[64];

	pthread_mutex_lock(&k->lock);
	while (!k->leaving) {
		size_t n = k->n;

		set = poll_set(k, set);
		pthread_mutex_unlock(&k->lock);
		poll(set, n + 1, -1);
		while (read(k->wake[0], drop, sizeof(drop)) > 0)
			;
		pthread_mutex_lock(&k->lock);
		for (size_t i = n; i-- > 0;) { /* others only append */
			if (!set[i + 1].revents || keep(&k->items[i]))
				continue;
			close(k->items[i].fd);
			k->items[i] = k->items[--k->n];
		}
	}
	pthread_mutex_unlock(&k->lock);
	free(set);
	return NULL;
}

/* Signals are the main thread's business. */
static bool start(struct pipe_reaper *k)
{
	sigset_t all;
	sigset_t old;

	if (pipe2(k->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	k->running = pthread_create(&k->thread, NULL, run, k) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!k->running)
		for (int i = 0; i < 2; i++)
			close(k->wake[i]);
	return k->running;
}

static void add(struct pipe_reaper *k, struct kept item)
{
	pthread_mutex_lock(&k->lock);
	if (k->running || start(k)) {
		k->items = xrealloc(k->items, k->n + 1, sizeof(*k->items));
		k->items[k->n++] = item;
		(void)!write(k->wake[1], "x", 1);
	} else {
		close(item.fd);
	}
	pthread_mutex_unlock(&k->lock);
}

void pipe_reaper_drain(struct pipe_reaper *k, int fd)
{
	add(k, (struct kept){ .fd = fd });
}

void pipe_reaper_reap(struct pipe_reaper *k, pid_t pid)
{
	struct error ignored = { 0 };
	int fd;

	if (waitpid(pid, NULL, WNOHANG) != 0)
		return;
	fd = proc_fd(pid, &ignored);
	if (fd >= 0)
		add(k, (struct kept){ .fd = fd, .pid = pid });
}

void pipe_reaper_release(struct pipe_reaper *k)
{
	if (k->running) {
		pthread_mutex_lock(&k->lock);
		k->leaving = true;
		(void)!write(k->wake[1], "x", 1);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
		close(k->wake[0]);
		close(k->wake[1]);
	}
	for (size_t i = 0; i < k->n; i++) {
		if (k->items[i].pid)
			waitpid(k->items[i].pid, NULL, WNOHANG);
		close(k->items[i].fd);
	}
	free(k->items);
	pthread_mutex_destroy(&k->lock);
}
