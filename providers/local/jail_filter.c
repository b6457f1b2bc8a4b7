/* jail_filter.c - system calls that a local sandbox goes without. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/local/jail.h"

#if defined(__x86_64__)
enum { OURS = (int)AUDIT_ARCH_X86_64, X32 = 0x40000000 };
#elif defined(__aarch64__)
enum { OURS = (int)AUDIT_ARCH_AARCH64, X32 = 0x40000000 };
#else
enum { OURS = 0, X32 = 0 };
#endif

/*
 * Kernel doors that no ordinary program needs, and that namespaces do not
 * close: keyrings belong to users, and the others have a history of holes;
 * io_uring would also open files past this filter.
 * libuv and glibc fall back where these fail.
 */
static const int denied[] = {
	SYS_add_key,         SYS_bpf,
	SYS_io_uring_enter,  SYS_io_uring_register,
	SYS_io_uring_setup,  SYS_kexec_load,
	SYS_keyctl,          SYS_open_by_handle_at,
	SYS_perf_event_open, SYS_request_key,
	SYS_userfaultfd,
};

/*
 * A file with the setuid or setgid bit that a command leaves in a directory of
 * the user's gives his rights, or root's, to whoever runs it on the host. The
 * filter sees numbers, not what a path names, so directories do not get the
 * bits either (mkdir() ignores them; those of a setgid parent are inherited).
 */
enum {
	SET_ID = 06000,
	NO_FLAGS = -1,
	TMPFILE = O_TMPFILE & ~O_DIRECTORY,
	OPENAT2 = 437,
	FCHMODAT2 = 452,
};

static const struct {
	int number;
	int mode;  /* which argument */
	int flags; /* which one: the mode counts when a file is made */
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

/* Another architecture's calls, i386's on x86_64 too, would go past the numbers
 * below. */
static const struct sock_filter head[] = {
	LOAD(arch),
	EQUAL(OURS, 1, 0),
	FAIL(ENOSYS),
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
	FAIL(ENOSYS),
};

/* Typing into somebody's terminal; sockets that no network namespace holds
 * back, AF_VSOCK above all: it leads out of a virtual machine. */
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

/*
 * Abstract sockets belong to the network namespace: with the host's network
 * those of its services are in reach, and some of them start programs
 * (containerd's, CVE-2020-15257). Landlock since ABI 6 (Linux 6.12,
 * include/uapi/linux/landlock.h, 2026-11) keeps them apart; without it
 * network = "full" means these too.
 */
static void keep_apart(void)
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

enum {
	HEAD = sizeof(head) / sizeof(*head),
	DENIED = sizeof(denied) / sizeof(*denied),
	TAIL = sizeof(tail) / sizeof(*tail),
	MODES = sizeof(modes) / sizeof(*modes),
	MODE_STEPS = 7,
};

/* EPERM for this call with one of the bits; MODE_STEPS instructions, which
 * leave the call's number loaded. */
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

int jail_filter(void)
{
	struct sock_filter
		code[HEAD + 2 * DENIED + 2 + MODES * MODE_STEPS + TAIL];
	struct sock_fprog program = { .filter = code };

	keep_apart();
	if (!OURS)
		return 0; /* the namespaces hold without it */
	for (size_t i = 0; i < HEAD; i++)
		code[program.len++] = head[i];
	for (size_t i = 0; i < DENIED; i++) {
		code[program.len++] =
			(struct sock_filter)EQUAL(denied[i], 0, 1);
		code[program.len++] = (struct sock_filter)FAIL(EPERM);
	}
	/* Its mode is in memory, where no filter sees it; all fall back. */
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
