/* process.h - telling a living dcode from one whose pid was used again. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_PROCESS_H
#define SESSION_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct process {
	int64_t pid;
	int64_t started; /* clock ticks after boot; proc_pid_stat(5) field 22 */
	/* Boot id, PID namespace and machine id, separated by blanks; "-" for
	 * what cannot be read. */
	char place[160];
};

/* The calling process. */
void process_self(struct process *p);
/*
 * Whether p still runs, as far as self can tell. Another boot of this machine
 * is over. In another PID namespace or on another machine nothing can be seen,
 * so it counts as running.
 */
bool process_lives(const struct process *p, const struct process *self);

#endif
