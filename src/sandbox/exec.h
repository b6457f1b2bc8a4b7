/* exec.h - a command in a sandbox, and what the sandbox keeps of commands. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_EXEC_H
#define SANDBOX_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

enum { SANDBOX_NOTICE = 640 }; /* bytes of a notice */

enum exec_stream { EXEC_STDOUT = 1, EXEC_STDERR = 2 };
struct exec_request {
	struct str command;     /* for the sandbox's shell; any bytes but NUL */
	const char *cwd;        /* absolute, NULL: the sandbox's workdir */
	const char *const *env; /* NAME=value added, NULL-terminated, or NULL */
	bool plain;             /* run by sh even where bash exists: for our own
				   helpers */
	/* Both streams go into one pipe: all output is EXEC_STDOUT, in the
	 * order in which it was written. */
	bool merged;
	/* Runs nothing: what this program's commands have left of ours in the
	 * sandbox goes. Only where supervise.h runs them. */
	bool leaves;
	/* The sandbox is asked along with it which shell, system and user its
	 * commands have (sandbox.facts), where that is not known. */
	bool facts;
	/* Set by sandbox_execute() alone, or NULL: before the command, the
	 * provider runs facts_add_script() with this nonce. */
	const char *aside;
	bool live;  /* a plain one whose output is read as it comes, not at its
		       end */
	bool ahead; /* part of the background work, which the others wait for:
		       see background_start() */
	/* Without SANDBOX_STDIN all must be empty. Else what the command reads;
	 * then EOF, or with dialog, instead of EOF, the callback's replies. */
	struct str input;
	bool dialog;
	/* Instead of both: called when the command can take more, on the
	 * calling thread, until it closes its input. At most len bytes into
	 * room; 0 at the end; -1 (err filled) kills the command: -1. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *source_arg;
	int64_t timeout_ms; /* 0: none. Kills the whole process tree */
	/* Output as it arrives, in order per stream (see merged), never two at
	 * once, while the caller waits: on its thread, or on a helper's where a
	 * cancelled command is killed in the background (struct detached);
	 * chunks are split anywhere. What it appends to reply (NULL without
	 * dialog) goes to the command's stdin. -1 (err filled) kills the
	 * command and makes execute fail with that error. */
	int (*output)(void *arg, enum exec_stream stream, struct str chunk,
		      struct buf *reply, struct error *err);
	void *arg;
};

struct exec_result {
	int exit_code; /* 128 + n when killed by signal n; 124 on timeout;
			  -1 when the provider cannot tell */
	bool timed_out;
	/* What else happened to the sandbox, for user and model: a restart,
	 * processes that live on. "" is the rule. */
	char notice[SANDBOX_NOTICE];
};

struct sandbox_facts {
	char shell[16];  /* "bash" or "sh"; "": unknown */
	char system[96]; /* "Debian GNU/Linux 12 (bookworm)" */
	char user[64];
};

/* What commands of this process on this machine have. user: NULL for its own.
 */
void facts_here(struct sandbox_facts *f, const char *user);
/* Appends a line of sh that prints the facts as an aside with this nonce, and
 * leaves nothing behind in the shell that runs it. */
void facts_add_script(struct buf *out, const char *nonce);
/* Reads such an aside: untrusted bytes, which become plain text. */
void facts_read(struct sandbox_facts *f, struct str aside);
/* "Commands run in bash on Debian GNU/Linux 12 (bookworm), as root." */
void facts_describe(const struct sandbox_facts *f, struct buf *out);

enum {
	SUPERVISE_JOB = 16,   /* characters of a job's name */
	SUPERVISE_PREFIX = 8, /* of these, which a sandbox's jobs share */
	SUPERVISE_READ_MAX = 32,
	SUPERVISE_READ_IDS = SUPERVISE_READ_MAX * (SUPERVISE_JOB + 1) + 1,
};

/* The jobs of a sandbox that have been read to their end, for that. May be
 * NULL: then it is up to the sandbox. All for several threads at once. */
struct supervise_read *supervise_read_new(void);
void supervise_read_free(struct supervise_read *r);
/* A new job's name: all of this sandbox's begin alike. id: SUPERVISE_JOB + 1
 * bytes. */
void supervise_read_name(struct supervise_read *r, char *id);
/* What they begin with; false: there was none. prefix: SUPERVISE_PREFIX + 1. */
bool supervise_read_prefix(struct supervise_read *r, char *prefix);
void supervise_read_add(struct supervise_read *r, const char *id);
/* Into SUPERVISE_READ_IDS bytes, with a space after each. */
void supervise_read_list(struct supervise_read *r, char *ids);
void supervise_read_forgot(struct supervise_read *r, const char *ids);

struct background;

struct background_work {
	/* On a thread of its own; its commands are "ahead" (exec.h). */
	int (*run)(void *arg, const struct stop *stop, struct error *err);
	void (*release)(void *arg);
	void *arg; /* owned: released, also when it cannot be started */
};

/* Into the sandbox's "background": from now on sandbox_execute() and
 * sandbox_upload() wait until the work has ended, well or not. */
int background_start(struct background **b, const struct background_work *work,
		     struct error *err);
/* -1 only when stop ended the wait. 0 at once without any work, NULL. */
int background_wait(const struct background *b, const struct stop *stop,
		    struct error *err);
/* -1 with err once, when the work has failed by now: background_end() does not
 * say it again. */
int background_failed(struct background *b, struct error *err);
/* Waits for ms, then cancels what still runs. -1 with err when the work has
 * failed or was cancelled; 0 also without any. Not while others wait. */
int background_end(struct background **b, int64_t ms, struct error *err);

struct sandbox;
/* Those of one sandbox. All functions for several threads at once, but free. */
struct detached;

struct detached *detached_new(void);
/* Waits until all have ended; each has a deadline of its own. */
void detached_free(struct detached *d);
struct detached_command {
	/* struct sandbox_ops.execute */
	int (*execute)(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err);
	struct sandbox *sb;
	const struct exec_request *req; /* without a dialog and a source */
};

/* Executes it on a thread of its own. Once stop is cancelled and the command
 * does not end within some milliseconds, this returns ERR_CANCELLED, and the
 * thread goes on to kill it: req->output is not called any more. A deadline of
 * stop is left to execute(). */
int detached_execute(struct detached *d, const struct detached_command *what,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err);
/* Until those that were left have ended. -1 only when stop ended the wait; 0
 * at once for NULL. */
int detached_wait(struct detached *d, const struct stop *stop,
		  struct error *err);

#endif
