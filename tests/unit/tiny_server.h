/* tiny_server.h - a scripted HTTP server on a thread, for tests of net/. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_TINY_SERVER_H
#define TESTS_UNIT_TINY_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

/* One request as it came. */
struct tiny_request {
	int fd;     /* write the answer here */
	char *head; /* request line and headers, NUL-terminated */
	char path[256];
	struct buf body;
	int nth; /* of this connection, from 0 */
};

struct tiny_server {
	int listener;
	int port;
	pthread_t thread;
	atomic_int connections;
	atomic_bool ending;
	/* Returns whether the connection stays open. */
	bool (*answer)(struct tiny_server *s, struct tiny_request *r);
};

struct tiny_connection {
	struct tiny_server *server;
	int fd;
};

static inline void tiny_send(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static inline void tiny_say(int fd, const char *text)
{
	tiny_send(fd, text, strlen(text));
}

static inline void tiny_reply(int fd, const char *head, const void *body,
			      size_t len)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", head, len);
	tiny_say(fd, text);
	tiny_send(fd, body, len);
}

/* Holds the connection silently until the peer or the test ends it. */
static inline void tiny_hang(struct tiny_server *s, int fd)
{
	char c;

	while (!atomic_load(&s->ending) &&
	       recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) != 0)
		usleep(2000);
}

static inline bool tiny_more(int fd, struct buf *in)
{
	char chunk[16384];
	ssize_t n = recv(fd, chunk, sizeof(chunk), 0);

	if (n > 0)
		buf_add(in, chunk, (size_t)n);
	return n > 0;
}

/* Body by Content-Length or chunked; what follows stays in `in`. */
static inline bool tiny_body(int fd, struct buf *in, struct tiny_request *r)
{
	const char *length = strcasestr(r->head, "\r\nContent-Length:");
	size_t want = length ? strtoul(length + 17, NULL, 10) : 0;

	if (strcasestr(r->head, "\r\nTransfer-Encoding: chunked")) {
		for (;;) {
			char *line =
				in->len ? memmem(in->ptr, in->len, "\r\n", 2)
					: NULL;
			size_t n = line ? strtoul(in->ptr, NULL, 16) : 0;
			size_t head = line ? (size_t)(line - in->ptr) + 2 : 0;

			if (!line || in->len < head + n + 2) {
				if (!tiny_more(fd, in))
					return false;
				continue;
			}
			buf_add(&r->body, in->ptr + head, n);
			buf_consume(in, head + n + 2);
			if (!n)
				return true;
		}
	}
	while (in->len < want)
		if (!tiny_more(fd, in))
			return false;
	buf_add(&r->body, in->ptr, want);
	buf_consume(in, want);
	return true;
}

static inline void *tiny_connection(void *arg)
{
	struct tiny_connection c = *(struct tiny_connection *)arg;
	struct buf in = BUF_INIT(1 << 30);
	bool open = true;

	free(arg);
	for (int nth = 0; open; nth++) {
		struct tiny_request r = { .fd = c.fd,
					  .nth = nth,
					  .body = BUF_INIT(1 << 30) };
		char *end;

		while (!(end = in.len ? memmem(in.ptr, in.len, "\r\n\r\n", 4)
				      : NULL))
			if (!tiny_more(c.fd, &in))
				goto out;
		r.head = strndup(in.ptr, (size_t)(end + 2 - in.ptr));
		sscanf(r.head, "%*s %255s", r.path);
		buf_consume(&in, (size_t)(end + 4 - in.ptr));
		open = tiny_body(c.fd, &in, &r) &&
		       c.server->answer(c.server, &r);
		buf_release(&r.body);
		free(r.head);
	}
out:
	buf_release(&in);
	close(c.fd);
	return NULL;
}

static inline void *tiny_accept(void *arg)
{
	struct tiny_server *s = arg;

	for (;;) {
		int fd = accept(s->listener, NULL, NULL);
		struct tiny_connection *c;
		pthread_attr_t attr;
		pthread_t thread;

		if (fd < 0)
			return NULL;
		atomic_fetch_add(&s->connections, 1);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
			   sizeof(int));
		c = malloc(sizeof(*c));
		*c = (struct tiny_connection){ s, fd };
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_create(&thread, &attr, tiny_connection, c);
		pthread_attr_destroy(&attr);
	}
}

static inline void tiny_start(struct tiny_server *s,
			      bool (*answer)(struct tiny_server *,
					     struct tiny_request *))
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);

	memset(s, 0, sizeof(*s));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->answer = answer;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(s->listener, 64) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) < 0)
		abort();
	s->port = ntohs(a.sin_port);
	pthread_create(&s->thread, NULL, tiny_accept, s);
}

static inline void tiny_stop(struct tiny_server *s)
{
	atomic_store(&s->ending, true);
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	usleep(20000); /* the connections' threads see it */
}

#endif
