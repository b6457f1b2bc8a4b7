/* held.h - requests to a loop of ours, which one program's streams carry. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_HELD_HELD_H
#define PROVIDERS_HELD_HELD_H

#include "sandbox/supervise/supervise.h"

/*
 * A held stream: a program such as ssh or srun runs a POSIX sh elsewhere, and
 * its standard streams carry scripts/sandbox/held.sh, a loop that answers
 * requests. A request is one round trip of the wire, however many are under
 * way at once. The first request starts the program. After it ended or fell
 * silent, the next request starts it again. Jobs survive that: their keeper
 * (src/sandbox/supervise) does not depend on the stream.
 *
 * The program gets this environment and these arguments, no shell and no
 * terminal. It dies with dcode, also after SIGKILL. Its output is not trusted:
 * every size has a limit, and text outside of answers is dropped, or quoted in
 * an error (without escapes).
 */
struct held_program {
	const char *path;  /* absolute */
	char *const *argv; /* "ssh", ..., "exec sh": it must end in a sh that
			      reads its script from standard input, without a
			      terminal */
	char *const *env;
	const char *name; /* of the other end, for errors: "me@build" */
	int64_t start_ms; /* until the loop's first word; 0: 30 s */
	/*
	 * Replaces the loop: a script that ends in one whose input and output
	 * are the stream's. For example, it starts held_loop() in a process
	 * that outlives it, with held_nonce unchanged. NULL: the loop.
	 */
	const char *script;
	/*
	 * Called when the program ended, or was silent for start_ms, before the
	 * loop's first word. Fills err (code, message, hint) from its exit code
	 * (128 + n by a signal, -1: it had to be killed) and from what it said:
	 * the last two lines of its error output, or of its output if the
	 * former is empty, as one printable line of at most 320 bytes. NULL:
	 * ERR_NETWORK. On the caller's thread.
	 */
	void (*failed)(void *arg, int status, struct str said,
		       struct error *err);
	void *arg;
};

struct held;
/* Starts nothing. Copies all of p, except what arg points to. */
struct held *held_new(const struct held_program *p);
/* Ends the program: 1 s to leave by itself, then a kill. No request may be
 * under way. NULL is allowed. */
void held_free(struct held *h);
/*
 * Runs text, POSIX sh in printable ASCII, in a subshell of the loop, and
 * appends its output to out, error output too, without line feeds at the end.
 * As struct supervisor.call, with a struct held as arg; any thread. Request and
 * answer have at most 4 MiB. -1: ERR_NETWORK, the stream broke (the text may
 * have run, or not); ERR_TIMEOUT, the deadline of stop: if nothing at all has
 * arrived since the request was sent, the next request starts the program
 * again; what failed() says; ERR_CANCELLED. A request that was given up before
 * the loop began never runs, and the error says so (nothing_made).
 */
int held_call(void *held, struct str text, int64_t wait_ms, struct buf *out,
	      const struct stop *stop, struct error *err);
/* The same for a request of the supervisor's, which answers by itself. */
int held_call_job(void *held, struct str text, int64_t wait_ms, struct buf *out,
		  const struct stop *stop, struct error *err);
/* A supervisor over it, for supervise_execute(). The supervisor's scripts
 * travel once per stream, not with each command. */
struct supervisor held_supervisor(struct held *h);
/*
 * Appends the loop as a shell function held_loop, for a script in which the
 * loop runs in another process than the stream's. It answers on standard output
 * what it reads from standard input, until that ends. Its first line holds
 * $held_nonce.
 */
void held_add_loop(struct buf *out);

#endif
