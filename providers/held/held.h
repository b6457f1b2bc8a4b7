/* held.h - requests to a shell loop that ssh, srun or the like starts. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_HELD_HELD_H
#define PROVIDERS_HELD_HELD_H

#include "sandbox/supervise/supervise.h"

/*
 * A program such as ssh or srun runs a POSIX sh on another machine. Its
 * standard streams stay open and carry scripts/sandbox/held.sh, a loop that
 * answers requests. A request takes one round trip, even if many run at once.
 * The first request starts the program. If the program has ended or is silent,
 * the next request starts it again. Jobs are not affected: the process that
 * watches them (src/sandbox/supervise) does not depend on the stream.
 *
 * The program gets the environment and arguments below, no shell and no
 * terminal. It is killed when dcode ends, even if SIGKILL ended dcode. Its
 * output is not trusted: every size has a limit. Text outside of answers is
 * dropped, or quoted in an error (without escapes).
 */
struct held_program {
	const char *path; /* absolute */
	/*
	 * "ssh", ..., "exec sh". The last part must start a sh that reads its
	 * script from standard input and has no terminal
	 */
	char *const *argv;
	char *const *env;
	const char *name; /* the other end in error messages: "me@build" */
	/* ms until the loop's first line must come; 0: 30 s */
	int64_t start_ms;
	/*
	 * NULL, or a script that sh runs instead of the loop. It must end in a
	 * loop that uses the stream's input and output. For example, it starts
	 * held_loop() in a process that outlives the stream, with held_nonce
	 * unchanged.
	 */
	const char *script;
	/*
	 * Called on the caller's thread when the program ended, or was silent
	 * for start_ms, before the loop's first line. Fills err (code, message,
	 * hint). status is the exit code (128 + n by a signal, -1: dcode killed
	 * it). said contains the last two lines of its error output (of its
	 * output, if that is empty), as one printable line of at most 320
	 * bytes. If failed is NULL, the error is ERR_NETWORK.
	 */
	void (*failed)(void *arg, int status, struct str said,
		       struct error *err);
	void *arg;
};

struct held;
/*
 * Creates the state but starts no program. Copies all of p, except what arg
 * points to.
 */
struct held *held_new(const struct held_program *p);
/*
 * Ends the program, and kills it after 1 s. No request may be running. NULL is
 * allowed.
 */
void held_free(struct held *h);
/*
 * Runs text, POSIX sh in printable ASCII, in a subshell of the loop. Appends
 * its output and error output to out, without line feeds at the end. Can serve
 * as supervisor.call with a struct held as arg. May be called from any thread.
 * A request is limited to 4 MiB (ERR_LIMIT), an answer by out (ERR_PROTOCOL).
 *
 * -1: ERR_NETWORK if the stream broke (the text may have run or not);
 * ERR_TIMEOUT if the deadline of stop passed (the next request starts the
 * program again if this link seems stuck); the error of failed();
 * or ERR_CANCELLED. A request that was cancelled before the loop was ready
 * never runs; err->nothing_made is then set.
 */
int held_call(void *held, struct str text, int64_t wait_ms, struct buf *out,
	      const struct stop *stop, struct error *err);
/*
 * Like held_call(), for a request of the supervisor whose answer the job's own
 * process writes.
 */
int held_call_job(void *held, struct str text, int64_t wait_ms, struct buf *out,
		  const struct stop *stop, struct error *err);
/*
 * Returns a supervisor that uses h, for supervise_execute(). Its scripts are
 * sent once per stream, not with each command.
 */
struct supervisor held_supervisor(struct held *h);
/*
 * Appends the loop as a shell function held_loop, for scripts that run it in a
 * process other than the stream's. The function reads requests from standard
 * input until that ends, and answers on standard output. The first line of its
 * output contains $held_nonce.
 */
void held_add_loop(struct buf *out);

#endif
