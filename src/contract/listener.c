/* listener.c - a test server of dcode that a sandbox tries to reach. */
/* SPDX-License-Identifier: MIT */
#include "contract/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ids.h"

enum { BACKLOG = 16, CLIENT_MS = 2000, REQUEST_MAX = 4096 };

/* Answers a client. One that sends nothing gets an answer after a while. */
static void answer(const struct listener *l, int client)
{
	struct pollfd both[] = { { .fd = client, .events = POLLIN },
				 { .fd = l->end.fd[0], .events = POLLIN } };
	char request[REQUEST_MAX];
	char reply[128];
	int n;

	if (poll(both, 2, CLIENT_MS) > 0 && both[0].revents)
		(void)recv(client, request, sizeof(request), MSG_DONTWAIT);
	n = snprintf(reply, sizeof(reply),
		     "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s",
		     LISTENER_TOKEN, l->token);
	(void)send(client, reply, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(client, SHUT_WR);
}

static void *serve(void *arg)
{
	struct listener *l = arg;
	struct pollfd both[] = { { .fd = l->fd, .events = POLLIN },
				 { .fd = l->end.fd[0], .events = POLLIN } };

	while (!cancel_triggered(&l->end)) {
		int client;

		if (poll(both, 2, -1) <= 0 || !both[0].revents)
			continue;
		client = accept4(l->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0)
			continue;
		answer(l, client);
		close(client);
	}
	return NULL;
}

static int open_socket(struct listener *l, struct error *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_ANY) };
	socklen_t len = sizeof(at);

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 ||
	    bind(l->fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(l->fd, BACKLOG) < 0 ||
	    getsockname(l->fd, (struct sockaddr *)&at, &len) < 0) {
		error_errno(err, "listening for the sandbox");
		if (l->fd >= 0)
			close(l->fd);
		return -1;
	}
	l->port = ntohs(at.sin_port);
	return 0;
}

int listener_start(struct listener *l, struct error *err)
{
	if (cancel_init(&l->end, err) < 0)
		return -1;
	ids_random(l->token, LISTENER_TOKEN);
	if (open_socket(l, err) < 0) {
		cancel_release(&l->end);
		return -1;
	}
	if (pthread_create(&l->thread, NULL, serve, l) != 0) {
		close(l->fd);
		cancel_release(&l->end);
		return error_set(err, ERR_SYSTEM, "no thread to listen on");
	}
	l->runs = true;
	return 0;
}

void listener_stop(struct listener *l)
{
	if (!l->runs)
		return;
	cancel_trigger(&l->end);
	pthread_join(l->thread, NULL);
	close(l->fd);
	cancel_release(&l->end);
	l->runs = false;
}
