/* jail.c - process 1 of a local sandbox: starts commands, kills their trees. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stop.h"
#include "base/str.h"
#include "sandbox/setup/setup.h"

enum {
	SUPERVISOR_FD = 3,
	KILL_MS = 2000,
};

static void reply(int control, uint32_t kind, int32_t value)
{
	struct jail_reply r = { .kind = kind, .value = value };

	while (send(control, &r, sizeof(r), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void set_limit(int which, uint64_t value)
{
	struct rlimit l = { .rlim_cur = value, .rlim_max = value };

	if (value)
		(void)setrlimit((__rlimit_resource_t)which, &l);
}

static void apply_limits(const struct jail_limits *limits)
{
	struct rlimit none = { 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	set_limit(RLIMIT_DATA, limits->memory);
	set_limit(RLIMIT_FSIZE, limits->file_size);
	set_limit(RLIMIT_NPROC, limits->processes);
}

/* Until the command has ended (its code) or the order is withdrawn (-1). */
static int wait_command(pid_t child, int control, int children)
{
	struct pollfd set[2] = { { .fd = control, .events = POLLIN },
				 { .fd = children, .events = POLLIN } };
	struct signalfd_siginfo drop;
	int status;
	pid_t pid;

	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				return proc_exit_code(status);
		if (poll(set, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (set[0].revents)
			return -1;
		(void)!io_read(children, &drop, sizeof(drop));
	}
}

/* True when a setup script left variables: see SETUP_ENV_FILE. */
static bool has_setup_env(char *const *env)
{
	static const char name[] = SETUP_ENV_FILE;
	char path[PATH_MAX];
	struct stat st;

	while (*env && strncmp(*env, "HOME=", strlen("HOME=")) != 0)
		env++;
	if (!*env)
		return false;
	snprintf(path, sizeof(path), "%s%s", *env + strlen("HOME="),
		 name + strlen("$HOME"));
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* strings: as in JAIL_STRINGS, NULL-terminated. */
static void run_command(const struct jail_order *order, char **strings,
			const int fds[JAIL_FDS])
{
	bool bash = !order->plain && access("/bin/bash", X_OK) == 0;
	char reader[] = SETUP_ENV_READ ";exec \"$@\"";
	char *shell = bash ? "/bin/bash" : "/bin/sh";
	char *name = bash ? "bash" : "sh";
	bool reads = !order->plain && has_setup_env(strings + 2);
	char *argv[] = { "sh", "-c", reader,     "sh", reads ? shell : name,
			 "-c", "--", strings[1], NULL };
	int theirs[3] = { fds[JAIL_STDIN], fds[JAIL_STDOUT], fds[JAIL_STDERR] };
	struct proc_spec spec = {
		.path = reads ? "/bin/sh" : shell,
		.argv = reads ? argv : argv + 4,
		.env = strings + 2,
		.cwd = ".", /* entered below */
		.fds = theirs,
		.nfds = 3,
		.session = true,
	};
	int control = fds[JAIL_CONTROL];
	struct error err = { 0 };
	sigset_t chld;
	int children;
	pid_t child;
	int code;

	if (chdir(strings[0]) < 0) {
		reply(control, REPLY_CWD, errno);
		return;
	}
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	apply_limits(&order->limits);
	if (children < 0 || proc_spawn(&spec, &child, &err) < 0) {
		reply(control, REPLY_ERRNO, errno);
		return;
	}
	for (int i = JAIL_STRINGS; i < JAIL_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	code = wait_command(child, control, children);
	if (code >= 0)
		reply(control, REPLY_DONE, code);
	else
		reply(control, REPLY_KILLED, proc_kill_below(KILL_MS));
}

/* The strings as a NULL-terminated array, which the runner keeps until it
 * ends; NULL when there are fewer than two. */
static char **read_strings(int fd)
{
	struct stat st;
	char *text;
	char **list;
	size_t len;
	size_t n = 0;

	if (fstat(fd, &st) < 0 || st.st_size > JAIL_STRINGS_MAX)
		return NULL;
	len = (size_t)st.st_size;
	text = xcalloc(len + 1, 1);
	if (io_pread_all(fd, text, len, 0) != st.st_size ||
	    (len && text[len - 1]))
		return NULL;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\0';
	if (n < 2)
		return NULL;
	list = xcalloc(n + 1, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	return list;
}

static void start_runner(const struct jail_order *order, int fds[JAIL_FDS])
{
	pid_t pid = fork();
	char **strings;

	if (pid == 0) {
		close(SUPERVISOR_FD);
		(void)signal(SIGCHLD, SIG_DFL);
		(void)signal(SIGXFSZ,
			     SIG_IGN); /* EFBIG says it; see proc_spawn */
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		strings = read_strings(fds[JAIL_STRINGS]);
		if (strings)
			run_command(order, strings, fds);
		else
			reply(fds[JAIL_CONTROL], REPLY_ERRNO, EPROTO);
		_exit(0);
	}
	if (pid < 0)
		reply(fds[JAIL_CONTROL], REPLY_ERRNO, errno);
	for (int i = 0; i < JAIL_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* 1 an order, 0 nothing yet, -1 the other side is gone. */
static int receive_order(struct jail_order *order, int fds[JAIL_FDS])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * JAIL_FDS)];
	} control;
	struct iovec data = { .iov_base = order, .iov_len = sizeof(*order) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n =
		recvmsg(SUPERVISOR_FD, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c;

	for (int i = 0; i < JAIL_FDS; i++)
		fds[i] = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len <= CMSG_LEN(sizeof(int) * JAIL_FDS))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == sizeof(*order);
}

static int serve(void)
{
	struct stop lifetime = { .deadline = INT64_MAX };
	struct error err = { 0 };

	for (;;) {
		struct pollfd set = { .fd = SUPERVISOR_FD, .events = POLLIN };
		struct jail_order order;
		int fds[JAIL_FDS];
		int got;

		poll(&set, 1, stop_poll_ms(&lifetime, -1));
		if (stop_check(&lifetime, &err) < 0)
			return 0; /* the end of the lifetime */
		got = receive_order(&order, fds);
		if (got < 0)
			return 0;
		if (got > 0 && order.kind == JAIL_LIFETIME)
			lifetime.deadline =
				order.lifetime_ms > 0
					? clock_ms() + order.lifetime_ms
					: INT64_MAX;
		else if (got > 0 && order.kind == JAIL_RUN)
			start_runner(&order, fds);
	}
}

/* Descriptors, keyring and ptrace: nothing from outside may be reachable
 * through this process. */
static int seal(int fd)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || fd < SUPERVISOR_FD)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -1;
	if (dup2(fd, SUPERVISOR_FD) < 0)
		return -1;
	if (close_range(SUPERVISOR_FD + 1, ~0U, 0) < 0)
		return -1;
	if (fcntl(SUPERVISOR_FD, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	umask(022);
	prctl(PR_SET_NAME, "supervisor");
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* with bubblewrap's own process */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	(void)signal(SIGCHLD, SIG_IGN); /* orphans need no reaping then */
	return jail_filter();
}

int jail_main(int argc, char **argv)
{
	const uint32_t magic = JAIL_MAGIC;
	int64_t fd;

	if (argc != 3 || !str_to_int(str_of(argv[2]), &fd) || fd < 0 ||
	    fd > 1000 || getpid() != 1)
		return 2; /* only bubblewrap starts this */
	if (seal((int)fd) < 0)
		return 1;
	while (send(SUPERVISOR_FD, &magic, sizeof(magic), MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return 1;
	_exit(serve());
}
