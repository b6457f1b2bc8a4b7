/* forward.c - a listener on this machine for a port of a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * One thread accepts connections. Each gets a thread of its own, which connects
 * to the sandbox (sandbox_dial()) and copies bytes in both directions until
 * both have ended. Begin reading at accept_all(), then serve().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "net/conn.h"
#include "sandbox/ports/ports.h"

enum {
	PORT_MAX = 65535,
	CONNECTIONS_MAX = 64,       /* at once; more wait */
	CHUNK = PORTS_GREETING_MAX, /* bytes that a direction holds */
	GREETING_MS = 10000,        /* until a request's head must be whole */
	/* until a blank must follow what may be a method: browsers send both at
	 * once, and other clients may wait for an answer */
	METHOD_MS = 300,
	DIAL_MS = 30000,
	WARN_MS = 1000, /* between two warnings */
	SAID_MAX = 512,
};

struct forward {
	struct forward_request with;
	unsigned local;
	int listener;
	pthread_t thread;
	struct cancel over;     /* ends all threads */
	pthread_mutex_t asking; /* guards url, which is empty at first */
	struct port_url url;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock: */
	unsigned connections;
	int64_t warned; /* clock_ms() of the last warning */
};

struct passage { /* of one thread */
	struct forward *forward;
	int client;
	struct port_link link;
	bool answered; /* the sandbox has sent something */
};

struct direction { /* initialise with { .from, .to } */
	int from, to;
	char *room; /* owned: CHUNK bytes */
	size_t at, len;
	bool eof;    /* from has ended */
	bool passed; /* ... and `to` was told */
};

int forward_parse(const char *text, unsigned *local, unsigned *port,
		  struct error *err)
{
	struct str rest = str_of(text);
	size_t colon = str_find(rest, ':');
	struct str first = { rest.ptr, colon };
	int64_t n = 0;
	int64_t here = 0;

	rest = colon < rest.len ? str_skip(rest, colon + 1) : rest;
	if (!str_to_int(rest, &n) || n < 1 || n > PORT_MAX ||
	    (first.ptr != rest.ptr &&
	     (!str_to_int(first, &here) || here < 1 || here > PORT_MAX)))
		return error_set(err, ERR_USAGE,
				 "not a port: '%.40s'; write PORT or "
				 "LOCAL:PORT, 1 to 65535",
				 text);
	*local = (unsigned)here;
	*port = (unsigned)n;
	return 0;
}

static bool is_token_char(char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr(others, c));
}

/* True if a Host header names this machine. */
static bool is_this_machine(struct str value)
{
	static const char *const names[] = { "localhost", "127.0.0.1",
					     "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);
		struct str port;

		if (value.len < len ||
		    !str_is_nocase((struct str){ value.ptr, len }, names[i]))
			continue;
		port = str_skip(value, len);
		if (!port.len)
			return true;
		if (port.ptr[0] != ':' || port.len > 6)
			return false;
		for (size_t k = 1; k < port.len; k++)
			if (port.ptr[k] < '0' || port.ptr[k] > '9')
				return false;
		return true;
	}
	return false;
}

/* Checks a whole head: exactly one Host, which names this machine. HTTP/1.0 may
 * have none: no browser speaks it. */
static enum ports_greeting check_head(struct str head, bool is_old)
{
	struct str line;
	int hosts = 0;

	(void)str_split(&head, '\n', &line); /* the request line */
	while (str_split(&head, '\n', &line)) {
		size_t colon = str_find(line, ':');

		if (colon == line.len ||
		    !str_is_nocase(str_trim((struct str){ line.ptr, colon }),
				   "host"))
			continue;
		if (++hosts > 1 ||
		    !is_this_machine(str_trim(str_skip(line, colon + 1))))
			return GREETING_REFUSED;
	}
	return hosts || is_old ? GREETING_GOOD : GREETING_REFUSED;
}

/* Returns the length of the head with its empty line, or 0. */
static size_t head_length(struct str seen)
{
	for (size_t i = 0; i + 1 < seen.len; i++) {
		if (seen.ptr[i] != '\n')
			continue;
		if (seen.ptr[i + 1] == '\n')
			return i + 2;
		if (i + 2 < seen.len && seen.ptr[i + 1] == '\r' &&
		    seen.ptr[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

/* A page can choose a method, an address and headers of any length, so what
 * begins like a request is read to its end, or refused. */
enum ports_greeting ports_read_greeting(struct str seen)
{
	enum ports_greeting more = seen.len < PORTS_GREETING_MAX
					   ? GREETING_MORE
					   : GREETING_REFUSED;
	size_t method = 0;
	struct str line;
	size_t version;
	size_t whole;

	while (method < seen.len && is_token_char(seen.ptr[method]))
		method++;
	if (method == seen.len)
		return more;
	if (!method || seen.ptr[method] != ' ')
		return GREETING_GOOD;
	line = (struct str){ seen.ptr, str_find(seen, '\n') };
	if (line.len == seen.len)
		return more;
	version = str_search(line, STR(" HTTP/1."));
	if (version == line.len)
		return GREETING_GOOD;
	whole = head_length(seen);
	if (!whole)
		return more;
	return check_head((struct str){ seen.ptr, whole },
			  str_starts(str_skip(line, version), " HTTP/1.0"));
}

/* Tells the user, at most once a second. */
static void warn(struct forward *f, const char *text)
{
	int64_t now = clock_ms();
	struct buf line = BUF_INIT(1 << 12);
	bool due;

	pthread_mutex_lock(&f->lock);
	due = !f->warned || now - f->warned >= WARN_MS;
	if (due)
		f->warned = now;
	pthread_mutex_unlock(&f->lock);
	if (!due)
		return;
	buf_addf(&line, "port %u: ", f->with.port);
	sanitize_line(str_of(text), &line);
	f->with.warn(f->with.arg, line.ptr);
	buf_release(&line);
}

/* Reads what the source has. False if the connection is broken. */
static bool read_some(struct direction *d)
{
	ssize_t n = recv(d->from, d->room, CHUNK, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	d->at = 0;
	d->len = (size_t)n;
	d->eof = n == 0;
	return true;
}

/* Writes what is held, and passes on the end. False if the connection is
 * broken. */
static bool write_some(struct direction *d)
{
	while (d->at < d->len) {
		ssize_t n = send(d->to, d->room + d->at, d->len - d->at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		d->at += (size_t)n;
	}
	if (d->eof && !d->passed) {
		(void)shutdown(d->to, SHUT_WR);
		d->passed = true;
	}
	return true;
}

static bool holds_bytes(const struct direction *d)
{
	return d->at < d->len;
}

/* Copies both directions until both have ended, or one is broken. */
static void copy_both(struct passage *c, struct direction *up,
		      struct direction *down)
{
	struct stop stop = stop_on(&c->forward->over);

	while (!up->passed || !down->passed) {
		struct pollfd set[3] = {
			{ .fd = stop_fd(&stop), .events = POLLIN },
			{ .fd = c->client },
			{ .fd = c->link.fd },
		};

		set[1].events =
			(short)((!holds_bytes(up) && !up->eof ? POLLIN : 0) |
				(holds_bytes(down) ? POLLOUT : 0));
		set[2].events =
			(short)((!holds_bytes(down) && !down->eof ? POLLIN
								  : 0) |
				(holds_bytes(up) ? POLLOUT : 0));
		/* a socket that has hung up would be reported all the time */
		for (int i = 1; i < 3; i++)
			if (!set[i].events)
				set[i].fd = -1;
		if (io_poll(set, 3, -1) < 0 || set[0].revents)
			return;
		if (set[1].revents && !holds_bytes(up) && !up->eof &&
		    !read_some(up))
			return;
		if (set[2].revents && !holds_bytes(down) && !down->eof) {
			if (!read_some(down))
				return;
			c->answered |= holds_bytes(down);
		}
		if (!write_some(up) || !write_some(down))
			return;
	}
}

static void refuse(const struct passage *c)
{
	static const char text[] =
		"HTTP/1.1 403 Forbidden\r\n"
		"Content-Type: text/plain\r\nContent-Length: 62\r\n"
		"Connection: close\r\n\r\n"
		"dcode serves this port under localhost, 127.0.0.1 and "
		"[::1].\r\n";

	(void)send(c->client, text, sizeof(text) - 1,
		   MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(c->client, SHUT_WR);
}

/* Reads the client's first bytes until they show that it may be served. The
 * sandbox's own first bytes are passed on meanwhile: some servers speak
 * first. */
static bool admit(struct passage *c, struct direction *up,
		  struct direction *down)
{
	struct stop stop = stop_on(&c->forward->over);
	struct stop limit = stop;
	enum ports_greeting greeting = GREETING_MORE;

	while (greeting == GREETING_MORE) {
		struct pollfd set[3] = {
			{ .fd = stop_fd(&stop), .events = POLLIN },
			{ .fd = c->client,
			  .events =
				  (short)(POLLIN |
					  (holds_bytes(down) ? POLLOUT : 0)) },
			{ .fd = down->eof || holds_bytes(down) ? -1
							       : c->link.fd,
			  .events = POLLIN },
		};
		ssize_t n;

		if (io_poll(set, 3, stop_poll_ms(&limit, -1)) < 0 ||
		    set[0].revents)
			return false;
		if (clock_ms() >= limit.deadline)
			return !memchr(up->room, ' ', up->len);
		if (set[2].revents) {
			if (!read_some(down))
				return false;
			c->answered |= holds_bytes(down);
		}
		if (!write_some(down))
			return false;
		if (!(set[1].revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = recv(c->client, up->room + up->len, CHUNK - up->len,
			 MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		up->len += n > 0 ? (size_t)n : 0;
		up->eof = n == 0;
		if (n > 0 && limit.deadline == INT64_MAX)
			limit = stop_within(&stop, METHOD_MS);
		if (n > 0 && memchr(up->room, ' ', up->len))
			limit = stop_within(&stop, GREETING_MS);
		greeting =
			ports_read_greeting((struct str){ up->room, up->len });
		/* a client that ends without a request asks for nothing */
		if (greeting == GREETING_MORE && up->eof)
			greeting = GREETING_GOOD;
	}
	if (greeting == GREETING_REFUSED)
		refuse(c);
	return greeting == GREETING_GOOD;
}

/* If the program ended without an answer, shows the user what it printed. */
static void report_silent(struct passage *c)
{
	char said[SAID_MAX];
	ssize_t n = c->answered || c->link.said < 0
			    ? 0
			    : io_read(c->link.said, said, sizeof(said) - 1);

	if (n <= 0)
		return;
	said[n] = '\0';
	warn(c->forward, said);
}

/* Copies the vendor's address for the port, and asks for it first unless it is
 * known. */
static int find_url(struct forward *f, struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	struct sandbox *sb = f->with.sandbox;
	int rc = 0;

	pthread_mutex_lock(&f->asking);
	if (f->url.until && clock_ms() >= f->url.until)
		port_url_release(&f->url);
	if (!f->url.url)
		rc = ports_ask_url(sb, f->with.port, false, &f->url, stop, err);
	if (rc == 0) {
		*u = f->url;
		u->url = xstrdup(f->url.url);
		u->token = xstrdup(f->url.token);
		u->more = xstrdup(f->url.more);
	}
	pthread_mutex_unlock(&f->asking);
	return rc < 0 ? -1 : 0;
}

/* True for headers that dcode replaces. */
static bool is_replaced(struct str name, const struct port_url *u)
{
	static const char *const names[] = { "host", "connection",
					     "proxy-connection", "keep-alive" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_is_nocase(name, names[i]))
			return true;
	return str_is_nocase(name, u->header);
}

/* Appends the head with the vendor's host and token. The server ends the
 * connection after its answer, so that each request has a head of its own. */
static void rewrite_head(struct str head, const struct port_url *u,
			 struct buf *out)
{
	struct str host = str_of(u->url);
	bool upgrades = false;
	struct str prefix;
	struct str line;
	size_t method;

	host = str_skip(host, str_search(host, STR("://")) + 3);
	prefix = str_skip(host, str_find(host, '/'));
	host.len -= prefix.len;
	(void)str_split(&head, '\n', &line);
	line = str_trim(line);
	method = str_find(line, ' ') + 1;
	buf_addstr(out, (struct str){ line.ptr, method });
	buf_addstr(out, prefix);
	buf_addstr(out, str_skip(line, method));
	buf_adds(out, "\r\nHost: ");
	buf_addstr(out, host);
	buf_addf(out, "\r\n%s: %s\r\n%s", u->header, u->token,
		 u->more ? u->more : "");
	while (str_split(&head, '\n', &line)) {
		struct str name = { line.ptr, str_find(line, ':') };

		line = str_trim(line);
		if (!line.len || is_replaced(str_trim(name), u))
			continue;
		upgrades |= str_is_nocase(str_trim(name), "upgrade");
		buf_addstr(out, line);
		buf_adds(out, "\r\n");
	}
	buf_addf(out, "Connection: %s\r\n\r\n", upgrades ? "Upgrade" : "close");
}

/* Copies both directions until the vendor has answered. */
static int copy_web(struct passage *c, struct conn *conn, struct direction *up,
		    const struct stop *stop, struct error *err)
{
	char *room = xcalloc(1, CHUNK);
	struct error left = { 0 };
	bool closed = false;
	int rc = 0;

	while (rc == 0 && !closed) {
		int64_t got = conn_try_recv(conn, room, CHUNK, &closed, err);
		int64_t sent = 0;

		if (got > 0 &&
		    stop_send(stop, c->client, room, (size_t)got, &left) < 0)
			break; /* the client has left: not a failure */
		if (holds_bytes(up))
			sent = conn_try_send(conn,
					     (struct str){ up->room + up->at,
							   up->len - up->at },
					     err);
		up->at += sent > 0 ? (size_t)sent : 0;
		if (got < 0 || sent < 0)
			rc = -1;
		if (rc == 0 && !holds_bytes(up) && !up->eof && !read_some(up))
			break;
		if (rc == 0 && !got && !sent && !closed)
			rc = conn_wait_or(
				conn, holds_bytes(up),
				holds_bytes(up) || up->eof ? -1 : c->client, -1,
				stop, err);
	}
	free(room);
	return rc;
}

/* Sends the client's request, whose head up holds, to the vendor's address. */
static int pass_request(struct passage *c, struct direction *up,
			const struct stop *stop, struct error *err)
{
	struct stop limit = stop_within(stop, DIAL_MS);
	struct str seen = { up->room, up->len };
	struct port_url u = { 0 };
	struct conn *conn = NULL;
	struct buf head = BUF_INIT(2 * CHUNK);
	size_t len = head_length(seen);
	int rc;

	if (!len || ports_read_greeting(seen) != GREETING_GOOD ||
	    str_search((struct str){ up->room, len }, STR(" HTTP/1.")) == len ||
	    up->room[str_find(seen, ' ') + 1] != '/')
		return error_set(err, ERR_USAGE,
				 "this provider passes on HTTP alone");
	rc = find_url(c->forward, &u, &limit, err);
	if (rc == 0) {
		rewrite_head((struct str){ up->room, len }, &u, &head);
		up->at = len;
		rc = conn_open(&conn, c->forward->with.sandbox->client->http,
			       &(struct conn_target){ .url = u.url }, &limit,
			       err);
	}
	if (rc == 0)
		rc = conn_send(conn, buf_str(&head), stop, err);
	if (rc == 0)
		rc = copy_web(c, conn, up, stop, err);
	conn_close(conn);
	port_url_release(&u);
	buf_wipe(&head);
	return rc;
}

/* Connects to the port itself, and copies bytes. */
static int pass_bytes(struct passage *c, struct direction *up,
		      struct direction *down, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = c->forward->with.sandbox;
	struct stop limit = stop_within(stop, DIAL_MS);

	if (ports_ops(sb->client)
		    ->dial(sb, c->forward->with.port, &c->link, &limit, err) <
	    0)
		return sandbox_blame(sb->client, err);
	up->from = down->to = c->client;
	up->to = down->from = c->link.fd;
	if (admit(c, up, down))
		copy_both(c, up, down);
	report_silent(c);
	return 0;
}

static void serve(struct passage *c)
{
	const struct sandbox_client *client = c->forward->with.sandbox->client;
	struct stop stop = stop_on(&c->forward->over);
	struct direction up = { .from = c->client, .room = xcalloc(1, CHUNK) };
	struct direction down = { .to = c->client, .room = xcalloc(1, CHUNK) };
	struct error err = { 0 };
	int rc = 0;

	if (ports_ops(client)->dial)
		rc = pass_bytes(c, &up, &down, &stop, &err);
	else if (admit(c, &up, &down))
		rc = pass_request(c, &up, &stop, &err);
	if (rc < 0 && err.code != ERR_CANCELLED)
		warn(c->forward, err.message);
	free(up.room);
	free(down.room);
}

static void close_link(struct port_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	if (link->said >= 0)
		close(link->said);
	if (link->end)
		link->end(link);
}

static void *run_connection(void *arg)
{
	struct passage *c = arg;
	struct forward *f = c->forward;

	serve(c);
	close(c->client);
	close_link(&c->link);
	free(c);
	pthread_mutex_lock(&f->lock);
	f->connections--;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* Gives the connection a thread of its own. */
static void begin_connection(struct forward *f, int client)
{
	struct passage *c = xcalloc(1, sizeof(*c));
	struct error err = { 0 };
	pthread_t thread;
	int on = 1;

	*c = (struct passage){ .forward = f,
			       .client = client,
			       .link = PORT_LINK_NONE };
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	pthread_mutex_lock(&f->lock);
	f->connections++;
	pthread_mutex_unlock(&f->lock);
	if (thread_start(&thread, run_connection, c, &err) == 0) {
		pthread_detach(thread);
		return;
	}
	warn(f, err.message);
	close(client);
	free(c);
	pthread_mutex_lock(&f->lock);
	f->connections--;
	pthread_mutex_unlock(&f->lock);
}

/* Waits until there is room for one more connection. */
static void await_room(struct forward *f)
{
	pthread_mutex_lock(&f->lock);
	while (f->connections >= CONNECTIONS_MAX && !cancel_triggered(&f->over))
		thread_wait(&f->changed, &f->lock, 100);
	pthread_mutex_unlock(&f->lock);
}

static void *accept_all(void *arg)
{
	struct forward *f = arg;
	struct stop stop = stop_on(&f->over);
	struct error ignored = { 0 };

	for (;;) {
		struct pollfd set[2] = {
			{ .fd = stop_fd(&stop), .events = POLLIN },
			{ .fd = f->listener, .events = POLLIN },
		};
		int client;

		await_room(f);
		if (io_poll(set, 2, -1) < 0 || set[0].revents)
			return NULL;
		client = accept4(f->listener, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client >= 0)
			begin_connection(f, client);
		else if (errno != EAGAIN && errno != ECONNABORTED)
			/* such as no more descriptors */
			(void)stop_sleep(&stop, 100, &ignored);
	}
}

/* Listens on 127.0.0.1. Returns the socket, or -1 with errno. */
static int listen_on(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	int saved;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* The port that the socket has. */
static unsigned port_of(int fd)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a);

	(void)getsockname(fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

/* Chooses the local port: the one that was asked for, or the sandbox's number,
 * or a free one. */
static int choose_port(struct forward *f, struct error *err)
{
	unsigned wanted = f->with.local ? f->with.local : f->with.port;

	f->listener = listen_on(wanted);
	/* a port below 1024 needs root */
	if (f->listener < 0 && !f->with.local)
		f->listener = listen_on(0);
	if (f->listener >= 0)
		return 0;
	error_errno(err, "listening on 127.0.0.1:%u", wanted);
	if (errno == EADDRINUSE)
		err->code = ERR_BUSY;
	return error_hint(err, "Choose another port: LOCAL:%u.", f->with.port);
}

int forward_check(const struct sandbox_client *client, struct error *err)
{
	const struct port_ops *ops = ports_ops(client);

	if (ops->dial || ops->url)
		return 0;
	error_set(err, ERR_USAGE,
		  "dcode cannot reach the ports of this sandbox (%s)%s%s",
		  client->provider->name, ops->why_none ? ": " : "",
		  ops->why_none ? ops->why_none : "");
	return error_hint(err, ops->publish ? "`dcode sandbox url ID PORT "
					      "--public` opens a port to "
					      "everybody."
					    : "`dcode help ports` names the "
					      "providers with ports.");
}

int forward_open(struct forward **out, const struct forward_request *r,
		 struct error *err)
{
	struct forward *f = xcalloc(1, sizeof(*f));
	int rc;

	*f = (struct forward){ .with = *r,
			       .listener = -1,
			       .over = { { -1, -1 } },
			       .asking = PTHREAD_MUTEX_INITIALIZER,
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .changed = PTHREAD_COND_INITIALIZER };
	rc = choose_port(f, err);
	if (rc == 0)
		rc = cancel_init(&f->over, err);
	if (rc == 0) {
		f->local = port_of(f->listener);
		rc = thread_start(&f->thread, accept_all, f, err);
	}
	if (rc == 0) {
		*out = f;
		return 0;
	}
	if (f->listener >= 0)
		close(f->listener);
	cancel_release(&f->over);
	free(f);
	return -1;
}

unsigned forward_local(const struct forward *f)
{
	return f->local;
}

unsigned forward_port(const struct forward *f)
{
	return f->with.port;
}

unsigned forward_count(struct forward *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->connections;
	pthread_mutex_unlock(&f->lock);
	return n;
}

void forward_close(struct forward *f)
{
	if (!f)
		return;
	cancel_trigger(&f->over);
	pthread_join(f->thread, NULL);
	close(f->listener);
	pthread_mutex_lock(&f->lock);
	while (f->connections)
		pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	cancel_release(&f->over);
	port_url_release(&f->url);
	pthread_mutex_destroy(&f->asking);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	free(f);
}
