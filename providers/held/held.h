/* held.h - requests to a loop of ours, which one program's streams carry. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_HELD_HELD_H
#define PROVIDERS_HELD_HELD_H

#include "providers/held/program.h"
#include "sandbox/supervise/supervise.h"

/*
 * A held stream: a program such as ssh or srun runs a POSIX sh elsewhere, and
 * its standard streams carry scripts/sandbox/held.sh, a loop that answers
 * requests. A request is one round trip of the wire, however many are under
 * way at once. The program is started by the first request, and again by the
 * next one after it ended or fell silent; what ran over there is not lost by
 * that, since its keeper (src/sandbox/supervise) is no part of the stream.
 *
 * The program gets this environment and these arguments, no shell and no
 * terminal. It dies with dcode: SIGKILL too. What it writes is not trusted:
 * every size has a ceiling, and what is no answer is dropped, or quoted in an
 * error (without escapes).
 */
struct held;
/* Starts nothing. All of p is copied, but what arg points to. */
struct held *held_new(const struct held_program *p);
/* Ends the program: 1 s to leave by itself, then a kill. No request may be
 * under way. NULL is allowed. */
void held_free(struct held *h);
/*
 * Runs text, POSIX sh in printable ASCII, in a subshell of the loop, and
 * appends what it printed to out, error output too, without line feeds at the
 * end. As struct supervisor.call, with a struct held as arg; any thread.
 * Request and answer have at most 4 MiB. -1: ERR_NETWORK, the stream was cut
 * (the text may have run, or not); ERR_TIMEOUT, the deadline of stop: where
 * no answer at all has come since the request was sent, the next one starts the
 * program again; what failed() says; ERR_CANCELLED. What was given up before
 * the loop began is never run, and the error says so (nothing_made).
 */
int held_call(void *held, struct str text, int64_t wait_ms, struct buf *out,
	      const struct stop *stop, struct error *err);
/* The same for a request of the supervisor's, which answers by itself. */
int held_call_job(void *held, struct str text, int64_t wait_ms, struct buf *out,
		  const struct stop *stop, struct error *err);
/* The supervisor of commands over it: for supervise_execute(). The scripts of
 * the supervisor travel once per stream, not with each command. */
struct supervisor held_supervisor(struct held *h);

#endif
