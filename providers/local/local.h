/* local.h - what the rooms of the providers local and none share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_LOCAL_H
#define PROVIDERS_LOCAL_LOCAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "providers/local/jail.h"
#include "sandbox/bind.h"
#include "sandbox/sandbox.h"

/*
 * local.c is the provider, box.c one running bubblewrap, jail.c the process in
 * it. guard.c and record.c protect a directory of the user's that is bound.
 * none.c is the provider without a sandbox; pipes.c serves both.
 */

/* pipes.c */

/*
 * A thread, started when first needed, for what outlives a call: it reads and
 * drops what background children still print (else they would block, or die of
 * SIGPIPE), and reaps processes that end later. Any thread may add.
 */
struct pipe_reaper {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	bool leaving;
	int wake[2];
	struct left_behind {
		int fd;    /* a pipe's read end or a process descriptor */
		pid_t pid; /* 0 for a pipe */
	} * items;
	size_t n;
};
void pipe_reaper_init(struct pipe_reaper *r);
/* Reaps the child, now or when it ends. */
void pipe_reaper_reap(struct pipe_reaper *r, pid_t pid);
/* Ends the thread and closes what it holds. */
void pipe_reaper_release(struct pipe_reaper *r);

struct pump {
	/* Filled by pump_open(): ours are non-blocking and close-on-exec. */
	int theirs[3]; /* the command's stdin, stdout, stderr; -1: /dev/null */
	int in;        /* our ends; -1 when closed */
	int out[2];    /* stdout, stderr; of a merged one the first has both */
	const struct exec_request *req; /* borrowed */
	struct buf pending; /* replies, or from the source, not yet written */
	size_t sent;        /* bytes of req->input written */
	bool dry;           /* req->source has no more, or there is none */
};

enum pump_end {
	PUMP_ENDED,   /* the main process has ended */
	PUMP_TIMEOUT, /* req->timeout_ms has passed */
	PUMP_FAILED   /* err says: stopped, the callback's refusal, ... */
};

/* Refuses a command with a NUL byte. Release it in any case. */
int pump_open(struct pump *p, const struct exec_request *req,
	      struct error *err);
/* Once the command has been started. */
void pump_close_theirs(struct pump *p);
/* Moves bytes until done is readable (or hung up), or there is a reason to
 * kill the command. */
enum pump_end pump_run(struct pump *p, int done, const struct stop *stop,
		       struct error *err);
/* Delivers what the ended command left in its pipes, not waiting for
 * processes that still hold them. */
int pump_rest(struct pump *p, struct error *err);
/* Closes; pipes that somebody still writes to go to the reaper. */
void pump_release(struct pump *p, struct pipe_reaper *reaper);

struct pump_program {          /* all borrowed */
	struct proc_spec spec; /* without fds */
	const char *marker;    /* as in struct proc_tree */
	struct pipe_reaper *reaper;
};
/* Runs a program on this machine as req says. When it is stopped, or its time
 * is up, all processes that came of it are killed. */
int pump_program(const struct pump_program *program,
		 const struct exec_request *req, struct exec_result *res,
		 const struct stop *stop, struct error *err);

/* Closes it unless it is -1, and sets it to -1. */
void close_fd(int *fd);

/*
 * ~/.deepagents/sandboxes/LABEL/ (0700) holds one sandbox:
 *   home/ workspace/  what it may write; the only parts it ever sees
 *   sandbox.json      struct local_meta
 *   run.PID.START     one empty file per running bubblewrap: its process id
 *                     and start time (proc_started), so that any dcode can
 *                     end it and none ends somebody else's process
 */
struct local_meta {
	char owner[64];
	int64_t created; /* Unix seconds */
	int64_t ends;
	bool network;
	char *bind; /* owned; the user's directory on /workspace, or NULL */
};

struct local { /* sandbox_client.priv */
	struct pipe_reaper reaper;
	int64_t start_ms; /* for a jail to start */
	char *bwrap;      /* owned; absolute */
	struct jail_limits limits;
	uint64_t disk;          /* bytes of home and workspace, 0: no limit */
	const char *const *env; /* borrowed from settings */
	size_t nenv;
	int64_t lifetime_s; /* 0: the provider's */
	bool network;
	bool bind;
};

/* box.c: one line for doctor, which limits bind on this machine. */
void local_describe_limits(const struct sandbox_client *client,
			   struct buf *out);

/* record.c */

/*
 * A name that must not be created in a bound directory is occupied by a
 * placeholder: an empty directory or a file. Each running sandbox has a record
 * ~/.deepagents/sandboxes/.placeholders/LABEL.RANDOM of those that it relies
 * on, written to the disk before they are made. The process that owns a record
 * holds a lock on it; a record without one is of a process that was killed,
 * and the next dcode removes what it names. A placeholder that another living
 * record names stays.
 */
struct placeholder {
	char *path; /* owned, absolute */
	bool directory;
	uint64_t dev, ino; /* 0: was about to be made */
};

struct placeholders {
	struct placeholder *list;
	size_t n;
};

struct record { /* from { .fd = -1, .lock = -1 } */
	int fd;
	int lock;   /* while it is being made */
	char *dir;  /* owned; .placeholders */
	char *path; /* owned; of the record itself */
	struct placeholders own;
	struct placeholders living; /* of all other processes that run */
};

/* Removes what killed processes left. */
void record_sweep_all(const char *settings_dir);
/* Sweeps, and begins a record. One process at a time changes records and
 * placeholders: the lock is held until record_make(). */
int record_open(struct record *r, const char *settings_dir, const char *label,
		const struct stop *stop, struct error *err);
/* Notes in ours what a living one names, so that it stays for us, too. */
void record_share(struct record *r, const char *path);
/* Announces a placeholder. */
void record_plan(struct record *r, const char *path, bool directory);
/* Writes the plan to the disk and makes all of it; files called commondir hold
 * a text. Skips what exists and what nobody may make. */
int record_make(struct record *r, struct error *err);
/* Removes what nobody else relies on, and the record; frees. */
void record_release(struct record *r);

/* guard.c */

/*
 * A model that may write a directory of the user's could leave there what
 * makes git, an editor or a shell of the user run a program: a hook, a
 * core.fsmonitor, a task of .vscode, an .envrc. So, inside the sandbox,
 *   - .git is a mount of its own: it cannot be renamed or replaced;
 *   - names in it for which git runs programs are read-only; a placeholder
 *     occupies those that are missing;
 *   - names of the setting `protect` are read-only, also missing ones at the
 *     root if they have no wildcard.
 * Mounts cannot prevent new names elsewhere: guard_check() reports those.
 */
struct guard;
struct guard_request { /* all borrowed */
	const struct settings *settings;
	const char *root; /* the directory */
	const char *inside;
	const char *label; /* of the sandbox */
};
/* *g is set also when it fails; the caller frees it. */
int guard_open(struct guard **g, const struct guard_request *r,
	       const struct stop *stop, struct error *err);
/*
 * The same for a repository that lies outside of the bound directory: root and
 * inside are git->common. All of it is read-only but what a commit writes: the
 * objects, branches (those that are there only where the checkout is on them)
 * with their logs, and what the checkout itself has. The arguments begin with
 * the mount of root.
 */
int guard_open_git(struct guard **g, const struct guard_request *r,
		   const struct bind_git *git, const struct stop *stop,
		   struct error *err);
/* Reports what was found since the last call; last: all of it once more. */
void guard_check(struct guard *g, bool last,
		 void (*each)(void *arg, const char *line), void *arg);
/* bubblewrap's arguments, a NUL after each; borrowed. */
struct str guard_arguments(const struct guard *g);
/* Where the directory is in the sandbox; borrowed. */
const char *guard_inside(const struct guard *g);
/* Removes the placeholders: the sandbox must have ended. NULL is allowed. */
void guard_free(struct guard *g);

/* box.c */

/* Control groups that hold a sandbox. Not every machine allows them. */
struct cgroup {       /* from { 0 } */
	char *memory; /* owned; a directory, or NULL: not limited by it */
	char *pids;   /* owned; may be the same directory (cgroup 2) */
};
/* One running bubblewrap. */
struct box {      /* from { .sock = -1 } */
	int sock; /* to the supervisor; -1 when not running */
	pid_t pid;
	char *mark;          /* owned; path of run.PID.START */
	struct guard *guard; /* owned; NULL without a bound directory */
	struct guard *git;   /* owned: of a repository outside; or NULL */
	char *tree;          /* owned: its working tree, read-only; or NULL */
	struct cgroup group;
	char *home, *workspace; /* owned; on this machine */
	char *inside;           /* owned: the latter in the sandbox */
	/* When last measured (UINT64_MAX: never); what was there before us.
	 * Several commands may run at once. */
	_Atomic uint64_t disk_used, disk_base;
};
/* Set guard, git, tree and inside before. Free the box in any case. */
int box_start(struct box *b, const struct local *l, const char *dir,
	      const struct local_meta *m, const struct stop *stop,
	      struct error *err);
/* The supervisor exits this many ms from now. */
int box_lifetime(const struct box *b, int64_t ms, struct error *err);
/* Ends it and waits until nothing in it runs any more. */
void box_stop(struct box *b);
void box_free(struct box *b, struct pipe_reaper *reaper);
/* Copies trees with cp inside a sandbox of its own, which sees nothing but
 * the two directories: from/home and from/workspace (workspace: another place
 * for the latter, or NULL) into to. */
int box_copy(struct local *l, const char *from, const char *workspace,
	     const char *to, const struct stop *stop, struct error *err);

/* struct sandbox_ops.execute */
int local_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);

extern const struct sandbox_provider local_provider;

extern const struct sandbox_provider none_provider;

#endif
