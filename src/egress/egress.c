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
#include "base/thread.h"
#include "egress/internal.h"
#include "egress/tls/tls.h"
#include "egress/trust/trust.h"

enum {
	START_MS = 10000, /* until the proxy serves */
	END_MS = 2000,    /* until it has ended */
	REFUSED_MAX = 6,  /* hosts named in one report */
	QUESTIONS = 32,   /* hosts that wait for an answer */
};

const struct network_limits egress_limits = {
	.can = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES |
	       NETWORK_CAN_NETWORKS | NETWORK_CAN_DENY_NAMES |
	       NETWORK_CAN_DENY_ADDRESSES | NETWORK_CAN_MIX,
};

const struct secret_limits egress_secret_limits = {
	.can = SECRET_CAN_HEADER | SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD |
	       SECRET_CAN_PATHS | SECRET_CAN_METHODS | SECRET_CAN_SIGN |
	       SECRET_NEEDS_DCODE,
};

/*
 * What the proxy tells. It sends a packet for each connection and question that
 * is over, and never waits for dcode (serve.c). So a thread reads them while a
 * command runs: otherwise the socket would be full after a few hundred. Each
 * packet counts twice: for the lines below a command, which name what was
 * refused, and for the log of the thread.
 */
struct proxy_link {
	pthread_mutex_t lock; /* of all that follows but reader and reads */
	int sock;             /* to the proxy; -1: it has ended */
	bool closing;         /* dcode itself ends the proxy */
	bool ended; /* the proxy has ended by itself, and nobody knows yet */
	struct egress_record refused[REFUSED_MAX]; /* not reported yet */
	size_t n_refused, more_refused;
	struct network_contacts contacts; /* not taken yet */
	pthread_t reader;
	bool reads;
	/* What waits for the gate, and the thread that asks it, which runs
	 * while there is something. */
	const struct network_gate *gate; /* or NULL */
	struct egress_record questions[QUESTIONS];
	size_t n_questions;
	pthread_t asker;
	bool asks;          /* the thread is to be joined */
	bool asking;        /* it has not ended */
	struct cancel over; /* ends its question */
};

struct egress {
	pthread_mutex_t lock; /* of all that follows */
	int namespace_fd;
	struct network list;    /* what the proxy enforces */
	struct network made;    /* the list that its sockets were made for */
	pid_t pid;              /* of the proxy; 0: none */
	struct secrets secrets; /* borrowed */
	int authority; /* file in memory for tls_open(); -1: no secrets */
	struct proxy_link link;
};

/* What a verdict is called in the log, and below a command. */
static const struct {
	const char *word;
	const char *reason;
} verdicts[] = {
	[EGRESS_ALLOWED] = { NETWORK_REACHED, NULL },
	[EGRESS_UNLISTED] = { "unlisted", "refused (not in the network list)" },
	[EGRESS_PRIVATE] = { "private",
			     "refused (the name leads to a private address or "
			     "to this machine)" },
	[EGRESS_MISMATCH] = { "mismatch",
			      "refused (TLS or HTTP named another host, or "
			      "none)" },
	[EGRESS_PLAIN] = { "plain",
			   "refused (neither plain HTTP nor TLS was spoken)" },
	[EGRESS_FAILED] = { NETWORK_FAILED, "could not be reached" },
	[EGRESS_SECRET] = { "secret",
			    "refused (it got the placeholder of a secret that "
			    "is not for it; see `dcode sandbox secrets`)" },
	[EGRESS_PINNED] = { "pinned",
			    "was closed by the program in the sandbox: it does "
			    "not accept the certificate with which dcode puts "
			    "the secret in" },
	[EGRESS_HTTP2] = { "http2",
			   "refused (the program speaks only HTTP/2, into "
			   "which dcode cannot put a secret)" },
	[EGRESS_SERVER] = { "certificate",
			    "refused (its certificate is not trusted on this "
			    "machine)" },
	[EGRESS_ANSWER] = { "answer",
			    "refused (dcode could not hide the secret in its "
			    "answer)" },
	[EGRESS_SIGNATURE] = { "signature",
			       "refused (dcode could not sign the request to "
			       "AWS; its answer says why)" },
	[EGRESS_WAITING] = { NULL, NULL },
};
enum { VERDICTS = sizeof(verdicts) / sizeof(*verdicts) };

/* Sends the proxy an order without a descriptor. Call with the lock held. */
static void send_order(const struct proxy_link *l, enum egress_order_kind kind,
		       const struct egress_record *about)
{
	struct egress_order o = { .kind = kind };

	if (about) {
		o.port = about->port;
		memcpy(o.host, about->host, sizeof(o.host));
	}
	/* Never waits: a proxy that does not read is stopped or gone, and lets
	 * nothing through. */
	if (l->sock >= 0)
		(void)send(l->sock, &o, sizeof(o), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The thread that asks the gate, until nothing waits any more. */
static void *run_asker(void *arg)
{
	struct proxy_link *l = arg;
	struct stop stop = stop_on(&l->over);

	pthread_mutex_lock(&l->lock);
	while (l->n_questions) {
		struct egress_record r = l->questions[0];
		struct stop limit = stop_within(&stop, EGRESS_WAIT_MS);
		bool opened;

		memmove(l->questions, l->questions + 1,
			--l->n_questions * sizeof(r));
		pthread_mutex_unlock(&l->lock);
		opened = l->gate->ask(l->gate->arg, r.host, r.port, &limit);
		pthread_mutex_lock(&l->lock);
		if (!opened)
			send_order(l, EGRESS_REFUSE, &r);
	}
	l->asking = false;
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Call with the lock held. */
static void add_question(struct proxy_link *l, const struct egress_record *r)
{
	struct error ignored = { 0 };

	if (!l->gate || l->n_questions == QUESTIONS || l->closing) {
		send_order(l, EGRESS_REFUSE, r);
		return;
	}
	l->questions[l->n_questions++] = *r;
	if (l->asking)
		return;
	if (l->asks)
		pthread_join(l->asker, NULL); /* it needs the lock no more */
	l->asks = l->asking =
		thread_start(&l->asker, run_asker, l, &ignored) == 0;
	while (!l->asks && l->n_questions)
		send_order(l, EGRESS_REFUSE, &l->questions[--l->n_questions]);
}

static void init_link(struct proxy_link *l)
{
	*l = (struct proxy_link){ .sock = -1, .over.fd = { -1, -1 } };
	pthread_mutex_init(&l->lock, NULL);
}

/* Keeps a refusal that is not known yet. */
static void add_refusal(struct proxy_link *l, const struct egress_record *r)
{
	for (size_t i = 0; i < l->n_refused; i++)
		if (l->refused[i].port == r->port &&
		    !strcmp(l->refused[i].host, r->host))
			return;
	if (l->n_refused < REFUSED_MAX)
		l->refused[l->n_refused++] = *r;
	else
		l->more_refused++;
}

/* Attack: a command takes over the proxy and sends a name that changes the
 * terminal or forges a line. */
static bool is_clean(const struct egress_record *r)
{
	size_t n = strnlen(r->host, sizeof(r->host));

	return n && n < sizeof(r->host) && r->verdict < VERDICTS &&
	       strspn(r->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]") ==
		       n;
}

static void add_record(struct proxy_link *l, const struct egress_record *r)
{
	int64_t now = clock_unix_ms();
	struct network_contact c = { .port = r->port,
				     .verdict = verdicts[r->verdict].word,
				     .up = r->up,
				     .down = r->down,
				     .count = 1,
				     .first = now,
				     .last = now };

	memcpy(c.host, r->host, sizeof(c.host));
	network_contacts_add(&l->contacts, &c);
	if (r->verdict != EGRESS_ALLOWED)
		add_refusal(l, r);
}

/* Reads what there is. False if the proxy has ended. Call with the lock
 * held. */
static bool read_records(struct proxy_link *l)
{
	struct egress_record r;
	ssize_t n = -1;

	while (l->sock >= 0 &&
	       (n = recv(l->sock, &r, sizeof(r), MSG_DONTWAIT)) > 0) {
		if (n != sizeof(r) || !is_clean(&r))
			continue;
		if (r.verdict == EGRESS_WAITING)
			add_question(l, &r);
		else
			add_record(l, &r);
	}
	return l->sock >= 0 && n != 0;
}

/* The thread that reads until the proxy ends. */
static void *run_reader(void *arg)
{
	struct proxy_link *l = arg;
	struct pollfd set = { .fd = l->sock, .events = POLLIN };
	bool more = true;

	while (more) {
		(void)io_poll(&set, 1, -1);
		pthread_mutex_lock(&l->lock);
		more = read_records(l);
		if (!more)
			l->ended = !l->closing;
		pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

/* Call with the lock of the egress held, as for close_link(): only these two
 * change the socket and the reader. */
static int open_link(struct proxy_link *l, int sock, struct error *err)
{
	pthread_mutex_lock(&l->lock);
	l->sock = sock;
	l->closing = l->ended = false;
	if (l->gate)
		send_order(l, EGRESS_ASK, NULL);
	pthread_mutex_unlock(&l->lock);
	l->reads = thread_start(&l->reader, run_reader, l, err) == 0;
	return l->reads ? 0 : -1;
}

static void close_link(struct proxy_link *l)
{
	pthread_mutex_lock(&l->lock);
	l->closing = true;
	if (l->sock >= 0)
		shutdown(l->sock, SHUT_RDWR); /* both ends see it */
	pthread_mutex_unlock(&l->lock);
	if (l->reads)
		pthread_join(l->reader, NULL);
	l->reads = false;
	/* Other threads read records: from now on none uses its number, which
	 * another file may get. */
	pthread_mutex_lock(&l->lock);
	if (l->sock >= 0)
		close(l->sock);
	l->sock = -1;
	pthread_mutex_unlock(&l->lock);
}

static void report_refusals(struct proxy_link *l, struct buf *out)
{
	pthread_mutex_lock(&l->lock);
	(void)read_records(l); /* the thread may not have run yet */
	if (l->ended)
		buf_adds(out, "the network proxy has ended: this sandbox has "
			      "no network any more\n");
	l->ended = false;
	for (size_t i = 0; i < l->n_refused; i++) {
		buf_addf(out, "network: %s", l->refused[i].host);
		if (l->refused[i].port)
			buf_addf(out, ":%u", l->refused[i].port);
		buf_addf(out, " %s\n", verdicts[l->refused[i].verdict].reason);
	}
	if (l->more_refused)
		buf_addf(out, "network: and %zu more\n", l->more_refused);
	l->n_refused = l->more_refused = 0;
	pthread_mutex_unlock(&l->lock);
	if (out->len && out->ptr[out->len - 1] == '\n')
		out->ptr[--out->len] = '\0';
}

static void take_contacts(struct proxy_link *l, struct network_contacts *c)
{
	pthread_mutex_lock(&l->lock);
	(void)read_records(l);
	for (size_t i = 0; i < l->contacts.n; i++)
		network_contacts_add(c, &l->contacts.list[i]);
	network_contacts_release(&l->contacts);
	pthread_mutex_unlock(&l->lock);
}

static void release_link(struct proxy_link *l)
{
	network_contacts_release(&l->contacts);
	if (l->over.fd[0] >= 0)
		cancel_release(&l->over);
	pthread_mutex_destroy(&l->lock);
}

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

/* Writes the values to a file in memory, which only the proxy reads. */
static int write_secrets(const struct secrets *s, struct error *err)
{
	struct buf bytes = BUF_INIT(4 << 20);
	int fd = memfd_create("secrets", MFD_CLOEXEC);

	secrets_pack(s, &bytes);
	if (fd < 0 || io_write_all(fd, bytes.ptr, bytes.len) < 0) {
		error_errno(err, "making a file in memory");
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	buf_wipe(&bytes);
	return fd;
}

/* The files of a proxy with secrets. */
struct proxy_files {
	int list;    /* entries of the network list */
	int secrets; /* values; -1: none */
};

static void close_files(struct proxy_files *f)
{
	if (f->list >= 0)
		close(f->list);
	if (f->secrets >= 0)
		close(f->secrets);
}

static int open_files(struct egress *e, const struct network *n,
		      struct proxy_files *f, struct error *err)
{
	*f = (struct proxy_files){ write_list(n, err), -1 };
	if (f->list < 0)
		return -1;
	if (!e->secrets.n)
		return 0;
	if (e->authority < 0)
		e->authority = memfd_create("authority", MFD_CLOEXEC);
	if (e->authority < 0)
		return error_errno(err, "making a file in memory");
	f->secrets = write_secrets(&e->secrets, err);
	return f->secrets < 0 ? -1 : 0;
}

/* Copies variables of the user that the proxy needs: where the loader finds
 * libraries (see page_reader.c), and with secrets, which servers are
 * trusted. */
static void add_variables(struct egress *e, char **env)
{
	static const char *const names[] = { "LD_LIBRARY_PATH", "SSL_CERT_FILE",
					     "SSL_CERT_DIR" };
	size_t n = e->secrets.n ? 3 : 1;

	for (size_t i = 0; i < n; i++) {
		const char *value = getenv(names[i]);

		if (value)
			*env++ = xasprintf("%s=%s", names[i], value);
	}
}

static int spawn_proxy(struct egress *e, const struct proxy_files *f, int sock,
		       struct error *err)
{
	char *const argv[] = { (char *)"dcode", (char *)EGRESS_ARGUMENT,
			       e->secrets.n ? (char *)EGRESS_SECRETS : NULL,
			       NULL };
	char *env[5] = { (char *)"PATH=/usr/bin:/bin" };
	const int fds[] = {
		-1,      -1,         -1,          sock, e->namespace_fd,
		f->list, f->secrets, e->authority
	};
	const struct proc_spec spec = { .path = "/proc/self/exe",
					.argv = argv,
					.env = env,
					.cwd = "/",
					.fds = fds,
					.nfds = e->secrets.n ? 8 : 6,
					.session = true };
	int rc;

	add_variables(e, env + 1);
	rc = proc_spawn(&spec, &e->pid, err);
	for (size_t i = 1; env[i]; i++)
		free(env[i]);
	return rc;
}

/* Waits until the proxy serves. */
static int await_ready(int sock, const struct stop *stop, struct error *err)
{
	struct stop own = stop_within(stop, START_MS);
	struct pollfd set[] = { { .fd = sock, .events = POLLIN },
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
	n = recv(sock, said, sizeof(said) - 1, 0);
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

	close_link(&e->link);
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
	struct proxy_files files;
	int pair[2];
	int rc = open_files(e, n, &files, err);

	if (rc == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		rc = error_errno(err, "speaking to the network proxy");
	if (rc == 0) {
		rc = spawn_proxy(e, &files, pair[1], err);
		close(pair[1]);
		if (rc == 0)
			rc = await_ready(pair[0], stop, err);
		if (rc == 0)
			rc = open_link(&e->link, pair[0], err);
		else
			close(pair[0]);
	}
	close_files(&files);
	if (rc < 0)
		end_proxy(e);
	return rc;
}

int egress_start(struct egress **out, const struct egress_policy *p,
		 pid_t inside, const struct stop *stop, struct error *err)
{
	struct egress *e;
	int namespace_fd = open_namespace(inside, err);

	if (namespace_fd < 0)
		return -1;
	e = xcalloc(1, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
	e->namespace_fd = namespace_fd;
	e->authority = -1;
	if (p->secrets)
		e->secrets = *p->secrets;
	init_link(&e->link);
	if (start_proxy(e, p->network, stop, err) < 0) {
		egress_end(e);
		return -1;
	}
	network_copy(&e->list, p->network);
	network_copy(&e->made, p->network);
	*out = e;
	return 0;
}

int egress_write_trust(struct egress *e, const char *path, struct error *err)
{
	char pem[TLS_CERTIFICATE];
	bool found =
		e->authority >= 0 && tls_read_certificate(e->authority, pem);

	return trust_write(path, found ? pem : NULL, err);
}

int egress_write_trust_inside(struct egress *e, pid_t pid, struct error *err)
{
	char pem[TLS_CERTIFICATE];

	if (e->authority < 0 || !tls_read_certificate(e->authority, pem))
		return 0;
	return trust_write_inside(pid, pem, err);
}

/* True if the running proxy has the sockets and routes that the list needs. */
static bool can_serve(const struct egress *e, const struct network *n)
{
	unsigned have[EGRESS_PORTS];
	unsigned need[EGRESS_PORTS];
	size_t n_have = egress_ports(&e->made, have);
	size_t n_need = egress_ports(n, need);
	size_t at = 0;

	for (size_t i = 0; i < n_need; i++) {
		while (at < n_have && have[at] < need[i])
			at++;
		if (at == n_have || have[at] != need[i])
			return false;
	}
	for (size_t i = 0; i < n->n; i++) {
		const struct network_rule *r = &n->rules[i];
		bool known = !r->family || r->denies;

		for (size_t k = 0; !known && k < e->made.n; k++)
			known = e->made.rules[k].family == r->family &&
				!e->made.rules[k].denies &&
				e->made.rules[k].bits == r->bits &&
				!memcmp(e->made.rules[k].address, r->address,
					sizeof(r->address));
		if (!known)
			return false;
	}
	return true;
}

/* Sends the running proxy another list. */
static int send_list(struct egress *e, const struct network *n,
		     struct error *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct egress_order order = { .kind = EGRESS_REPLACE };
	struct iovec data = { .iov_base = &order, .iov_len = sizeof(order) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fd = write_list(n, err);
	int rc = 0;

	if (fd < 0)
		return -1;
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	pthread_mutex_lock(&e->link.lock);
	if (sendmsg(e->link.sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		rc = error_errno(err, "speaking to the network proxy");
	pthread_mutex_unlock(&e->link.lock);
	close(fd);
	return rc;
}

/* Ends the proxy and starts another one. */
static int restart_proxy(struct egress *e, const struct network *n,
			 const struct stop *stop, struct error *err)
{
	int rc;

	end_proxy(e);
	rc = start_proxy(e, n, stop, err);
	if (rc == 0) {
		network_release(&e->made);
		network_copy(&e->made, n);
	}
	return rc;
}

int egress_change(struct egress *e, const struct network *n,
		  const struct stop *stop, struct error *err)
{
	struct stop cleanup;
	struct error ignored = { 0 };
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = can_serve(e, n) && send_list(e, n, &ignored) == 0
		     ? 0
		     : restart_proxy(e, n, stop, err);
	if (rc == 0) {
		network_release(&e->list);
		network_copy(&e->list, n);
	} else {
		cleanup = stop_cleanup(START_MS);
		(void)restart_proxy(e, &e->list, &cleanup, &ignored);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

void egress_copy_list(struct egress *e, struct network *out)
{
	pthread_mutex_lock(&e->lock);
	network_copy(out, &e->list);
	pthread_mutex_unlock(&e->lock);
}

bool egress_serves(struct egress *e, pid_t inside)
{
	char path[64];
	struct stat theirs;
	struct stat ours;
	bool started;

	pthread_mutex_lock(&e->lock);
	started = e->pid > 0;
	pthread_mutex_unlock(&e->lock);

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)inside);
	return started && inside > 1 && stat(path, &theirs) == 0 &&
	       fstat(e->namespace_fd, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

void egress_report(struct egress *e, char *room, size_t size)
{
	struct buf text = BUF_INIT(size - 1);

	report_refusals(&e->link, &text);
	snprintf(room, size, "%.*s", (int)text.len, text.len ? text.ptr : "");
	buf_release(&text);
}

void egress_set_gate(struct egress *e, const struct network_gate *gate)
{
	struct proxy_link *l = &e->link;
	struct error ignored = { 0 };

	pthread_mutex_lock(&l->lock);
	if (l->over.fd[0] >= 0 || cancel_init(&l->over, &ignored) == 0) {
		l->gate = gate;
		send_order(l, EGRESS_ASK, NULL);
	}
	pthread_mutex_unlock(&l->lock);
}

void egress_take(struct egress *e, struct network_contacts *c)
{
	take_contacts(&e->link, c);
}

/* Before the lock of the egress is needed: the gate may call
 * egress_change(). */
static void end_questions(struct proxy_link *l)
{
	bool asks;

	pthread_mutex_lock(&l->lock);
	l->closing = true;
	l->n_questions = 0;
	asks = l->asks;
	l->asks = false;
	if (l->over.fd[0] >= 0)
		cancel_trigger(&l->over);
	pthread_mutex_unlock(&l->lock);
	if (asks)
		pthread_join(l->asker, NULL);
}

void egress_end(struct egress *e)
{
	if (!e)
		return;
	end_questions(&e->link);
	pthread_mutex_lock(&e->lock);
	end_proxy(e);
	pthread_mutex_unlock(&e->lock);
	release_link(&e->link);
	network_release(&e->list);
	network_release(&e->made);
	close(e->namespace_fd);
	if (e->authority >= 0)
		close(e->authority);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
