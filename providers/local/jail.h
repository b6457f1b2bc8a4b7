/* jail.h - the supervisor inside a local sandbox, and its messages. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_JAIL_H
#define PROVIDERS_LOCAL_JAIL_H

#include <stddef.h>
#include <stdint.h>

/*
 * `dcode --jail-supervisor FD` runs as process 1 of a bubblewrap sandbox. FD is
 * a SOCK_SEQPACKET socket to the dcode outside. When dcode ends, however it
 * does, the socket closes, the supervisor exits, and the kernel kills
 * everything in the sandbox. bubblewrap has decided before what the supervisor
 * can see.
 *
 * supervisor -> dcode  JAIL_MAGIC, once
 * dcode -> supervisor  struct jail_order; JAIL_RUN carries descriptors, in the
 *                      order of enum jail_fd
 *
 * The supervisor forks a runner for each command. Its socket JAIL_CONTROL is
 * also a SOCK_SEQPACKET. When that is closed or shut down, the runner kills all
 * processes of the command.
 *
 * runner -> dcode      struct jail_reply, once
 *
 * Both sides are the same binary, so the messages are plain structs. dcode
 * still checks what it receives.
 */
#define JAIL_ARGUMENT "--jail-supervisor"

enum { JAIL_MAGIC = 0x6463316a, JAIL_STRINGS_MAX = 4 << 20 };

enum jail_order_kind { JAIL_RUN = 1, JAIL_LIFETIME };

enum jail_fd {
	JAIL_CONTROL,
	/* a file: directory, command, environment, each with NUL */
	JAIL_STRINGS,
	JAIL_STDOUT,
	JAIL_STDERR,
	JAIL_STDIN, /* may be missing: then /dev/null */
	JAIL_FDS
};

/* Limits per process; 0: no limit. */
struct jail_limits {
	uint64_t memory;    /* bytes of writable memory */
	uint64_t file_size; /* bytes */
	uint64_t processes; /* number of processes, for the whole sandbox */
};

struct jail_order {
	uint32_t kind;
	uint32_t plain;      /* JAIL_RUN: use sh even if bash exists */
	uint32_t terminal;   /* JAIL_RUN: JAIL_STDIN becomes its terminal */
	int64_t lifetime_ms; /* JAIL_LIFETIME: ms from now */
	struct jail_limits limits;
};

enum jail_reply_kind {
	REPLY_DONE = 1, /* value: exit code */
	REPLY_ERRNO,    /* value: errno of starting the command */
	REPLY_CWD,      /* value: errno of entering the directory */
	REPLY_KILLED /* value: number of processes that could not be killed */
};

struct jail_reply {
	uint32_t kind;
	int32_t value;
};

/* Main function of the supervisor. The result is its exit status. */
int jail_main(int argc, char **argv);

#endif
