/* exec.h - a command in a sandbox, and the state of its commands. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_EXEC_H
#define SANDBOX_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

enum { SANDBOX_NOTICE = 640 }; /* bytes of a notice, with NUL */

enum { EXEC_LATER = -2 }; /* of exec_request.source: no bytes now */
enum exec_stream { EXEC_STDOUT = 1, EXEC_STDERR = 2 };
/* The terminal in which a command runs. */
struct exec_terminal {
	unsigned rows, columns; /* 1 to 65535 */
	/* set by exec_request.source when they have changed; the provider
	 * clears it */
	bool resized;
};
struct exec_request {
	/* command line for the sandbox's shell; any bytes except NUL */
	struct str command;
	const char *cwd; /* absolute; NULL: the sandbox's workdir */
	/* variables to add, as NAME=value, NULL-terminated; or NULL */
	const char *const *env;
	/* run it with sh even if there is bash; set for dcode's own helper
	 * scripts */
	bool plain;
	/* Both streams go into one pipe: all output is EXEC_STDOUT, in the
	 * order in which it was written. */
	bool merged;
	/* Runs nothing; removes what this process's commands left in the
	 * sandbox. Only for providers that use supervise.h. */
	bool leaves;
	/* Also ask the sandbox for the shell, system and user of its commands
	 * (sandbox.facts), if they are unknown. */
	bool facts;
	/* NULL, or a nonce: the provider must then run the line of
	 * facts_add_script() with this nonce before the command. Set only by
	 * sandbox_execute(). */
	const char *aside;
	/* for a plain command: deliver output as it arrives, not at the end */
	bool live;
	/* The command's standard input, followed by EOF or, with dialog, by
	 * the callback's replies. Without SANDBOX_STDIN input, dialog and
	 * source must all be unset. */
	struct str input;
	bool dialog;
	/* Alternative to input and dialog: called on the calling thread
	 * whenever the command can take more, until the command closes its
	 * input. Writes at most len bytes into room and returns their number; 0
	 * at the end; -1 (err filled) kills the command, and execute returns
	 * -1. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *source_arg;
	/* 0: source always has bytes. Otherwise it is only called when this
	 * descriptor is readable, and may return EXEC_LATER if it is not. Only
	 * for providers whose dial uses ports_dial_by_command(), and with
	 * terminal. */
	int source_fd;
	/* NULL, or the terminal of an interactive command (sandbox_ops.shell).
	 * source and source_fd are set then, input and dialog are not; all
	 * output is EXEC_STDOUT; cwd is NULL. Borrowed. */
	struct exec_terminal *terminal;
	/* 0: no limit. At the limit the process tree is killed */
	int64_t timeout_ms;
	/* Receives output as it arrives, in order per stream (see merged), on
	 * the calling thread. Chunks are split anywhere. Bytes that it appends
	 * to reply (NULL without dialog) go to the command's standard input. -1
	 * (err filled) kills the command and makes execute fail with that
	 * error. */
	int (*output)(void *arg, enum exec_stream stream, struct str chunk,
		      struct buf *reply, struct error *err);
	void *arg;
};
/* An exec_request.output: appends standard output to arg, a struct buf, and
 * drops standard error. */
int exec_collect_output(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err);

struct exec_result {
	int exit_code; /* 128 + n when killed by signal n; 124 on timeout;
			  -1 when the provider cannot tell */
	bool timed_out;
	/* Other events that user and model should know: a restart, processes
	 * that still run. Usually "". */
	char notice[SANDBOX_NOTICE];
};

struct sandbox_facts {
	char shell[16];  /* "bash" or "sh"; "": unknown */
	char system[96]; /* such as "Debian GNU/Linux 12 (bookworm)" */
	char user[64];
};

/* Fills in the facts for commands that run on this machine. user: NULL for the
 * user of this process. */
void facts_here(struct sandbox_facts *f, const char *user);
/* Appends a line of sh that prints the facts as an aside (frame.h: a marked
 * text inside a command's output) with this nonce. It does not change the shell
 * that runs it. */
void facts_add_script(struct buf *out, const char *nonce);
/* Parses the text of such an aside. It is untrusted: control characters are
 * removed. */
void facts_read(struct sandbox_facts *f, struct str aside);
/* Appends "Commands run in bash on Debian GNU/Linux 12 (bookworm), as the user
 * root." */
void facts_describe(const struct sandbox_facts *f, struct buf *out);

enum {
	SUPERVISE_JOB = 16, /* characters of a job's name */
	/* the first characters of a job's name, the same for all jobs of a
	 * sandbox */
	SUPERVISE_PREFIX = 8,
	SUPERVISE_READ_MAX = 32,
	SUPERVISE_READ_IDS = SUPERVISE_READ_MAX * (SUPERVISE_JOB + 1) + 1,
};

/* Names of a sandbox's jobs whose output has been read completely and can be
 * removed. Functions accept NULL: then the sandbox removes the output by
 * itself. All functions are thread-safe. */
struct supervise_read *supervise_read_new(void);
void supervise_read_free(struct supervise_read *r);
/* Makes a new job name; all names of this sandbox have the same prefix. id:
 * SUPERVISE_JOB + 1 bytes. */
void supervise_read_name(struct supervise_read *r, char *id);
/* Copies the common prefix of the names; false if no job has been named.
 * prefix: SUPERVISE_PREFIX + 1 bytes. */
bool supervise_read_prefix(struct supervise_read *r, char *prefix);
void supervise_read_add(struct supervise_read *r, const char *id);
/* Writes the names into SUPERVISE_READ_IDS bytes, with a space after each. */
void supervise_read_list(struct supervise_read *r, char *ids);
void supervise_read_forgot(struct supervise_read *r, const char *ids);

struct background;

struct background_work {
	/* Runs on its own thread, whose commands do not wait for it. */
	int (*run)(void *arg, const struct stop *stop, struct error *err);
	void (*release)(void *arg);
	void *arg; /* owned: released even if the thread cannot be started */
};

/* Starts the work. *b is the sandbox's `background`, which is created if it is
 * NULL. Until the work has ended, successfully or not, sandbox_execute() and
 * sandbox_upload() wait for it. Waits for earlier work, whose failure is then
 * forgotten. Only one thread may start and end works. */
int background_start(_Atomic(struct background *) *b,
		     const struct background_work *work, struct error *err);
/* Waits for the end of the work; any thread. -1 only when stop ended the wait.
 * 0 at once if b is NULL, without work, and on the work's own thread. */
int background_wait(struct background *b, const struct stop *stop,
		    struct error *err);
/* Returns -1 with err if the work has failed. The failure is reported only
 * once: not again here or by background_end(). */
int background_failed(struct background *b, struct error *err);
/* Waits up to ms, then cancels the work, and frees *b. -1 with err if the work
 * failed or was cancelled; 0 also without work. No other thread may be waiting
 * for it. */
int background_end(_Atomic(struct background *) *b, int64_t ms,
		   struct error *err);

/* Kills one command. It is the first member of the heap struct that a provider
 * allocates for the command. The provider sets run and release and zeroes the
 * rest. */
struct kill {
	/* Kills the command and has its own deadline. It may run after execute
	 * has returned, so it uses no memory of execute's caller. */
	void (*run)(struct kill *k);
	void (*release)(struct kill *k); /* frees the struct; any thread */
	/* internal */
	atomic_int others; /* number of references besides the provider's own */
	bool queued;
	struct cancel over; /* triggered when run has returned */
	struct kill *next;
};
/* Drops the provider's reference. The provider must not use the struct
 * afterwards. */
void kill_drop(struct kill *k);

/* Runs the kills of a sandbox in order, on one thread that is started for the
 * first of them. */
struct kill_queue;

struct kill_queue *kills_new(void);
/* Waits for all kills, then ends the thread. */
void kills_free(struct kill_queue *ks);
/* Runs the kill: on the queue's thread, or on the caller's if ks is NULL or no
 * thread can be started. 0 when the kill is over. -1 with ERR_CANCELLED if stop
 * is cancelled and the kill is not over PROMPT_MS later: then it continues, and
 * the caller may only drop the struct, not read it. A deadline of stop has no
 * effect. */
int kills_run(struct kill_queue *ks, struct kill *k, const struct stop *stop,
	      struct error *err);
/* Waits until all kills are over; any thread. -1 only when stop ended the wait;
 * 0 at once for NULL. */
int kills_wait(struct kill_queue *ks, const struct stop *stop,
	       struct error *err);

#endif
