/* resolve.c - resolves a host name; tells addresses of this machine. */
/* SPDX-License-Identifier: MIT */
/*
 * First the addresses to which a key may be sent: loopback_or_https(). Then the
 * lookup of a name: begin reading at resolve_host(). getaddrinfo() cannot be
 * interrupted, so it runs on a thread of its own, which owns half of struct
 * lookup and outlives a caller who was cancelled.
 */
#include "net/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

struct lookup { /* shared by caller and thread; the last owner frees it */
	atomic_int owners;
	int done_fd; /* eventfd: readable once rc and found are set */
	int rc;
	struct resolved found;
	char host[256];
};

/* Recognizes addresses of this machine. */

/* True for a complete address 127.x.y.z. "127.evil.com" is an ordinary name. */
static bool is_number(struct str host)
{
	struct str part;
	int64_t number;
	int n = 0;

	if (!str_starts(host, "127."))
		return false;
	for (; str_split(&host, '.', &part); n++)
		if (!part.len || part.len > 3 || !str_to_int(part, &number) ||
		    number < 0 || number > 255)
			return false;
	return n == 4;
}

static bool ends_host(char c)
{
	return c == '/' || c == '?' || c == '#' || !c;
}

bool loopback_url(struct str url)
{
	struct str rest = str_skip(url, str_search(url, STR("://")) + 3);
	struct str host = rest;
	struct str port;

	if (!rest.len)
		return false;
	host.len = 0;
	while (host.len < rest.len && !ends_host(rest.ptr[host.len]))
		host.len++;
	if (str_starts(host, "[::1]")) {
		port = str_skip(host, 5);
		host.len = 5;
	} else {
		host.len = str_find(host, ':');
		port = (struct str){ host.ptr + host.len, 0 };
		while (host.len + port.len < rest.len &&
		       !ends_host(port.ptr[port.len]))
			port.len++;
	}
	for (size_t i = 0; i < port.len; i++)
		if (i ? port.ptr[i] < '0' || port.ptr[i] > '9'
		      : port.ptr[i] != ':')
			return false;
	return str_is_nocase(host, "localhost") || str_is(host, "[::1]") ||
	       is_number(host);
}

/* Returns the host of an authority, without port and brackets. Does not skip
 * "user@": the caller refuses such an authority. */
static struct str host_of(struct str authority)
{
	struct str host = authority;
	size_t end;

	if (str_starts(host, "[")) {
		end = str_find(host, ']');
		return (struct str){ host.ptr + 1, end ? end - 1 : 0 };
	}
	host.len = str_find(host, ':');
	return host;
}

bool loopback_or_https(struct str url)
{
	bool secure = str_starts(url, "https://");
	struct str rest = str_skip(url, secure ? 8 : 7);
	struct str authority = { rest.ptr, str_find(rest, '/') };

	if (!secure && !str_starts(url, "http://"))
		return false;
	for (size_t i = 0; i < url.len; i++)
		if (url.ptr[i] <= ' ' || url.ptr[i] == 0x7F ||
		    strchr("?#\\\"<>", url.ptr[i]))
			return false;
	if (!host_of(authority).len || memchr(rest.ptr, '@', rest.len))
		return false;
	return secure || loopback_url(url);
}

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
