/* resolve.c - resolves a host name, can be cancelled. */
/* SPDX-License-Identifier: MIT */
#include "net/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

struct lookup { /* shared by caller and thread; the last owner frees it */
	atomic_int owners;
	int done_fd; /* eventfd: readable once rc and found are set */
	int rc;
	struct resolved found;
	char host[256];
};

static void release_lookup(struct lookup *l)
{
	if (atomic_fetch_sub(&l->owners, 1) > 1)
		return;
	close(l->done_fd);
	free(l);
}

/* Thread: calls getaddrinfo(), which cannot be interrupted. */
static void *resolve_name(void *arg)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct lookup *l = arg;
	struct addrinfo *list = NULL;
	uint64_t one = 1;

	l->rc = getaddrinfo(l->host, NULL, &hints, &list);
	for (struct addrinfo *i = l->rc ? NULL : list;
	     i && l->found.n < RESOLVE_MAX; i = i->ai_next)
		if (i->ai_addrlen <= sizeof(l->found.list[0]))
			memcpy(&l->found.list[l->found.n++], i->ai_addr,
			       i->ai_addrlen);
	if (list)
		freeaddrinfo(list);
	while (write(l->done_fd, &one, sizeof(one)) < 0)
		;
	release_lookup(l);
	return NULL;
}

/* Starts the thread. All signals are blocked in it, because the main thread
 * handles them. */
static int start_lookup(struct lookup *l, struct error *err)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, resolve_name, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	errno = rc;
	return rc ? error_errno(err, "cannot start a thread to look up %s",
				l->host)
		  : 0;
}

/* Waits for the thread's result. -1: stopped. */
static int await_lookup(struct lookup *l, const struct stop *stop,
			struct error *err)
{
	struct pollfd fds[] = {
		{ .fd = l->done_fd, .events = POLLIN },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};

	for (;;) {
		if (stop_check(stop, err) < 0)
			return -1;
		poll(fds, 2, stop_poll_ms(stop, -1));
		/* reading the eventfd ensures that this thread sees the
		 * result */
		if (fds[0].revents &&
		    eventfd_read(l->done_fd, &(eventfd_t){ 0 }) == 0)
			return 0;
	}
}

int resolve_host(const char *host, struct resolved *found,
		 const struct stop *stop, struct error *err)
{
	struct lookup *l = xcalloc(1, sizeof(*l));
	int rc;

	found->n = 0;
	atomic_init(&l->owners, 2);
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->done_fd = eventfd(0, EFD_CLOEXEC);
	if (l->done_fd < 0) {
		free(l);
		return error_errno(err, "eventfd");
	}
	rc = start_lookup(l, err);
	if (rc < 0)
		atomic_fetch_sub(&l->owners, 1); /* the thread's reference */
	else
		rc = await_lookup(l, stop, err);
	if (rc == 0 && (l->rc || !l->found.n))
		rc = error_set(err, ERR_NETWORK, "cannot look up %s: %s", host,
			       l->rc ? gai_strerror(l->rc) : "no address");
	else if (rc == 0)
		*found = l->found;
	release_lookup(l);
	return rc;
}
