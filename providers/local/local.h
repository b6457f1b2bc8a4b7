/* local.h - declarations shared by the providers local and none. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_LOCAL_H
#define PROVIDERS_LOCAL_LOCAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "egress/egress.h"
#include "egress/trust/trust.h"
#include "providers/local/jail.h"
#include "sandbox/bind.h"
#include "sandbox/sandbox.h"

/* local.c is the provider, box.c one running bubblewrap, jail.c the process in
 * it. guard.c and record.c protect a bound directory of the user. none.c is the
 * provider without a sandbox; pipes.c serves both. */

/* pipes.c */

/* A thread for what remains after a call. It reads and drops what background
 * children still print (else they would block, or die of SIGPIPE), and reaps
 * processes that end later. Started when first needed. Any thread may add to
 * it. */
struct pipe_reaper {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	bool leaving;
	int wake[2];
	struct left_behind {
		int fd;    /* a pipe's read end or a process descriptor */
		pid_t pid; /* 0: fd is a pipe */
	} * items;
	size_t n;
};
void pipe_reaper_init(struct pipe_reaper *r);
/* Reaps the child, now or when it ends. */
void pipe_reaper_reap(struct pipe_reaper *r, pid_t pid);
/* Ends the thread and closes its descriptors. */
void pipe_reaper_release(struct pipe_reaper *r);

struct pump {
	/* Filled by pump_open(). dcode's ends are non-blocking and
	 * close-on-exec. */
	/* the command's ends: stdin, stdout, stderr; -1: /dev/null */
	int theirs[3];
	int in;     /* dcode's ends; -1 when closed */
	int out[2]; /* stdout, stderr; if merged, the first has both */
	int pty;    /* dcode's end of the command's terminal; or -1 */
	const struct exec_request *req; /* borrowed */
	/* replies, or data of req->source, not yet written */
	struct buf pending;
	size_t sent; /* bytes of req->input written */
	bool dry;    /* req->source is at its end, or there is none */
	/* NULL, or called once by pump_run() if the command still runs at
	 * late_at (clock_ms()). Set both before pump_run(). */
	void (*late)(void *arg);
	void *late_arg;
	int64_t late_at;
};

enum pump_end {
	PUMP_ENDED,   /* the main process has ended */
	PUMP_TIMEOUT, /* req->timeout_ms has passed */
	PUMP_FAILED   /* err says why: a cancel, a failed callback, ... */
};

/* Opens the pipes, or a terminal. Fails for a command with a NUL byte. The
 * caller releases p, even on failure. */
int pump_open(struct pump *p, const struct exec_request *req,
	      struct error *err);
/* Closes the command's ends in dcode. Call when the command has been started:
 * otherwise its output never ends. */
void pump_close_theirs(struct pump *p);
/* Transfers bytes until done is readable (or hung up), or the command must be
 * killed. */
enum pump_end pump_run(struct pump *p, int done, const struct stop *stop,
		       struct error *err);
/* Delivers what the ended command left in its pipes, without waiting for
 * processes that still have them open. */
int pump_rest(struct pump *p, struct error *err);
/* Closes the pipes, except those to which a process can still write: the reaper
 * gets these. */
void pump_release(struct pump *p, struct pipe_reaper *reaper);

struct pump_program {
	/* the next two are borrowed during pump_program() */
	struct proc_spec spec; /* without fds: pump_program() sets those */
	/* identifies its processes, see struct proc_tree */
	const char *marker;
	/* the following are borrowed until the kill has ended, which may be
	 * after pump_program() */
	/* the kill runs on its thread; NULL: on the caller's */
	struct sandbox *sb;
	struct pipe_reaper *reaper;
	/* Called when the program runs; or NULL. */
	void (*started)(void *arg, const char *marker, pid_t pid);
	/* Called when the program has ended or was killed; or NULL. */
	void (*ended)(void *arg, const char *marker);
	void *arg;
};
/* Runs a program on this machine as req says. If it is cancelled or times out,
 * all processes that it started are killed: see sandbox_kill(). */
int pump_program(const struct pump_program *program,
		 const struct exec_request *req, struct exec_result *res,
		 const struct stop *stop, struct error *err);

/* Closes *fd unless it is -1, and sets it to -1. */
void close_fd(int *fd);

/*
 * What sandbox.json stores. ~/.deepagents/sandboxes/LABEL/ (0700) contains one
 * sandbox:
 *
 * home/ workspace/  the only parts that it sees, and may write
 * sandbox.json      struct local_meta
 * run.PID.START     one empty file per running bubblewrap, named after its
 *                   process id and start time (proc_started): any dcode can
 *                   end it, and cannot end another process by mistake
 */
struct local_meta {
	char owner[64];
	int64_t created; /* Unix time in seconds */
	int64_t ends;
	bool network; /* the host's own network */
	/* with mode NETWORK_LIST: the hosts that it may reach */
	struct network hosts;
	/* owned; the user's directory that replaces workspace/, or NULL */
	char *bind;
};
/* True if the way out is the proxy: with a list of hosts, or with "full" and
 * secrets. */
static inline bool local_has_proxy(const struct local_meta *m)
{
	return m->hosts.mode == NETWORK_LIST || m->hosts.mode == NETWORK_FULL;
}

struct local { /* sandbox_client.priv points to it */
	struct pipe_reaper reaper;
	int64_t start_ms; /* limit for the start of a jail, in ms */
	char *bwrap;      /* owned; absolute path of the program */
	struct jail_limits limits;
	uint64_t disk; /* limit for home and workspace in bytes; 0: none */
	const char *const *env; /* borrowed from settings */
	size_t nenv;
	/* how long a sandbox runs; 0: the provider's default */
	int64_t lifetime_s;
	bool bind;
};

/* box.c: implements sandbox_ops.describe_limits */
void local_describe_limits(const struct sandbox_client *client,
			   struct buf *out);

/* record.c */

/* A name that must not be created in a bound directory is occupied by a
 * placeholder: an empty directory or file. Each running sandbox has a record
 * ~/.deepagents/sandboxes/.placeholders/LABEL.RANDOM of the placeholders that
 * it relies on. The record is written to the disk before they are made. The
 * process that owns a record holds a lock on it. A record without a lock
 * belongs to a process that was killed; the next dcode removes the placeholders
 * in it, except those that the record of a running process contains. */
struct placeholder {
	char *path; /* owned, absolute */
	bool directory;
	uint64_t dev, ino; /* which file it is; 0: not made yet */
};

struct placeholders {
	struct placeholder *list;
	size_t n;
};

struct record { /* initialise with { .fd = -1, .lock = -1 } */
	int fd;
	int lock;   /* lock of all records; held until record_make() */
	char *dir;  /* owned; .placeholders */
	char *path; /* owned; path of this record */
	struct placeholders own;
	/* those in the records of all other running processes */
	struct placeholders living;
};

/* Removes the placeholders and records of killed processes. */
void record_sweep_all(const char *settings_dir);
/* Does record_sweep_all(), then begins a record. Only one process at a time
 * changes records and placeholders: the lock is held until record_make(). */
int record_open(struct record *r, const char *settings_dir, const char *label,
		const struct stop *stop, struct error *err);
/* For a placeholder that another running process has recorded: adds it to this
 * record, too, so that it remains as long as either process needs it. */
void record_share(struct record *r, const char *path);
/* Adds a placeholder to the record, which record_make() will make. */
void record_plan(struct record *r, const char *path, bool directory);
/* Writes the planned placeholders to the record on the disk, then makes them. A
 * file named commondir gets a text. Skips names that exist, and names in
 * directories that the user may not write. */
int record_make(struct record *r, struct error *err);
/* Removes the placeholders on which no other process relies, and the record.
 * Frees the members of r. */
void record_release(struct record *r);

/* guard.c */

/*
 * A model that may write a directory of the user could create files there that
 * make the user's git, editor or shell run a program: a hook, a core.fsmonitor,
 * a task of .vscode, an .envrc. So in the sandbox
 *
 * - .git is a separate mount: it cannot be renamed or replaced;
 *
 * - names in it for which git runs programs are read-only; missing ones are
 * occupied by a placeholder;
 *
 * - names of the setting `protect` are read-only, and so are missing ones at
 * the root if they have no wildcard.
 *
 * Mounts cannot prevent new names elsewhere: guard_check() reports those.
 */
struct guard;
struct guard_request { /* all borrowed */
	const struct settings *settings;
	const char *root; /* the bound directory */
	const char *inside;
	const char *label; /* label of the sandbox, which names its record */
};
/* *g is set even on failure; the caller frees it. */
int guard_open(struct guard **g, const struct guard_request *r,
	       const struct stop *stop, struct error *err);
/* Like guard_open(), for a repository outside of the bound directory: root and
 * inside are git->common. All of it is read-only except what a commit writes:
 * objects, branches with their logs (an existing branch only if the checkout is
 * on it), and the checkout's own files. The arguments begin with the mount of
 * root. */
int guard_open_git(struct guard **g, const struct guard_request *r,
		   const struct bind_git *git, const struct stop *stop,
		   struct error *err);
/* Reports the relevant names that are new since the last call. last: reports
 * all of them again. */
void guard_check(struct guard *g, bool last,
		 void (*each)(void *arg, const char *line), void *arg);
/* Returns bubblewrap's arguments, each with NUL; borrowed. */
struct str guard_arguments(const struct guard *g);
/* Returns the directory's path in the sandbox; borrowed. */
const char *guard_inside(const struct guard *g);
/* Removes the placeholders. The sandbox must have ended. NULL is allowed. */
void guard_free(struct guard *g);

/* The certificates that a sandbox with secrets trusts. */
#define LOCAL_TRUST "/run/dcode-trust.pem"
/* environment.c: appends the directory, the command and its variables. */
int environment_add(const struct sandbox *sb, const struct exec_request *req,
		    struct buf *b, struct error *err);

/* box.c */

/* Control groups of a sandbox. Not every machine allows them. */
struct cgroup {       /* zero-initialise */
	char *memory; /* owned; a directory, or NULL: no limit */
	char *pids;   /* owned; may be the same directory (cgroup 2) */
};
/* One running bubblewrap. */
struct box {      /* initialise with { .sock = -1 } */
	int sock; /* socket to the supervisor; -1 when not running */
	pid_t pid;
	char *mark;          /* owned; path of run.PID.START */
	struct guard *guard; /* owned; NULL without a bound directory */
	/* owned: guard of a repository outside of the directory, or NULL */
	struct guard *git;
	/* owned: that repository's working tree, read-only; or NULL */
	char *tree;
	/* owned: the way to the listed hosts; NULL without a list */
	struct egress *egress;
	struct secrets secrets; /* what the proxy puts into requests;
				   borrowed */
	char *trust; /* owned: the file with their authority; NULL: none */
	struct cgroup group;
	char *home, *workspace; /* owned; paths on this machine */
	char *inside;           /* owned: path of workspace in the sandbox */
	/* Bytes at the last measurement (UINT64_MAX: none), and bytes that
	 * existed before the first command. Atomic, since several commands may
	 * run at once. */
	_Atomic uint64_t disk_used, disk_base;
};
/* Starts bubblewrap. Set guard, git, tree, inside and secrets before. The
 * caller frees the box, even on failure. */
int box_start(struct box *b, const struct local *l, const char *dir,
	      const struct local_meta *m, const struct stop *stop,
	      struct error *err);
/* Makes the supervisor exit after ms. */
int box_lifetime(const struct box *b, int64_t ms, struct error *err);
/* Ends the box and waits until no process in it runs. */
void box_stop(struct box *b);
void box_free(struct box *b, struct pipe_reaper *reaper);
/* Copies the trees from/home and from/workspace into the directory to. cp runs
 * in a separate sandbox that sees only these directories. If workspace is not
 * NULL, it is copied instead of from/workspace. */
int box_copy(struct local *l, const char *from, const char *workspace,
	     const char *to, const struct stop *stop, struct error *err);

/* Implements struct sandbox_ops.execute and shell. */
int local_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);

extern const struct sandbox_provider local_provider;

extern const struct sandbox_provider none_provider;

#endif
