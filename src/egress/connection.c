/* connection.c - carries one connection of the sandbox to its destination. */
/* SPDX-License-Identifier: MIT */
/*
 * Where a client wants to go is the address that it connected to: one of the
 * pool stands for a name, any other is itself. connection_serve() looks it up
 * in the list, resolves the name on this machine, once, and connects to an
 * address that it has checked. Attack: a listed name leads to a private address
 * (DNS rebinding), such as this machine's own services or 169.254.169.254.
 *
 * Then bytes are passed in both directions. What the client sends is held back
 * until inspect() has seen which host it names.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/stop.h"
#include "egress/credential/credential.h"
#include "egress/intercept/intercept.h"
#include "egress/internal.h"
#include "net/resolve.h"
#include "web/url.h"

enum {
	BUFFER = 128 << 10, /* bytes in each direction, with a whole head */
	PIPE = 1 << 20,     /* bytes; the kernel may give fewer */
	CONNECT_MS = 10000, /* for one address */
	DIAL_MS = 30000,    /* for the lookup and all addresses */
	HEAD_MS = 10000,    /* from the first byte to a whole head */
	SILENT_MS = 60000,  /* without a first byte, where one is needed */
	STATUS_BYTES = 12,  /* of "HTTP/1.1 101" */
	TLS_RECORD = 22,    /* first byte of a TLS client */
};

/* Bytes from one socket to the other. */
struct flow {
	int from, to;
	char *bytes;
	size_t sent, cleared, have; /* offsets: sent <= cleared <= have */
	bool ended;                 /* from sends no more */
	bool shut;                  /* and `to` was told */
	/* Nothing more has to be seen: bytes go through a pipe, without being
	 * copied. -1: none. */
	int pipe[2];
	size_t piped; /* bytes in it */
	uint64_t total;
};

enum stage {
	STAGE_FIRST, /* nothing is known of what the client speaks */
	STAGE_TLS,   /* the greeting is incomplete */
	STAGE_HTTP,
	STAGE_UPGRADE, /* waits for the server's answer to an upgrade */
	STAGE_OPEN,    /* nothing more is checked */
};

struct connection {
	const struct egress_server *server;
	struct egress_record record;
	struct network_rule destination;
	bool named; /* destination is a name */
	struct flow up, down;
	enum stage stage;
	struct request_reader requests;
	int64_t held_since; /* clock_ms(); 0: nothing is held back */
};

/* Closes with a reset, so that the client sees a failure, not an empty
 * answer. */
static void reset_client(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Reads where the client wants to go. */
static bool read_destination(struct connection *c, int fd)
{
	struct sockaddr_in a = { 0 };
	struct network_rule *d = &c->destination;
	socklen_t len = sizeof(a);
	char text[64];

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
	    a.sin_family != AF_INET)
		return false;
	d->port = c->record.port = ntohs(a.sin_port);
	if (names_has(a.sin_addr)) {
		c->named = names_find(a.sin_addr, c->record.host);
		d->host = c->record.host;
		return c->named;
	}
	d->family = 4;
	d->bits = 32;
	memcpy(d->address, &a.sin_addr, sizeof(a.sin_addr));
	address_print((struct sockaddr *)&a, text);
	memcpy(c->record.host, text, sizeof(text));
	d->host = c->record.host;
	return true;
}

/* Describes an address as an entry of a list. An IPv4 address in the form of
 * IPv6 is itself: connect() goes to the same machine. */
static struct network_rule rule_of(const struct sockaddr *a, unsigned port)
{
	struct network_rule r = { .port = port };

	if (a->sa_family == AF_INET6) {
		const struct in6_addr *six =
			&((const struct sockaddr_in6 *)a)->sin6_addr;
		bool mapped = IN6_IS_ADDR_V4MAPPED(six);

		r.family = mapped ? 4 : 6;
		r.bits = mapped ? 32 : 128;
		memcpy(r.address, six->s6_addr + (mapped ? 12 : 0),
		       mapped ? 4 : 16);
	} else {
		r.family = 4;
		r.bits = 32;
		memcpy(r.address, &((const struct sockaddr_in *)a)->sin_addr,
		       4);
	}
	return r;
}

struct route_query {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr address;
	unsigned char bytes[16];
};

/* Asks the kernel for the route to an address. Returns RTN_..., or
 * RTN_UNREACHABLE. */
static int find_route(const struct network_rule *r)
{
	const unsigned short len = r->family == 4 ? 4 : 16;
	struct route_query q = {
		.head = { .nlmsg_len = (uint32_t)(sizeof(q) - 16 + len),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = r->family == 4 ? AF_INET : AF_INET6,
			   .rtm_dst_len = (unsigned char)(8 * len) },
		.address = { .rta_len = (unsigned short)RTA_LENGTH(len),
			     .rta_type = RTA_DST },
	};
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		char rest[512];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int type = RTN_UNREACHABLE;

	memcpy(q.bytes, r->address, len);
	if (fd >= 0 && send(fd, &q, q.head.nlmsg_len, 0) > 0 &&
	    recv(fd, &answer, sizeof(answer), 0) >=
		    (ssize_t)(sizeof(answer.head) + sizeof(answer.route)) &&
	    answer.head.nlmsg_type == RTM_NEWROUTE)
		type = answer.route.rtm_type;
	if (fd >= 0)
		close(fd);
	return type;
}

/* True if the connection may go to this address: it is on the Internet, and not
 * one of this machine's interfaces, whose services trust it more, or the list
 * has the address itself, and the list does not deny it. Attack: a list
 * that allows all hosts but some, and a connection to 127.0.0.1:80, which a
 * listener of the proxy takes. */
static bool may_lead_to(const struct connection *c, const struct sockaddr *a)
{
	struct network_rule r = rule_of(a, c->destination.port);
	const struct network_rule *listed;
	bool allows = c->server->allows(&r, &listed);

	if (listed)
		return allows;
	return address_reach(a) == ADDRESS_PUBLIC &&
	       find_route(&r) == RTN_UNICAST;
}

static void set_port(struct sockaddr_storage *a, unsigned port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)a)->sin_port = htons((uint16_t)port);
}

/* Connects to one address. Returns the socket or -1. */
static int connect_to(const struct sockaddr_storage *a, const struct stop *stop)
{
	struct stop own = stop_within(stop, CONNECT_MS);
	socklen_t len = a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						 : sizeof(struct sockaddr_in);
	int fd = socket(a->ss_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd set = { .fd = fd, .events = POLLOUT };
	int failed = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)a, len) < 0)
		failed = errno;
	if (failed == EINPROGRESS) {
		len = sizeof(failed);
		if (io_poll(&set, 1, stop_poll_ms(&own, -1)) <= 0)
			failed = ETIMEDOUT;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) <
			 0)
			failed = errno;
	}
	if (!failed)
		return fd;
	close(fd);
	return -1;
}

/* Resolves and connects. Returns the socket, or -1 with a verdict. */
static int dial(struct connection *c)
{
	struct stop stop = stop_cleanup(DIAL_MS);
	struct error ignored = { 0 };
	struct resolved found = { 0 };

	c->record.verdict = EGRESS_FAILED;
	if (!c->named) {
		struct sockaddr_in *a = (struct sockaddr_in *)found.list;

		a->sin_family = AF_INET;
		memcpy(&a->sin_addr, c->destination.address, 4);
		found.n = 1;
	} else if (resolve_host(c->record.host, &found, &stop, &ignored) < 0) {
		return -1;
	}
	for (size_t i = 0; i < found.n; i++) {
		struct sockaddr_storage *a = &found.list[i];
		int fd;

		if (!may_lead_to(c, (struct sockaddr *)a)) {
			c->record.verdict = EGRESS_PRIVATE;
			continue;
		}
		set_port(a, c->destination.port);
		fd = connect_to(a, &stop);
		if (fd >= 0)
			return fd;
		c->record.verdict = EGRESS_FAILED;
	}
	return -1;
}

/* From now on passes bytes without looking at them. */
static void open_pipe(struct flow *f)
{
	if (f->pipe[0] >= 0 || pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return; /* without a pipe they go through the buffer */
	(void)fcntl(f->pipe[1], F_SETPIPE_SZ, PIPE);
}

/* Clears n bytes of what the client sent. */
static void clear_bytes(struct connection *c, size_t n)
{
	c->up.cleared += n;
}

static bool refuse(struct connection *c, enum egress_verdict verdict)
{
	c->record.verdict = (uint16_t)verdict;
	return false;
}

static bool inspect_hello(struct connection *c)
{
	struct flow *f = &c->up;
	char name[EGRESS_NAME];
	enum hello_result got =
		hello_read((const unsigned char *)f->bytes + f->cleared,
			   f->have - f->cleared, name);

	if (got == HELLO_MORE)
		return true;
	if (got == HELLO_BAD || (c->named && strcmp(name, c->record.host) != 0))
		return refuse(c, EGRESS_MISMATCH);
	c->stage = STAGE_OPEN;
	return true;
}

/* True if the next n bytes, which are not encrypted, have the placeholder of a
 * secret. */
static bool has_placeholder(const struct connection *c, long n)
{
	const struct intercept *i = c->server->intercept;
	const char *bytes = c->up.bytes + c->up.cleared;

	return i && n > 0 &&
	       head_find_placeholder(i->secrets,
				     (struct str){ bytes, (size_t)n });
}

static bool inspect_requests(struct connection *c)
{
	struct flow *f = &c->up;

	while (c->stage == STAGE_HTTP) {
		size_t whole = 0;
		long n = request_read(&c->requests, f->bytes + f->cleared,
				      f->have - f->cleared, &whole);

		if (has_placeholder(c, n == REQUEST_UPGRADE ? (long)whole : n))
			return refuse(c, EGRESS_SECRET);
		if (n == REQUEST_UPGRADE) {
			clear_bytes(c, whole);
			c->stage = STAGE_UPGRADE;
		} else if (n < 0) {
			return refuse(c, n == REQUEST_BAD ? EGRESS_PLAIN
							  : EGRESS_MISMATCH);
		} else if (n == 0) {
			return true;
		} else {
			clear_bytes(c, (size_t)n);
		}
	}
	return true;
}

/* Clears what the client may send on. False: the connection is refused. On the
 * ports of HTTP and HTTPS only these are spoken, because other bytes could be a
 * request that this reader does not recognize as one. On other ports, which the
 * user has listed one by one, TLS must name the host and the rest is free. */
static bool inspect(struct connection *c)
{
	struct flow *f = &c->up;

	if (c->stage == STAGE_FIRST && f->have > f->cleared) {
		unsigned port = c->destination.port;

		if ((unsigned char)f->bytes[f->cleared] == TLS_RECORD)
			c->stage = STAGE_TLS;
		else if (port == 443)
			return refuse(c, EGRESS_PLAIN);
		else
			c->stage = port == 80 ? STAGE_HTTP : STAGE_OPEN;
	}
	if (c->stage == STAGE_TLS && !inspect_hello(c))
		return false;
	if (c->stage == STAGE_HTTP && !inspect_requests(c))
		return false;
	if (c->stage == STAGE_OPEN) {
		clear_bytes(c, f->have - f->cleared);
		open_pipe(f);
	}
	if (f->have == f->cleared)
		c->held_since = 0;
	else if (!c->held_since)
		c->held_since = clock_ms();
	return true;
}

/* Clears what the server sent, and looks for its answer to an upgrade. */
static bool inspect_answer(struct connection *c)
{
	struct flow *f = &c->down;

	if (c->stage == STAGE_UPGRADE) {
		bool first = !f->total;

		if (first && f->have < STATUS_BYTES && !f->ended)
			return true;
		c->stage = first && f->have >= STATUS_BYTES &&
					   !memcmp(f->bytes, "HTTP/1.1 101",
						   STATUS_BYTES)
				   ? STAGE_OPEN
				   : STAGE_HTTP;
		f->cleared = f->have;
		return inspect(c);
	}
	f->cleared = f->have;
	if (c->stage != STAGE_FIRST && c->stage != STAGE_UPGRADE)
		open_pipe(f);
	return true;
}

static bool fill_pipe(struct flow *f)
{
	ssize_t n = splice(f->from, NULL, f->pipe[1], NULL, PIPE,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->ended = n == 0;
	f->piped += (size_t)n;
	return true;
}

/* Reads once. False if the connection is broken. */
static bool fill(struct flow *f)
{
	ssize_t n;

	if (f->pipe[0] >= 0)
		return fill_pipe(f);

	if (f->sent == f->have)
		f->sent = f->cleared = f->have = 0;
	if (f->sent && f->have == BUFFER) {
		memmove(f->bytes, f->bytes + f->sent, f->have - f->sent);
		f->cleared -= f->sent;
		f->have -= f->sent;
		f->sent = 0;
	}
	n = recv(f->from, f->bytes + f->have, BUFFER - f->have, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->ended = n == 0;
	f->have += (size_t)n;
	return true;
}

/* Sends once what is cleared. False if the connection is broken. */
static bool drain(struct flow *f)
{
	bool buffered = f->cleared > f->sent;
	ssize_t n = buffered ? send(f->to, f->bytes + f->sent,
				    f->cleared - f->sent, MSG_NOSIGNAL)
			     : splice(f->pipe[0], NULL, f->to, NULL, f->piped,
				      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (buffered)
		f->sent += (size_t)n;
	else
		f->piped -= (size_t)n;
	f->total += (uint64_t)n;
	return true;
}

static void pass_end(struct flow *f)
{
	if (f->ended && f->sent == f->have && !f->piped && !f->shut) {
		shutdown(f->to, SHUT_WR);
		f->shut = true;
	}
}

static bool wants_input(const struct flow *f)
{
	if (f->pipe[0] >= 0)
		return !f->ended && !f->piped;
	return !f->ended && (f->have < BUFFER || f->sent);
}

static bool has_output(const struct flow *f)
{
	return f->cleared > f->sent || f->piped;
}

/* Returns for how long to wait, in ms; -1: without a limit, -2: too late. */
static int wait_ms(const struct connection *c)
{
	unsigned port = c->destination.port;
	int64_t left = -1;

	if (c->held_since && c->stage != STAGE_UPGRADE)
		left = c->held_since + HEAD_MS - clock_ms();
	else if (c->stage == STAGE_FIRST && (port == 80 || port == 443))
		return SILENT_MS;
	else
		return -1;
	return left > 0 ? (int)left : -2;
}

/* Waits for one of the sockets. False at a deadline. */
static bool await_sockets(const struct connection *c, struct pollfd set[2])
{
	const struct flow *up = &c->up;
	const struct flow *down = &c->down;
	int ms = wait_ms(c);

	set[0] = (struct pollfd){ .fd = up->from };
	set[1] = (struct pollfd){ .fd = down->from };
	set[0].events = (short)((wants_input(up) ? POLLIN : 0) |
				(has_output(down) ? POLLOUT : 0));
	set[1].events = (short)((wants_input(down) ? POLLIN : 0) |
				(has_output(up) ? POLLOUT : 0));
	/* a hang-up would be reported again and again */
	for (int i = 0; i < 2; i++)
		if (!set[i].events)
			set[i].fd = -1;
	/* Attack: a server that has ended first, and an upgrade that it will
	 * never answer: nothing more can happen. */
	if (set[0].fd < 0 && set[1].fd < 0)
		return false;
	return ms != -2 && io_poll(set, 2, ms) > 0;
}

/* Passes bytes until both sides have ended or one of them breaks. */
static void relay(struct connection *c)
{
	struct flow *up = &c->up;
	struct flow *down = &c->down;
	struct pollfd set[2];

	while (!(up->shut && down->shut) && await_sockets(c, set)) {
		if (set[0].revents && wants_input(up) &&
		    (!fill(up) || !inspect(c)))
			return;
		if (set[1].revents && wants_input(down) &&
		    (!fill(down) || !inspect_answer(c)))
			return;
		if ((has_output(up) && !drain(up)) ||
		    (has_output(down) && !drain(down)))
			return;
		pass_end(up);
		pass_end(down);
	}
}

static void set_options(int fd)
{
	const int on = 1;
	const int idle = 60;  /* s */
	const int pause = 15; /* s */
	const int tries = 4;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* a side that is gone without a word is noticed after two minutes */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof(pause));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void release_flow(struct flow *f)
{
	for (int i = 0; i < 2; i++)
		if (f->pipe[i] >= 0)
			close(f->pipe[i]);
	free(f->bytes);
}

/* Passes bytes between the two sockets. */
static void pass_bytes(struct connection *c, int fd, int remote)
{
	c->requests = (struct request_reader){ .host = c->record.host,
					       .port = c->destination.port };
	c->up = (struct flow){ .from = fd,
			       .to = remote,
			       .bytes = xcalloc(BUFFER, 1),
			       .pipe = { -1, -1 } };
	c->down = (struct flow){ .from = remote,
				 .to = fd,
				 .bytes = xcalloc(BUFFER, 1),
				 .pipe = { -1, -1 } };
	relay(c);
	c->record.up = c->up.total;
	c->record.down = c->down.total;
	release_flow(&c->up);
	release_flow(&c->down);
}

static bool must_intercept(const struct connection *c)
{
	const struct intercept *i = c->server->intercept;

	return i && c->named &&
	       intercept_is_for(i, c->record.host, c->destination.port);
}

void connection_serve(const struct egress_server *s, int fd,
		      void (*settled)(void *arg,
				      const struct network_rule *destination),
		      void *arg)
{
	struct connection c = { .server = s };
	const struct network_rule *rule;
	bool reported = false;
	int remote = -1;

	c.record.verdict = EGRESS_UNLISTED;
	if (!read_destination(&c, fd)) {
		reset_client(fd);
		return;
	}
	/* only a name: an address that is not listed is this machine's own */
	if (s->allows(&c.destination, &rule) ||
	    (!rule && c.named && s->await(&c.destination))) {
		settled(arg, &c.destination);
		/* The list may have changed before it was settled, and then
		 * nobody else ends the connection. */
		if (s->allows(&c.destination, &rule))
			remote = dial(&c);
	}
	if (remote >= 0) {
		c.record.verdict = EGRESS_ALLOWED;
		set_options(fd);
		set_options(remote);
		if (must_intercept(&c))
			reported = intercept_serve(s, fd, remote, &c.record);
		else
			pass_bytes(&c, fd, remote);
		close(remote);
	}
	if (reported)
		return;
	if (c.record.verdict != EGRESS_ALLOWED)
		reset_client(fd);
	s->report(&c.record);
}
