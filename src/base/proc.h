/* proc.h - child processes: start one, name its end, kill a whole tree. */
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
 * What to start. All borrowed for the call.
 *
 * Programs start in / unless cwd says otherwise. The directory that dcode was
 * started in may hold a repository of an attacker: Python imports pip and
 * encodings from there, others read ./setup.cfg, ./.npmrc and their like, and
 * an empty entry of PATH means that directory. Only what the user asked to be
 * run there names it as cwd. For the same reason no child gets a PATH with
 * empty or relative entries, whatever env says.
 */
struct proc_spec {
	const char *path; /* absolute; no search */
	char *const *argv;
	char *const *env;
	const char *cwd; /* NULL: / */
	const int *fds;  /* the child's descriptor i is fds[i], -1: /dev/null;
			    every other one is closed in the child */
	size_t nfds;     /* at most PROC_FDS_MAX */
	bool session;    /* a new session: no terminal, own process group */
	size_t data_max; /* bytes of memory it may allocate (RLIMIT_DATA); 0:
			    no limit. proc_spawn_bound() alone */
	bool umask_077;  /* its files are for their owner alone;
			    proc_spawn_bound() alone */
	bool core;       /* with the limit of core files that dcode was
			    started with: the user's own commands */
};
enum { PROC_FDS_MAX = 32 };

/* Without fork's cost (the memory is not copied). The child has default
 * signals. Any thread. The caller reaps the child. */
int proc_spawn(const struct proc_spec *spec, pid_t *pid, struct error *err);
/* The same for a command line of the user's own that takes his terminal, an
 * editor or a pager: argv is that of /bin/sh, fds has three descriptors. */
int proc_spawn_user(char *const *argv, const int *fds, pid_t *pid,
		    struct error *err);
/* The same as proc_spawn(), core aside, for a child that must not outlive
 * dcode, however that ends: SIGKILL too. The kernel kills it when the calling
 * thread ends, which therefore waits for it. */
int proc_spawn_bound(const struct proc_spec *spec, pid_t *pid,
		     struct error *err);
/* A pipe to a child: both ends close-on-exec, ours does not block; read_end:
 * ours is that to read from. ERR_SYSTEM */
int proc_pipe(int *ours, int *theirs, bool read_end, struct error *err);
/* No core file of this process, and no debugger of the same user: its memory
 * holds keys. To be called first in main; not in sanitizer builds, whose leak
 * check is a debugger. */
void proc_protect(void);
/* waitpid's status as a shell shows it: the status, or 128 + signal. */
int proc_exit_code(int wstatus);
/* Readable once the process has ended; close-on-exec. */
int proc_fd(pid_t pid, struct error *err);
/* The first executable of this name in an absolute directory of path (as in
 * $PATH; NULL is the system's usual one); NULL when there is none. Owned. */
char *proc_find(const char *name, const char *path);
/* PATH's absolute directories; the system's usual ones when there are none. In
 * an empty or relative entry a program would be looked for in the current
 * directory. Owned. */
char *proc_absolute_path(const char *path);
/* Start time in clock ticks since boot, which with the pid names a process
 * for good; 0 when there is no such process. */
unsigned long long proc_started(pid_t pid);

/* Which processes belong to one tree. */
struct proc_tree {
	pid_t root;         /* must not be reaped yet */
	bool spare_root;    /* kill only what is below it */
	const char *marker; /* "NAME=value" that members have in their
			       environment even when they left the tree by
			       setsid() and reparenting; or NULL */
};
/* One pass of SIGKILL over all members; returns how many were still alive, so
 * repeat until 0. -1 when /proc cannot be read. Never kills its caller. */
int proc_tree_kill(const struct proc_tree *tree);
/* Kills and reaps everything below this process, which orphans come back to
 * (PR_SET_CHILD_SUBREAPER), within ms: how many are left. */
int proc_kill_below(int64_t ms);

/*
 * Runs the program at an absolute path, in / and in a session of its own, with
 * nothing on its input, and appends what it prints to out; its messages go
 * nowhere. Blocks until it has ended; where stop ends the wait, or it prints
 * more than out holds, it is killed with all that it has started. Returns its
 * exit status as proc_exit_code(), or -1 with err. See proc_run_all() for what
 * it leaves behind. Any thread.
 */
int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err);

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
