/* jail.c - process 1 of a local sandbox: starts and kills commands. */
/* SPDX-License-Identifier: MIT */
/*
 * This runs inside the sandbox, in the same binary: jail_main() is called for
 * `dcode --jail-supervisor`. seal_process() isolates the process, and installs
 * the seccomp filter that all commands inherit. serve_orders() then forks a
 * runner for each command. The runner waits for its command, or for its socket
 * to be closed. In the latter case it kills all processes of the command.
 * jail.h documents the messages.
 *
 * The other end is box.c. Nothing in this file decides what the sandbox sees.
 */
#include "providers/local/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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

/* The architecture whose call numbers the filter knows; 0: no filter. */
#if defined(__x86_64__)
enum { OURS = (int)AUDIT_ARCH_X86_64, X32 = 0x40000000 };

#elif defined(__aarch64__)
enum { OURS = (int)AUDIT_ARCH_AARCH64, X32 = 0x40000000 };

#else
enum { OURS = 0, X32 = 0 };

#endif
/* System calls that no ordinary program needs and that namespaces do not
 * restrict. Keyrings belong to the user, not to a namespace. The others had
 * many vulnerabilities, and io_uring could open files without passing this
 * filter. libuv and glibc have fallbacks if these calls fail. */
static const int denied[] = {
	SYS_add_key,         SYS_bpf,
	SYS_io_uring_enter,  SYS_io_uring_register,
	SYS_io_uring_setup,  SYS_kexec_load,
	SYS_keyctl,          SYS_open_by_handle_at,
	SYS_perf_event_open, SYS_request_key,
	SYS_userfaultfd,
};

/* A file with the setuid or setgid bit in a directory of the user gives the
 * rights of its owner to anybody who runs it on the host. So commands cannot
 * set these bits. The filter sees a call's numbers, not whether a path names a
 * file or a directory, so directories cannot get the bits either (mkdir()
 * ignores them; those of a setgid parent are inherited). */
enum {
	SUPERVISOR_FD = 3,
	KILL_MS = 2000, /* ms to kill all processes of a command */
	SET_ID = 06000,
	NO_FLAGS = -1,
	TMPFILE = O_TMPFILE & ~O_DIRECTORY,
	OPENAT2 = 437,
	FCHMODAT2 = 452,
};

/* Calls that set the mode of a file. */
static const struct {
	int number;
	int mode; /* index of the mode argument */
	/* index of the flags argument; the mode counts only if the call creates
	 * a file */
	int flags;
} modes[] = {
#ifdef SYS_chmod
	{ SYS_chmod, 1, NO_FLAGS },  { SYS_creat, 1, NO_FLAGS },
	{ SYS_mknod, 1, NO_FLAGS },  { SYS_open, 2, 1 },
#endif
	{ SYS_fchmod, 1, NO_FLAGS }, { SYS_fchmodat, 2, NO_FLAGS },
	{ FCHMODAT2, 2, NO_FLAGS },  { SYS_mknodat, 2, NO_FLAGS },
	{ SYS_openat, 3, 2 },
};

#define LOAD(field)                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (unsigned)(what))
#define FAIL(number) RETURN(SECCOMP_RET_ERRNO | (number))
#define LOAD_ARGUMENT(i) /* little-endian: the low half comes first */         \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                     \
		 offsetof(struct seccomp_data, args) +                         \
			 (unsigned)(i) * sizeof(uint64_t))
#define ANY_BIT(bits, yes, no)                                                 \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), yes, no)
/* Refuse calls of another architecture, such as i386 on x86_64: their numbers
 * differ. */
static const struct sock_filter head[] = {
	LOAD(arch),
	EQUAL(OURS, 1, 0),
	FAIL(ENOSYS),
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
	FAIL(ENOSYS),
};

/* Refuses calls that insert input into a terminal (TIOCSTI, TIOCLINUX), and
 * sockets that a network namespace does not restrict. AF_VSOCK reaches the host
 * of a virtual machine. */
static const struct sock_filter tail[] = {
	EQUAL(SYS_ioctl, 0, 5),
	LOAD(args[1]), /* little-endian: the low half comes first */
	EQUAL(TIOCSTI, 1, 0),
	EQUAL(TIOCLINUX, 0, 1),
	FAIL(EPERM),
	RETURN(SECCOMP_RET_ALLOW),
	EQUAL(SYS_socket, 0, 6),
	LOAD(args[0]),
	EQUAL(AF_UNIX, 4, 0),
	EQUAL(AF_INET, 3, 0),
	EQUAL(AF_INET6, 2, 0),
	EQUAL(AF_NETLINK, 1, 0),
	FAIL(EAFNOSUPPORT),
	RETURN(SECCOMP_RET_ALLOW),
};

enum {
	HEAD = sizeof(head) / sizeof(*head),
	DENIED = sizeof(denied) / sizeof(*denied),
	TAIL = sizeof(tail) / sizeof(*tail),
	MODES = sizeof(modes) / sizeof(*modes),
	MODE_STEPS = 7,
};

/* Blocks abstract sockets of other processes. They belong to the network
 * namespace, so with the host's network those of the host's services can be
 * reached, and some of these start programs (containerd, CVE-2020-15257).
 * Landlock since ABI 6 (Linux 6.12, include/uapi/linux/landlock.h, 2026-11) can
 * block them. Without it, network = "full" includes them. */
static void block_abstract_sockets(void)
{
	enum { ABSTRACT_SOCKETS = 1 << 0, CREATE = 444, RESTRICT_SELF = 446 };
	const struct {
		uint64_t handled_fs;
		uint64_t handled_net;
		uint64_t scoped;
	} rules = { .scoped = ABSTRACT_SOCKETS };
	int fd = (int)syscall(CREATE, &rules, sizeof(rules), 0);

	if (fd < 0)
		return;
	(void)syscall(RESTRICT_SELF, fd, 0);
	close(fd);
}

/* Appends MODE_STEPS instructions that return EPERM if this call sets one of
 * the bits. They leave the call's number loaded. */
static size_t add_mode(struct sock_filter *code, int number, int mode,
		       int flags)
{
	const struct sock_filter steps[MODE_STEPS] = {
		EQUAL(number, 0, 6),
		LOAD_ARGUMENT(flags < 0 ? mode : flags),
		ANY_BIT(flags < 0 ? ~0U : O_CREAT | TMPFILE, 0, 3),
		LOAD_ARGUMENT(mode),
		ANY_BIT(SET_ID, 0, 1),
		FAIL(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	for (size_t i = 0; i < MODE_STEPS; i++)
		code[i] = steps[i];
	return MODE_STEPS;
}

/* Installs the filter for the system calls of this process and its children.
 * Returns 0 or -1. */
static int jail_filter(void)
{
	struct sock_filter
		code[HEAD + 2 * DENIED + 2 + MODES * MODE_STEPS + TAIL];
	struct sock_fprog program = { .filter = code };

	block_abstract_sockets();
	if (!OURS)
		/* no filter: go on, because the namespaces isolate, too */
		return 0;
	for (size_t i = 0; i < HEAD; i++)
		code[program.len++] = head[i];
	for (size_t i = 0; i < DENIED; i++) {
		code[program.len++] =
			(struct sock_filter)EQUAL(denied[i], 0, 1);
		code[program.len++] = (struct sock_filter)FAIL(EPERM);
	}
	/* The mode of openat2() is in memory, which a filter cannot read. Its
	 * callers fall back to openat(). */
	code[program.len++] = (struct sock_filter)EQUAL(OPENAT2, 0, 1);
	code[program.len++] = (struct sock_filter)FAIL(ENOSYS);
	for (size_t i = 0; i < MODES; i++)
		program.len += (unsigned short)add_mode(
			code + program.len, modes[i].number, modes[i].mode,
			modes[i].flags);
	for (size_t i = 0; i < TAIL; i++)
		code[program.len++] = tail[i];
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Sends the only message of a runner. */
static void send_reply(int control, uint32_t kind, int32_t value)
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

/* Applies the limits to this process, from which the command inherits them. */
static void apply_limits(const struct jail_limits *limits)
{
	struct rlimit none = { 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	set_limit(RLIMIT_DATA, limits->memory);
	set_limit(RLIMIT_FSIZE, limits->file_size);
	set_limit(RLIMIT_NPROC, limits->processes);
}

/* Waits until the command exits and returns its exit status. Returns -1 when
 * the control socket becomes readable or closes: dcode cancelled the
 * command. */
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

/* True if a setup script wrote a file of variables: see SETUP_ENV_FILE. */
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

/* Runs a command and replies when it has ended. strings: directory, command,
 * environment, NULL. */
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
		.cwd = ".", /* the directory is entered below */
		.fds = theirs,
		.nfds = 3,
		.session = true,
		.terminal = order->terminal,
	};
	int control = fds[JAIL_CONTROL];
	struct error err = { 0 };
	sigset_t chld;
	int children;
	pid_t child;
	int code;

	if (chdir(strings[0]) < 0) {
		send_reply(control, REPLY_CWD, errno);
		return;
	}
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	apply_limits(&order->limits);
	if (children < 0 || (order->terminal ? proc_spawn_bound : proc_spawn)(
				    &spec, &child, &err) < 0) {
		send_reply(control, REPLY_ERRNO, errno);
		return;
	}
	for (int i = JAIL_STRINGS; i < JAIL_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	code = wait_command(child, control, children);
	if (code >= 0)
		send_reply(control, REPLY_DONE, code);
	else
		send_reply(control, REPLY_KILLED, proc_kill_below(KILL_MS));
}

/* Reads the strings as a NULL-terminated array, which is never freed: the
 * runner needs them until it ends. NULL if there are fewer than two. */
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

/* Forks the process that runs one command, and closes the descriptors in this
 * one. */
static void start_runner(const struct jail_order *order, int fds[JAIL_FDS])
{
	pid_t pid = fork();
	char **strings;

	if (pid == 0) {
		close(SUPERVISOR_FD);
		(void)signal(SIGCHLD, SIG_DFL);
		(void)signal(SIGXFSZ,
			     /* so that write fails with EFBIG; see
			      * proc_spawn */
			     SIG_IGN);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		strings = read_strings(fds[JAIL_STRINGS]);
		if (strings)
			run_command(order, strings, fds);
		else
			send_reply(fds[JAIL_CONTROL], REPLY_ERRNO, EPROTO);
		_exit(0);
	}
	if (pid < 0)
		send_reply(fds[JAIL_CONTROL], REPLY_ERRNO, errno);
	for (int i = 0; i < JAIL_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Returns 1 for an order, 0 if there is none yet, -1 if dcode closed the
 * socket. */
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

/* Serves orders until dcode closes the socket or the lifetime ends. */
static int serve_orders(void)
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
			return 0; /* the sandbox's lifetime is over */
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

/* Closes what this process inherited (descriptors, keyring) and forbids ptrace,
 * so that a command cannot reach it. */
static int seal_process(int fd)
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
	/* end when bubblewrap's own process ends */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	(void)signal(SIGCHLD, SIG_IGN); /* the kernel then reaps orphans */
	return jail_filter();
}

int jail_main(int argc, char **argv)
{
	const uint32_t magic = JAIL_MAGIC;
	int64_t fd;

	if (argc != 3 || !str_to_int(str_of(argv[2]), &fd) || fd < 0 ||
	    fd > 1000 || getpid() != 1)
		return 2; /* usage error: only bubblewrap starts this program */
	if (seal_process((int)fd) < 0)
		return 1;
	while (send(SUPERVISOR_FD, &magic, sizeof(magic), MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return 1;
	_exit(serve_orders());
}
