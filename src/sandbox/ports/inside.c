/* inside.c - connects in the network namespace of a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * A process must have one thread to enter a user namespace and could not
 * return, so a child enters, connects, and passes the socket over a socket
 * pair. The sandbox takes no part in it: nothing of dcode runs inside. The
 * child is a fork of a process with threads, so it makes system calls only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "sandbox/ports/ports.h"

enum {
	CONNECT_MS = 5000,
	ANSWER_MS = 2 * CONNECT_MS + 2000, /* for both addresses */
};

enum { FAILED_ENTER = 1, FAILED_CONNECT };

struct dialed {     /* of the child; the socket comes with it */
	int failed; /* FAILED_..., or 0 */
	int number; /* errno */
};

/* Waits until the socket is connected. */
static int finish_connect(int fd)
{
	struct pollfd set = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int failed = ETIMEDOUT;

	if (io_poll(&set, 1, CONNECT_MS) > 0)
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len);
	errno = failed;
	return failed ? -1 : 0;
}

/* Returns a connected socket, or -1 with errno. */
static int connect_to(int family, unsigned port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -1;
	rc = family == AF_INET
		     ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
		     : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	if (rc < 0 && errno == EINPROGRESS)
		rc = finish_connect(fd);
	if (rc < 0) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

int ports_enter(int namespace_fd)
{
	int owner = ioctl(namespace_fd, NS_GET_USERNS);

	if (owner >= 0 && setns(owner, CLONE_NEWUSER) < 0 && errno != EINVAL)
		return -1;
	return setns(namespace_fd, CLONE_NEWNET);
}

/* True for a sandbox that shares this machine's network. */
static bool is_own_network(int namespace_fd)
{
	struct stat theirs;
	struct stat ours;

	return fstat(namespace_fd, &theirs) == 0 &&
	       stat("/proc/self/ns/net", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static void send_answer(int sock, struct dialed a, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec data = { .iov_base = &a, .iov_len = sizeof(a) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c = &control.head;

	if (fd >= 0) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	(void)sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/* What the child does. */
static void connect_inside(int sock, int namespace_fd, unsigned port)
{
	struct dialed a = { 0 };
	int fd = -1;

	if (!is_own_network(namespace_fd) && ports_enter(namespace_fd) < 0) {
		a = (struct dialed){ FAILED_ENTER, errno };
	} else {
		fd = connect_to(AF_INET, port);
		if (fd < 0 && errno == ECONNREFUSED)
			fd = connect_to(AF_INET6, port);
		if (fd < 0) /* no IPv6 here: the first refusal counts */
			a = (struct dialed){
				FAILED_CONNECT,
				errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL
					? ECONNREFUSED
					: errno
			};
	}
	send_answer(sock, a, fd);
}

/* Waits for the child's answer. Returns the socket, or -1 with a. */
static int receive_answer(int sock, struct dialed *a, const struct stop *stop,
			  struct error *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { .iov_base = a, .iov_len = sizeof(*a) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct stop limit = stop_within(stop, ANSWER_MS);
	struct pollfd set[2] = { { .fd = sock, .events = POLLIN },
				 { .fd = stop_fd(stop), .events = POLLIN } };
	struct cmsghdr *c;
	int fd;

	if (io_poll(set, 2, stop_poll_ms(&limit, -1)) < 0)
		return error_errno(err, "waiting for a connection");
	if (!set[0].revents && stop_check(&limit, err) < 0)
		return -1;
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof(*a))
		return error_set(err, ERR_SYSTEM,
				 "no answer from the sandbox's network");
	c = CMSG_FIRSTHDR(&msg);
	if (a->failed || !c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static int explain(const struct dialed *a, unsigned port, struct error *err)
{
	errno = a->number;
	if (err->code)
		return -1;
	if (a->failed == FAILED_ENTER) {
		error_errno(err, "entering the sandbox's network");
		err->code = ERR_USAGE;
		return -1;
	}
	if (a->number == ECONNREFUSED)
		return error_set(err, ERR_NOT_FOUND,
				 "nothing listens on port %u in the sandbox",
				 port);
	return error_errno(err, "connecting to port %u in the sandbox", port);
}

int ports_dial_inside(pid_t inside, unsigned port, struct port_link *link,
		      const struct stop *stop, struct error *err)
{
	struct dialed a = { 0 };
	char path[64];
	int pair[2];
	int space;
	pid_t pid;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)inside);
	space = inside > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (space < 0) {
		error_errno(err, "opening the sandbox's network");
		err->code = ERR_USAGE;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		close(space);
		return error_errno(err, "a socket pair");
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		connect_inside(pair[1], space, port);
		_exit(0);
	}
	close(pair[1]);
	close(space);
	if (pid < 0)
		error_errno(err, "starting a process");
	else
		fd = receive_answer(pair[0], &a, stop, err);
	if (pid > 0) {
		if (fd < 0 && !a.failed)
			kill(pid, SIGKILL);
		io_reap(pid);
	}
	close(pair[0]);
	link->fd = fd;
	return fd < 0 ? explain(&a, port, err) : 0;
}
