/* jail_filter.c - system calls that a local sandbox goes without. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
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

#include "providers/jail.h"

#if defined(__x86_64__)
enum { OURS = (int)AUDIT_ARCH_X86_64, X32 = 0x40000000 };
#elif defined(__aarch64__)
enum { OURS = (int)AUDIT_ARCH_AARCH64, X32 = 0x40000000 };
#else
enum { OURS = 0, X32 = 0 };
#endif

/*
 * Kernel doors that no ordinary program needs, and that namespaces do not
 * close: keyrings belong to users, and the others have a history of holes.
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

#define LOAD(field)                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (unsigned)(what))
#define FAIL(number) RETURN(SECCOMP_RET_ERRNO | (number))

/* Another architecture's calls would go past the numbers below. */
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
};

int jail_filter(void)
{
	struct sock_filter code[HEAD + 2 * DENIED + TAIL];
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
	for (size_t i = 0; i < TAIL; i++)
		code[program.len++] = tail[i];
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
