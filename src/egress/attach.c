/* attach.c - sockets in the network namespace of a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * A short-lived process enters the namespace, because a process must have one
 * thread to enter the user namespace that owns it, and could not return. It
 * makes the sockets, passes them over a socket pair and ends. No process of the
 * sandbox can do what it does there: commands have no capability in the
 * namespace, so they can neither add a route nor use these ports again.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <net/if.h>

#include "base/io.h"
#include "base/stop.h"
#include "egress/internal.h"
#include "sandbox/ports/ports.h"

enum {
	LO_MS = 3000, /* until bubblewrap has raised the loopback interface */
	ROUTES = 64,
	DNS_PORT = 53,
	SOCKETS_MAX = EGRESS_PORTS + 2,
};

size_t egress_ports(const struct network *n, unsigned ports[EGRESS_PORTS])
{
	size_t count = 0;

	for (size_t i = 0; i < n->n + 2; i++) {
		unsigned port = i < n->n    ? n->rules[i].port
				: i == n->n ? 80
					    : 443;
		size_t at = 0;

		if (!port || (i < n->n && n->rules[i].denies))
			continue;
		while (at < count && ports[at] < port)
			at++;
		if (at < count && ports[at] == port)
			continue;
		if (count == EGRESS_PORTS)
			return SIZE_MAX;
		memmove(ports + at + 1, ports + at,
			(count++ - at) * sizeof(*ports));
		ports[at] = port;
	}
	return count;
}

/* Waits until the loopback interface is up. dcode does not raise it: then
 * bubblewrap's own attempt would fail. */
static int await_loopback(void)
{
	struct stop limit = stop_cleanup(LO_MS);
	struct error ignored = { 0 };
	struct ifreq r = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -1 : 0;

	while (rc == 0) {
		rc = ioctl(fd, SIOCGIFFLAGS, &r);
		if (rc == 0 && r.ifr_flags & IFF_UP)
			break;
		if (rc == 0 && stop_sleep(&limit, 5, &ignored) < 0) {
			errno = ENETDOWN;
			rc = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	char room[64];
};

static void add_attribute(struct route_request *q, unsigned short type,
			  const void *value, size_t len)
{
	struct rtattr *a =
		(struct rtattr *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), value, len);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) +
				       RTA_ALIGN(a->rta_len));
}

/* Makes the addresses local: what is sent to them arrives at this namespace's
 * own sockets. */
static int add_route(int fd, const void *address, unsigned bits, int lo)
{
	struct route_request q = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			  .nlmsg_type = RTM_NEWROUTE,
			  .nlmsg_flags =
				  NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
		.route = { .rtm_family = AF_INET,
			   .rtm_dst_len = (unsigned char)bits,
			   .rtm_table = RT_TABLE_LOCAL,
			   .rtm_protocol = RTPROT_STATIC,
			   .rtm_scope = RT_SCOPE_HOST,
			   .rtm_type = RTN_LOCAL }
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer = { 0 };

	add_attribute(&q, RTA_DST, address, 4);
	add_attribute(&q, RTA_OIF, &lo, sizeof(lo));
	if (send(fd, &q, q.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), MSG_TRUNC) <
		    (ssize_t)sizeof(answer.head))
		return -1;
	errno = -answer.error.error;
	return errno && errno != EEXIST ? -1 : 0;
}

/* Adds the routes of the pool and of the list's own addresses. */
static int add_routes(const struct network *n)
{
	const unsigned char pool[4] = { 198, 18, 0, 0 };
	int lo = (int)if_nametoindex("lo");
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc = fd < 0 || !lo ? -1 : add_route(fd, pool, 15, lo);

	for (size_t i = 0; rc == 0 && i < n->n; i++)
		if (n->rules[i].family == 4 && !n->rules[i].denies)
			rc = add_route(fd, n->rules[i].address,
				       n->rules[i].bits, lo);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_socket(int type, uint32_t address, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(address) };
	const int on = 1;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* Connections of an earlier proxy may still be closing. A listener that
	 * is open keeps the port to itself all the same. */
	if (fd >= 0 && type == SOCK_STREAM)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
			(type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The first byte of the message is 0, or 1 with errno after it. */
static int send_sockets(int sock, const int *fds, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SOCKETS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec data = { .iov_base = &errno, .iov_len = sizeof(errno) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c = &control.head;

	if (n) {
		errno = 0;
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Main function of the process that enters the namespace. */
static void make_sockets(int sock, int namespace_fd, const struct network *n)
{
	unsigned ports[EGRESS_PORTS];
	size_t count = egress_ports(n, ports);
	int fds[SOCKETS_MAX];
	bool ok = ports_enter(namespace_fd) == 0 && await_loopback() == 0 &&
		  add_routes(n) == 0;

	if (ok) {
		fds[0] = open_socket(SOCK_DGRAM, INADDR_LOOPBACK, DNS_PORT);
		fds[1] = open_socket(SOCK_STREAM, INADDR_LOOPBACK, DNS_PORT);
		ok = fds[0] >= 0 && fds[1] >= 0;
	}
	for (size_t i = 0; ok && i < count; i++) {
		fds[2 + i] = open_socket(SOCK_STREAM, INADDR_ANY, ports[i]);
		ok = fds[2 + i] >= 0;
	}
	(void)send_sockets(sock, fds, ok ? 2 + count : 0);
}

static int receive_sockets(int sock, size_t count, struct egress_sockets *s)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SOCKETS_MAX * sizeof(int))];
	} control;
	int fds[SOCKETS_MAX];
	int failed = 0;
	struct iovec data = { .iov_base = &failed, .iov_len = sizeof(failed) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (!c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN((2 + count) * sizeof(int))) {
		errno = failed ? failed : EPROTO;
		return -1;
	}
	memcpy(fds, CMSG_DATA(c), (2 + count) * sizeof(int));
	s->dns_udp = fds[0];
	s->dns_tcp = fds[1];
	s->n = count;
	memcpy(s->listeners, fds + 2, count * sizeof(int));
	return 0;
}

int egress_attach(int namespace_fd, const struct network *n,
		  struct egress_sockets *s, struct error *err)
{
	unsigned ports[EGRESS_PORTS];
	size_t count = egress_ports(n, ports);
	int pair[2];
	pid_t pid;
	int rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "a socket pair");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		make_sockets(pair[1], namespace_fd, n);
		_exit(0);
	}
	close(pair[1]);
	rc = pid < 0 ? -1 : receive_sockets(pair[0], count, s);
	if (rc < 0 && errno == EADDRINUSE)
		error_set(err, ERR_BUSY, "the sandbox has a proxy already");
	else if (rc < 0)
		error_errno(err, "entering the sandbox's network");
	if (pid > 0)
		io_reap(pid);
	close(pair[0]);
	return rc;
}
