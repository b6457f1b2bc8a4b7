/* proc.h - starts child processes, reports how they ended, kills whole
 * trees. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

/*
 * A program to start. Everything is borrowed for the call.
 *
 * Programs start in /, unless cwd is set. The directory in which dcode was
 * started may be a repository with malicious files: Python imports modules such
 * as pip and encodings from the current directory, other programs read
 * ./setup.cfg or ./.npmrc, and an empty entry in PATH means the current
 * directory. So cwd is set only for commands that the user asked to run there.
 * For the same reason empty and relative entries are removed from a child's
 * PATH.
 */
struct proc_spec {
	const char *path; /* absolute; PATH is not searched */
	char *const *argv;
	char *const *env;
	const char *cwd; /* NULL: / */
	/* The child's descriptor i is a copy of fds[i], or /dev/null if that is
	 * -1. All other descriptors are closed in the child. */
	const int *fds;
	size_t nfds;  /* at most PROC_FDS_MAX */
	bool session; /* start a new session: no terminal, own process group */
	/* with session: descriptor 0 becomes its terminal. Only for
	 * proc_spawn_bound() */
	bool terminal;
	/* limit of allocated memory in bytes (RLIMIT_DATA); 0: no limit. Only
	 * for proc_spawn_bound() */
	size_t data_max;
	/* umask 077: created files are private. Only for proc_spawn_bound() */
	bool umask_077;
	/* Use the core file limit that dcode was started with, instead of 0.
	 * For the user's own commands. */
	bool core;
};
enum { PROC_FDS_MAX = 32 };

/* Starts a child with default signal handling. Unlike fork(), does not copy
 * dcode's memory. The caller must reap the child. Any thread. */
int proc_spawn(const struct proc_spec *spec, pid_t *pid, struct error *err);
/* Like proc_spawn(), for a command line of the user that uses the terminal,
 * such as an editor or a pager. argv: arguments for /bin/sh. fds: the child's
 * three standard descriptors. */
int proc_spawn_user(char *const *argv, const int *fds, pid_t *pid,
		    struct error *err);
/* Like proc_spawn(), for a child that must not outlive dcode, even if dcode is
 * killed with SIGKILL. Ignores spec->core. The kernel kills the child when the
 * calling thread ends, so that thread must wait for it. */
int proc_spawn_bound(const struct proc_spec *spec, pid_t *pid,
		     struct error *err);
/* Makes a pipe between dcode and a child. Both ends are close-on-exec, and
 * dcode's end, *ours, is non-blocking. read_end: *ours is the read end.
 * ERR_SYSTEM on failure. */
int proc_pipe(int *ours, int *theirs, bool read_end, struct error *err);
/* Prevents core files of dcode, and debuggers of the same user, because memory
 * contains keys. Call first in main(). Not in sanitizer builds: their leak
 * check works like a debugger. */
void proc_protect(void);
/* Converts waitpid()'s status as a shell does: the exit status, or 128 +
 * signal. */
int proc_exit_code(int wstatus);
/* Returns a descriptor for poll(): it becomes readable or hangs up when the
 * process ends; close-on-exec. It is a pidfd, or on kernels without them the
 * end of a pipe, which works for children of this process only. */
int proc_fd(pid_t pid, struct error *err);
/* Returns the path of the first executable of this name in the absolute
 * directories of path, a list in the form of $PATH (NULL: the system's
 * default). NULL if there is none. Owned. */
char *proc_find(const char *name, const char *path);
/* Returns path, a list in the form of $PATH, with only its absolute
 * directories: empty and relative ones depend on the current directory. The
 * system's default if none is left. Owned. */
char *proc_absolute_path(const char *path);
/* Returns the first child of the process; 0 if it has none. */
pid_t proc_child(pid_t pid);
/* Returns when the process started, in clock ticks since boot; 0 if it does not
 * exist. Together with the pid this identifies a process. */
unsigned long long proc_started(pid_t pid);

/* Selects the processes of a tree: the root and its descendants. */
struct proc_tree {
	pid_t root;      /* must not be reaped yet */
	bool spare_root; /* kill the descendants but not the root */
	/* NULL, or "NAME=value" that processes of the tree have in their
	 * environment: finds those that left it by setsid() and reparenting. */
	const char *marker;
};
/* Sends SIGKILL once to all processes of the tree. Returns how many were alive;
 * repeat until that is 0. -1 if /proc cannot be read. Never kills the
 * caller. */
int proc_tree_kill(const struct proc_tree *tree);
/* Kills and reaps all descendants of this process within ms, including orphans,
 * which are reparented to it (PR_SET_CHILD_SUBREAPER). Returns how many are
 * left. */
int proc_kill_below(int64_t ms);

/*
 * Runs the program at an absolute path, in /, in its own session and with empty
 * input. Appends its output to out and discards its standard error. Blocks
 * until the program has ended. If stop ends the wait or out is full, kills the
 * program and all its descendants. Returns the exit status as proc_exit_code()
 * does, or -1 with err. Does not wait for background processes, like
 * proc_run_all(). Any thread.
 */
int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err);

/* One program for proc_run_all(). Zero-initialise and set the borrowed
 * fields. */
struct proc_run {
	/* Input, borrowed for the call: */
	/* absolute path; NULL: the program is not started, and `failed` is left
	 * as the caller set it */
	const char *program;
	char *const *argv;
	char *const *env;
	const char *cwd;  /* NULL: / */
	struct str input; /* written to its standard input */
	int64_t ms;     /* time limit, after which it is killed; 0: no limit */
	bool core;      /* see struct proc_spec */
	bool ends_over; /* kill it if it prints more than out can hold */
	/* Its output. The caller sets max before and releases them. */
	struct buf out, err;
	/* Output, written by proc_run_all(): */
	int status; /* exit status; 128 + n: killed by signal n */
	bool timed_out;
	struct error failed; /* set if the program did not start */
	/* internal */
	pid_t pid;
	int pid_fd, in_fd, out_fd, err_fd; /* descriptors; -1: closed */
	size_t written;
	int64_t deadline;
	bool ended;
};

/*
 * Runs all programs at once, each in its own session, until the last one has
 * ended. Does not wait for processes that they leave in the background. A
 * program that must end is killed with all its descendants. If it cannot be
 * killed (it runs as another user, or hangs in the kernel), it is given up
 * after two seconds and reported as killed. Returns -1 with ERR_CANCELLED or
 * ERR_TIMEOUT if stop ended the programs. Any thread.
 */
int proc_run_all(struct proc_run *const *list, size_t n,
		 const struct stop *stop, struct error *err);

#endif
