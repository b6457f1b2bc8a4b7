/* egress.c - starts the network proxy of a sandbox, and reads what it tells. */
/* SPDX-License-Identifier: MIT */
#include "egress/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "egress/internal.h"

enum {
	START_MS = 10000, /* until the proxy serves */
	END_MS = 2000,    /* until it has ended */
	REFUSED_MAX = 6,  /* hosts named in one report */
};

const struct network_limits egress_limits = {
	.can = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES |
	       NETWORK_CAN_NETWORKS | NETWORK_CAN_DENY_NAMES |
	       NETWORK_CAN_DENY_ADDRESSES | NETWORK_CAN_MIX,
};

struct egress {
	pthread_mutex_t lock; /* of all that follows */
	int namespace_fd;
	struct network list; /* what the proxy enforces */
	int sock; /* to the proxy; -1: it has ended, and that was reported */
	pid_t pid;
};

int egress_check(const struct network *n, struct error *err)
{
	unsigned ports[EGRESS_PORTS];

	if (egress_ports(n, ports) == SIZE_MAX)
		return error_set(err, ERR_USAGE,
				 "the network list has more than %d different "
				 "ports",
				 EGRESS_PORTS);
	for (size_t i = 0; i < n->n; i++) {
		const struct network_rule *r = &n->rules[i];

		if (r->denies || !r->family || r->port)
			continue;
		error_set(err, ERR_USAGE,
			  "this sandbox needs a port with an address: %s",
			  r->host);
		return error_hint(err, "Write %s%s:443, for example.", r->host,
				  r->bits == 32 ? "" : "/...");
	}
	return 0;
}

/* Returns the namespace of the process's network, or -1. inside 0: there is no
 * such process. */
static int open_namespace(pid_t inside, struct error *err)
{
	char path[64];
	struct stat theirs;
	struct stat ours;
	int fd;

	if (inside <= 1)
		return error_set(err, ERR_SYSTEM,
				 "cannot find the process in the sandbox");
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)inside);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "opening the sandbox's network");
	if (fstat(fd, &theirs) < 0 || stat("/proc/self/ns/net", &ours) < 0)
		error_errno(err, "opening the sandbox's network");
	else if (theirs.st_ino == ours.st_ino)
		error_set(err, ERR_SYSTEM,
			  "the sandbox has no network of its own");
	else
		return fd;
	close(fd);
	return -1;
}

/* Writes the list's entries, a line each. */
static int write_list(const struct network *n, struct error *err)
{
	struct buf text = BUF_INIT(1 << 20);
	int fd = memfd_create("list", MFD_CLOEXEC);

	network_print_lines(n, &text);
	if (fd < 0 || io_write_all(fd, text.ptr, text.len) < 0) {
		error_errno(err, "making a file in memory");
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	buf_release(&text);
	return fd;
}

static int spawn_proxy(struct egress *e, int list, int sock, struct error *err)
{
	char *const argv[] = { (char *)"dcode", (char *)EGRESS_ARGUMENT, NULL };
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *path =
		xasprintf("LD_LIBRARY_PATH=%s", libraries ? libraries : "");
	/* of the user's variables it gets only this one: see page_reader.c */
	char *const env[] = { (char *)"PATH=/usr/bin:/bin",
			      libraries ? path : NULL, NULL };
	const int fds[] = { -1, -1, -1, sock, e->namespace_fd, list };
	const struct proc_spec spec = { .path = "/proc/self/exe",
					.argv = argv,
					.env = env,
					.cwd = "/",
					.fds = fds,
					.nfds = sizeof(fds) / sizeof(*fds),
					.session = true };
	int rc = proc_spawn(&spec, &e->pid, err);

	free(path);
	return rc;
}

/* Waits until the proxy serves. */
static int await_ready(const struct egress *e, const struct stop *stop,
		       struct error *err)
{
	struct stop own = stop_within(stop, START_MS);
	struct pollfd set[] = { { .fd = e->sock, .events = POLLIN },
				{ .fd = stop_fd(stop), .events = POLLIN } };
	char said[sizeof(err->message)] = "";
	uint32_t ready = 0;
	ssize_t n;

	for (;;) {
		if (stop_check(&own, err) < 0)
			return -1;
		if (io_poll(set, 2, stop_poll_ms(&own, -1)) > 0 &&
		    set[0].revents)
			break;
	}
	n = recv(e->sock, said, sizeof(said) - 1, 0);
	if (n == sizeof(ready))
		memcpy(&ready, said, sizeof(ready));
	if (ready == EGRESS_READY)
		return 0;
	if (ready == EGRESS_BUSY)
		return error_set(err, ERR_BUSY,
				 "a program in the sandbox, or another dcode, "
				 "uses a port of the network list");
	return error_set(err, ERR_SYSTEM, "the network proxy did not start: %s",
			 n > 0 ? said : "it has ended");
}

/* Ends the proxy's process and reaps it. Call with the lock held. */
static void end_proxy(struct egress *e)
{
	struct error ignored = { 0 };
	struct pollfd set = { .events = POLLIN };

	if (e->sock >= 0)
		close(e->sock);
	e->sock = -1;
	if (e->pid <= 0)
		return;
	set.fd = proc_fd(e->pid, &ignored);
	if (set.fd < 0 || io_poll(&set, 1, END_MS) <= 0)
		(void)proc_tree_kill(&(struct proc_tree){ .root = e->pid });
	io_reap(e->pid);
	e->pid = 0;
	if (set.fd >= 0)
		close(set.fd);
}

/* Starts the proxy's process. Call with the lock held. */
static int start_proxy(struct egress *e, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	int pair[2];
	int list = write_list(n, err);
	int rc = list < 0 ? -1 : 0;

	if (rc == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		rc = error_errno(err, "speaking to the network proxy");
	if (rc == 0) {
		e->sock = pair[0];
		rc = spawn_proxy(e, list, pair[1], err);
		close(pair[1]);
	}
	if (list >= 0)
		close(list);
	if (rc == 0)
		rc = await_ready(e, stop, err);
	if (rc < 0)
		end_proxy(e);
	return rc;
}

int egress_start(struct egress **out, const struct network *n, pid_t inside,
		 const struct stop *stop, struct error *err)
{
	struct egress *e;
	int namespace_fd = open_namespace(inside, err);

	if (namespace_fd < 0)
		return -1;
	e = xcalloc(1, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
	e->namespace_fd = namespace_fd;
	e->sock = -1;
	if (start_proxy(e, n, stop, err) < 0) {
		egress_end(e);
		return -1;
	}
	network_copy(&e->list, n);
	*out = e;
	return 0;
}

int egress_change(struct egress *e, const struct network *n,
		  const struct stop *stop, struct error *err)
{
	struct stop cleanup;
	struct error ignored = { 0 };
	int rc;

	pthread_mutex_lock(&e->lock);
	end_proxy(e);
	rc = start_proxy(e, n, stop, err);
	if (rc == 0) {
		network_release(&e->list);
		network_copy(&e->list, n);
	} else {
		cleanup = stop_cleanup(START_MS);
		(void)start_proxy(e, &e->list, &cleanup, &ignored);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

struct refusals {
	struct egress_record list[REFUSED_MAX];
	size_t n;
	size_t more;
};

/* Keeps a refusal that is not known yet. */
static void add_refusal(struct refusals *all, const struct egress_record *r)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].port == r->port &&
		    !strcmp(all->list[i].host, r->host))
			return;
	if (all->n < REFUSED_MAX)
		all->list[all->n++] = *r;
	else
		all->more++;
}

static const char *reason_of(unsigned verdict)
{
	switch (verdict) {
	case EGRESS_UNLISTED:
		return "refused (not in the network list)";
	case EGRESS_PRIVATE:
		return "refused (the name leads to a private address)";
	case EGRESS_MISMATCH:
		return "refused (TLS or HTTP named another host, or none)";
	case EGRESS_PLAIN:
		return "refused (neither plain HTTP nor TLS was spoken)";
	default:
		return "could not be reached";
	}
}

/* Attack: a command takes over the proxy and sends a name that changes the
 * terminal or forges a line. */
static bool is_clean(const struct egress_record *r)
{
	size_t n = strnlen(r->host, sizeof(r->host));

	return n && n < sizeof(r->host) &&
	       strspn(r->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]") ==
		       n;
}

/* Reads what the proxy has told. True if it has ended. Call with the lock
 * held. */
static bool read_records(struct egress *e, struct refusals *all)
{
	struct egress_record r;
	ssize_t n = -1;

	while (e->sock >= 0 &&
	       (n = recv(e->sock, &r, sizeof(r), MSG_DONTWAIT)) == sizeof(r))
		if (is_clean(&r) && r.verdict != EGRESS_ALLOWED)
			add_refusal(all, &r);
	if (e->sock < 0 || n != 0)
		return false;
	close(e->sock);
	e->sock = -1;
	return true;
}

void egress_report(struct egress *e, char *room, size_t size)
{
	struct refusals all = { .n = 0 };
	struct buf text = BUF_INIT(size - 1);
	bool ended;

	pthread_mutex_lock(&e->lock);
	ended = read_records(e, &all);
	pthread_mutex_unlock(&e->lock);
	if (ended)
		buf_adds(&text, "the network proxy has ended: this sandbox has "
				"no network any more\n");
	for (size_t i = 0; i < all.n; i++) {
		buf_addf(&text, "network: %s", all.list[i].host);
		if (all.list[i].port)
			buf_addf(&text, ":%u", all.list[i].port);
		buf_addf(&text, " %s\n", reason_of(all.list[i].verdict));
	}
	if (all.more)
		buf_addf(&text, "network: and %zu more\n", all.more);
	if (text.len && text.ptr[text.len - 1] == '\n')
		text.len--;
	snprintf(room, size, "%.*s", (int)text.len, text.len ? text.ptr : "");
	buf_release(&text);
}

void egress_end(struct egress *e)
{
	if (!e)
		return;
	end_proxy(e);
	network_release(&e->list);
	close(e->namespace_fd);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
