/* proc_run.h - programs of the user's, side by side, each to its end. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROC_RUN_H
#define BASE_PROC_RUN_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

/* One program; set to { 0 } but for what it is run with. */
struct proc_run {
	/* Borrowed for the call. */
	const char *program; /* absolute; NULL: failed says why, not run */
	char *const *argv;
	char *const *env;
	const char *cwd;  /* NULL: / */
	struct str input; /* for its standard input */
	int64_t ms;       /* its time, after which it is killed; 0: no limit */
	bool core;        /* see struct proc_spec */
	bool ends_over;   /* killed when it prints more than out holds */
	/* What it prints; set max before. The caller releases them. */
	struct buf out, err;
	/* Out. */
	int status; /* exit status; 128 + n: killed by signal n */
	bool timed_out;
	struct error failed; /* it did not start */
	/* its own */
	pid_t pid;
	int pid_fd, in_fd, out_fd, err_fd; /* -1: closed */
	size_t written;
	int64_t deadline;
	bool ended;
};

/*
 * Runs all at once, each in a session of its own, until the last one has
 * ended; what one leaves in the background is not waited for. A program that
 * has to end is killed with all that it has started; one that cannot be killed
 * (it runs as another user, or hangs in the kernel) is left after two seconds,
 * as killed. -1 when stop ended it: ERR_CANCELLED or ERR_TIMEOUT. Any thread.
 */
int proc_run_all(struct proc_run *const *list, size_t n,
		 const struct stop *stop, struct error *err);

#endif
