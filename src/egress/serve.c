/* serve.c - the proxy's process: accepts connections and answers questions. */
/* SPDX-License-Identifier: MIT */
/*
 * The main thread waits for connections, and for orders of dcode, whose socket
 * ends the process when it closes. Each connection has a thread. What the
 * process parses comes from the sandbox, so it has no user's environment, no
 * secrets but those that it puts into requests, and no right to start a program
 * (restrict_process()).
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "egress/egress.h"
#include "egress/intercept/intercept.h"
#include "egress/internal.h"
#include "egress/tls/tls.h"

#if defined(__x86_64__)
enum { OURS = (int)AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OURS = (int)AUDIT_ARCH_AARCH64 };
#else
enum { OURS = 0 };
#endif

enum {
	CONNECTIONS = 1024, /* at once */
	STACK = 256 << 10,  /* bytes of a connection's thread */
	LIST_BYTES = 1 << 20,
	SECRETS_BYTES = 4 << 20,
	QUESTION = 512, /* bytes of a DNS message over UDP */
	FULL_MS = 20,   /* after a failure to accept */
	PENDING = 32,   /* destinations that wait for dcode */
};

static struct network network;
static pthread_rwlock_t network_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct egress_sockets sockets;

/* The rule stays valid only as long as the list: callers use it as a bool. */
static bool allows(const struct network_rule *host,
		   const struct network_rule **rule)
{
	bool allowed;

	pthread_rwlock_rdlock(&network_lock);
	allowed = network_allows(&network, host, rule);
	pthread_rwlock_unlock(&network_lock);
	return allowed;
}

/* Never waits. False: dcode does not read, and the record is lost. */
static bool try_to_send(const struct egress_record *r)
{
	return send(EGRESS_CONTROL_FD, r, sizeof(*r),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*r);
}

static void send_record(const struct egress_record *r)
{
	(void)try_to_send(r);
}

/* Destinations about which dcode has been asked. */
static struct undecided {
	size_t waiting; /* connections; 0: free */
	unsigned port;
	bool refused;
	char host[EGRESS_NAME];
} pending[PENDING];
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t decided = PTHREAD_COND_INITIALIZER;
static atomic_bool asks;

/* Returns the entry of a destination, or a free one; NULL: there is none. Call
 * with the lock held. */
static struct undecided *find_pending(const char *host, unsigned port)
{
	struct undecided *spare = NULL;

	for (size_t i = 0; i < PENDING; i++) {
		struct undecided *p = &pending[i];

		if (p->waiting && p->port == port && !strcmp(p->host, host))
			return p;
		if (!p->waiting)
			spare = p;
	}
	return spare;
}

/* Implements egress_server.await. Several connections to one destination make
 * one question. */
static bool await_decision(const struct network_rule *host)
{
	struct egress_record r = { .port = (uint16_t)host->port,
				   .verdict = EGRESS_WAITING };
	const struct network_rule *ignored;
	struct stop limit = stop_cleanup(EGRESS_WAIT_MS);
	struct error late = { 0 };
	struct undecided *p;
	bool allowed = false;

	if (!asks)
		return false;
	pthread_mutex_lock(&pending_lock);
	p = find_pending(host->host, host->port);
	if (p && !p->waiting) {
		*p = (struct undecided){ .port = host->port };
		snprintf(p->host, sizeof(p->host), "%s", host->host);
		snprintf(r.host, sizeof(r.host), "%s", host->host);
		p->refused = !try_to_send(&r); /* nobody would answer */
	}
	if (p)
		p->waiting++;
	while (p && !(allowed = allows(host, &ignored)) && !p->refused &&
	       stop_check(&limit, &late) == 0)
		thread_wait(&decided, &pending_lock, 1000);
	if (p)
		p->waiting--;
	pthread_mutex_unlock(&pending_lock);
	return allowed;
}

static void wake_pending(const struct egress_order *refused)
{
	struct undecided *p;

	pthread_mutex_lock(&pending_lock);
	p = refused ? find_pending(refused->host, refused->port) : NULL;
	if (p)
		p->refused = true;
	pthread_cond_broadcast(&decided);
	pthread_mutex_unlock(&pending_lock);
}

static size_t answer_question(const unsigned char *question, size_t len,
			      unsigned char *out, char refused[EGRESS_NAME])
{
	size_t size;

	pthread_rwlock_rdlock(&network_lock);
	size = names_answer(&network, asks, question, len, out, refused);
	pthread_rwlock_unlock(&network_lock);
	return size;
}

static struct secrets secrets;
static struct intercept intercept = { .secrets = &secrets };
static struct egress_server server = { .allows = allows,
				       .await = await_decision,
				       .report = send_record };

/* The connections, oldest first. */
struct client {
	int fd;
	bool is_dns;
	bool settled; /* its destination is known and allowed */
	struct network_rule destination; /* if settled; host is the next */
	char host[EGRESS_NAME];
	struct client *next;
};
static struct client *clients;
static size_t n_clients;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void settle_client(void *arg, const struct network_rule *destination)
{
	struct client *c = arg;

	pthread_mutex_lock(&lock);
	c->settled = true;
	c->destination = *destination;
	snprintf(c->host, sizeof(c->host), "%s", destination->host);
	c->destination.host = c->host;
	pthread_mutex_unlock(&lock);
}

/* Ends the connections that the list does not allow any more. */
static void end_disallowed(void)
{
	const struct network_rule *ignored;

	pthread_mutex_lock(&lock);
	for (struct client *c = clients; c; c = c->next)
		if (c->destination.host && !allows(&c->destination, &ignored))
			shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&lock);
}

static void remove_client(struct client *c)
{
	struct client **at = &clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	n_clients--;
}

/* Adds a client. If there are too many, the oldest one that has not got
 * through yet is ended, so that a flood of them keeps nobody out. False: there
 * is no room. */
static bool add_client(struct client *c)
{
	struct client **end = &clients;
	bool found;

	pthread_mutex_lock(&lock);
	found = n_clients < CONNECTIONS;
	for (; *end; end = &(*end)->next)
		if (!found && !(*end)->settled) {
			shutdown((*end)->fd, SHUT_RDWR);
			(*end)->settled = true;
			found = true;
		}
	if (found) {
		*end = c;
		n_clients++;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void report_question(const char *name)
{
	struct egress_record r = { .verdict = EGRESS_UNLISTED };

	if (!name[0])
		return;
	snprintf(r.host, sizeof(r.host), "%s", name);
	send_record(&r);
}

static bool read_whole(int fd, unsigned char *room, size_t len)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };

	while (len) {
		ssize_t n = io_poll(&set, 1, 10000) > 0 ? recv(fd, room, len, 0)
							: -1;

		if (n <= 0)
			return false;
		room += n;
		len -= (size_t)n;
	}
	return true;
}

/* Answers questions over TCP, each with its length before it. */
static void serve_dns(int fd)
{
	unsigned char question[QUESTION];
	unsigned char answer[2 + QUESTION + 16];
	unsigned char head[2];
	char refused[EGRESS_NAME];

	while (read_whole(fd, head, 2)) {
		size_t len = (size_t)head[0] << 8 | head[1];

		if (len > QUESTION || !read_whole(fd, question, len))
			break;
		len = answer_question(question, len, answer + 2, refused);
		report_question(refused);
		if (!len)
			break;
		answer[0] = (unsigned char)(len >> 8);
		answer[1] = (unsigned char)len;
		if (send(fd, answer, 2 + len, MSG_NOSIGNAL) < 0)
			break;
	}
}

static void answer_datagrams(int fd)
{
	unsigned char question[QUESTION];
	unsigned char answer[QUESTION + 16];
	char refused[EGRESS_NAME];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, question, sizeof(question), 0,
			     (struct sockaddr *)&from, &len)) >= 0) {
		size_t size =
			answer_question(question, (size_t)n, answer, refused);

		report_question(refused);
		if (size)
			(void)sendto(fd, answer, size, MSG_NOSIGNAL,
				     (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
}

/* Thread of one connection. */
static void *run_client(void *arg)
{
	struct client *c = arg;
	int fd = c->fd;

	if (c->is_dns)
		serve_dns(fd);
	else
		connection_serve(&server, fd, settle_client, c);
	pthread_mutex_lock(&lock);
	remove_client(c);
	pthread_mutex_unlock(&lock);
	/* close it only now: before, add_client() could end a new connection
	 * that got the same number */
	close(fd);
	free(c);
	return NULL;
}

static void accept_clients(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct client *c = xcalloc(1, sizeof(*c));
		pthread_attr_t attr;
		pthread_t thread;
		bool ok;

		c->fd = fd;
		c->is_dns = listener == sockets.dns_tcp;
		ok = add_client(c);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, STACK);
		if (ok && pthread_create(&thread, &attr, run_client, c) != 0) {
			pthread_mutex_lock(&lock);
			remove_client(c);
			pthread_mutex_unlock(&lock);
			ok = false;
		}
		pthread_attr_destroy(&attr);
		if (!ok) {
			close(fd);
			free(c);
		}
	}
	/* without a free descriptor poll() would return at once, for ever */
	if (errno != EAGAIN && errno != ECONNABORTED)
		(void)poll(NULL, 0, FULL_MS);
}

/* Reads a list that dcode has written. */
static int read_list(int fd, struct network *n, struct error *err)
{
	char *text = xcalloc(LIST_BYTES, 1);
	ssize_t len = io_pread_all(fd, text, LIST_BYTES, 0);
	int rc = len < 0 ? error_errno(err, "reading the list of hosts") : 0;

	if (rc == 0)
		rc = network_parse_lines(n, (struct str){ text, (size_t)len },
					 err);
	free(text);
	return rc;
}

static int replace_list(int fd)
{
	struct network new = { 0 };
	struct error ignored = { 0 };

	if (fd < 0 || read_list(fd, &new, &ignored) < 0)
		return -1;
	pthread_rwlock_wrlock(&network_lock);
	network_release(&network);
	network = new;
	pthread_rwlock_unlock(&network_lock);
	end_disallowed();
	wake_pending(NULL);
	return 0;
}

/* Receives an order, with its descriptor if it has one. 0: dcode has closed its
 * socket. */
static ssize_t receive_order(struct egress_order *o, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { .iov_base = o, .iov_len = sizeof(*o) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(EGRESS_CONTROL_FD, &msg,
			    MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}

/* Obeys dcode. False: the process must end, because dcode is gone or a list
 * cannot be read. */
static bool obey_order(void)
{
	struct egress_order o;
	int fd;
	ssize_t n = receive_order(&o, &fd);
	bool ok = n == sizeof(o) ||
		  (n < 0 && (errno == EAGAIN || errno == EINTR));

	o.host[sizeof(o.host) - 1] = '\0';
	if (n == sizeof(o) && o.kind == EGRESS_REPLACE)
		ok = replace_list(fd) == 0;
	else if (n == sizeof(o) && o.kind == EGRESS_ASK)
		asks = true;
	else if (n == sizeof(o) && o.kind == EGRESS_REFUSE)
		wake_pending(&o);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Serves until dcode closes its socket. */
static void serve_clients(void)
{
	struct pollfd set[EGRESS_PORTS + 3] = {
		{ .fd = EGRESS_CONTROL_FD, .events = POLLIN },
		{ .fd = sockets.dns_udp, .events = POLLIN },
		{ .fd = sockets.dns_tcp, .events = POLLIN },
	};
	nfds_t n = 3;

	for (size_t i = 0; i < sockets.n; i++)
		set[n++] = (struct pollfd){ .fd = sockets.listeners[i],
					    .events = POLLIN };
	for (;;) {
		if (poll(set, n, -1) < 0 && errno != EINTR)
			return;
		if (set[0].revents && !obey_order())
			return;
		if (set[1].revents)
			answer_datagrams(set[1].fd);
		for (nfds_t i = 2; i < n; i++)
			if (set[i].revents)
				accept_clients(set[i].fd);
	}
}

/* Refuses calls that a proxy does not need, and that would help who takes it
 * over from inside the sandbox: starting programs, reading other processes,
 * entering namespaces. */
static int restrict_calls(void)
{
	static const int denied[] = {
		SYS_execve,
		SYS_execveat,
		SYS_ptrace,
		SYS_process_vm_readv,
		SYS_process_vm_writev,
		SYS_pidfd_getfd,
		SYS_setns,
		SYS_unshare,
		SYS_mount,
		SYS_kexec_load,
		SYS_keyctl,
		SYS_bpf,
		SYS_perf_event_open,
		SYS_io_uring_setup,
		SYS_userfaultfd,
		SYS_open_by_handle_at,
		SYS_kill,
		SYS_tgkill,
		SYS_pidfd_send_signal,
	};
	enum { N = sizeof(denied) / sizeof(*denied) };
	struct sock_filter code[5 + N + 2];
	struct sock_fprog program = { .filter = code };

	if (!OURS)
		return 0;
#define STEP(...) code[program.len++] = (struct sock_filter)__VA_ARGS__
	STEP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		      offsetof(struct seccomp_data, arch)));
	STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)OURS, 1, 0));
	STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	STEP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		      offsetof(struct seccomp_data, nr)));
	/* x86-64 has each call a second time, with this bit (x32) */
	STEP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, N + 1, 0));
	for (int i = 0; i < N; i++)
		STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)denied[i],
			      (unsigned char)(N - i), 0));
	STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
#undef STEP
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int restrict_process(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	const struct __user_cap_data_struct none_of_them[2] = { { 0 } };
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)setrlimit(RLIMIT_FSIZE, &none); /* it writes no file */
	/* root's rights, which the sockets needed */
	if (syscall(SYS_capset, &head, none_of_them) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return restrict_calls();
}

/* Reads the secrets that dcode has written, and makes the certificates. */
static int open_intercept(struct error *err)
{
	char *bytes = xcalloc(SECRETS_BYTES, 1);
	ssize_t len = io_pread_all(EGRESS_SECRETS_FD, bytes, SECRETS_BYTES, 0);
	int rc = len < 0 ? error_errno(err, "reading the secrets") : 0;

	ids_init(); /* for locked memory */
	if (rc == 0)
		rc = secrets_unpack(&secrets,
				    (struct str){ bytes, (size_t)len }, err);
	explicit_bzero(bytes, len > 0 ? (size_t)len : 0);
	free(bytes);
	if (rc == 0)
		rc = tls_open(&intercept.tls, EGRESS_AUTHORITY_FD, err);
	close(EGRESS_SECRETS_FD);
	close(EGRESS_AUTHORITY_FD);
	server.intercept = &intercept;
	return rc;
}

/* Sends what dcode waits for: that the proxy serves, or why not. */
static void send_start(int rc, const struct error *err)
{
	const uint32_t ready =
		err->code == ERR_BUSY ? EGRESS_BUSY : EGRESS_READY;

	if (rc == 0 || err->code == ERR_BUSY)
		(void)send(EGRESS_CONTROL_FD, &ready, sizeof(ready),
			   MSG_NOSIGNAL);
	else
		(void)send(EGRESS_CONTROL_FD, err->message,
			   strlen(err->message), MSG_NOSIGNAL);
}

int egress_main(int argc, char **argv)
{
	struct error err = { 0 };
	int rc;

	if (argc != 2 && (argc != 3 || strcmp(argv[2], EGRESS_SECRETS) != 0))
		return 2; /* usage error: only dcode starts this program */
	(void)signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "egress-proxy");
	rc = read_list(EGRESS_LIST_FD, &network, &err);
	if (rc == 0)
		rc = egress_attach(EGRESS_NAMESPACE_FD, &network, &sockets,
				   &err);
	close(EGRESS_NAMESPACE_FD);
	close(EGRESS_LIST_FD);
	if (rc == 0 && argc == 3)
		rc = open_intercept(&err);
	if (rc == 0 && restrict_process() < 0)
		rc = error_errno(&err, "restricting the network proxy");
	send_start(rc, &err);
	if (rc == 0)
		serve_clients();
	_exit(rc == 0 ? 0 : 1);
}
