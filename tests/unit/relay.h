/* relay.h - a unix socket that passes on and counts what goes through. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RELAY_H
#define TESTS_UNIT_RELAY_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct relay {
	char path[100];
	char target[100];
	int listener;
	pthread_t thread;
	atomic_int connections;
	atomic_int requests; /* request lines seen */
};

struct relay_pair {
	struct relay *relay;
	int client;
};

static inline int relay_connect(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

static inline bool relay_is_request(const char *data, ssize_t len)
{
	static const char *const methods[] = { "GET /", "POST /", "PUT /",
					       "HEAD /", "DELETE /" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		size_t n = strlen(methods[i]);

		if (len > (ssize_t)n && memcmp(data, methods[i], n) == 0)
			return true;
	}
	return false;
}

/* One direction's bytes on; false at its end, which is passed on too. */
static inline bool relay_pass(int from, int to, atomic_int *requests)
{
	char data[65536];
	ssize_t n = recv(from, data, sizeof(data), 0);
	ssize_t done = 0;

	if (requests && n > 0 && relay_is_request(data, n))
		atomic_fetch_add(requests, 1);
	while (done < n) {
		ssize_t sent =
			send(to, data + done, (size_t)(n - done), MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		done += sent;
	}
	if (n <= 0)
		shutdown(to, SHUT_WR);
	return n > 0;
}

struct relay_way {
	int from, to;
	atomic_int *requests;
};

static inline void *relay_way(void *arg)
{
	struct relay_way *w = arg;

	while (relay_pass(w->from, w->to, w->requests))
		;
	return NULL;
}

static inline void *relay_pair(void *arg)
{
	struct relay_pair p = *(struct relay_pair *)arg;
	int server = relay_connect(p.relay->target);
	struct relay_way up = { p.client, server, &p.relay->requests };
	struct relay_way down = { server, p.client, NULL };
	pthread_t thread;

	free(arg);
	if (server >= 0 && pthread_create(&thread, NULL, relay_way, &up) == 0) {
		relay_way(&down);
		shutdown(p.client, SHUT_RDWR);
		pthread_join(thread, NULL);
	}
	close(p.client);
	if (server >= 0)
		close(server);
	return NULL;
}

static inline void *relay_accept(void *arg)
{
	struct relay *r = arg;

	for (;;) {
		int fd = accept(r->listener, NULL, NULL);
		struct relay_pair *p;
		pthread_attr_t attr;
		pthread_t thread;

		if (fd < 0)
			return NULL;
		atomic_fetch_add(&r->connections, 1);
		p = malloc(sizeof(*p));
		*p = (struct relay_pair){ r, fd };
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_create(&thread, &attr, relay_pair, p);
		pthread_attr_destroy(&attr);
	}
}

static inline void relay_start(struct relay *r, const char *dir,
			       const char *target)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memset(r, 0, sizeof(*r));
	snprintf(r->path, sizeof(r->path), "%s/relay.sock", dir);
	snprintf(r->target, sizeof(r->target), "%s", target);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", r->path);
	r->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(r->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(r->listener, 64) < 0)
		abort();
	pthread_create(&r->thread, NULL, relay_accept, r);
}

static inline void relay_stop(struct relay *r)
{
	shutdown(r->listener, SHUT_RDWR);
	pthread_join(r->thread, NULL);
	close(r->listener);
	usleep(20000);
}

#endif
