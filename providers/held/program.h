/* program.h - what carries a held stream, and the loop at its far end. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_HELD_PROGRAM_H
#define PROVIDERS_HELD_PROGRAM_H

#include "base/buf.h"

struct held_program {
	const char *path;  /* absolute */
	char *const *argv; /* "ssh", ..., "exec sh": it must end in a sh that
			      reads its script from standard input, without a
			      terminal */
	char *const *env;
	const char *name; /* what is reached, in errors: "me@build" */
	int64_t start_ms; /* until the loop's first word; 0: 30 s */
	/*
	 * Instead of the loop itself, a script that ends in one of which both
	 * ends are the stream's: held_loop() in a process that outlives it,
	 * say, with held_nonce as it is here. NULL: the loop.
	 */
	const char *script;
	/*
	 * The program ended, or said nothing for start_ms, before the loop's
	 * first word: fills err (code, message, hint) from its exit code (128
	 * + n by a signal, -1: it had to be killed) and its error output, or
	 * its output where that is empty: the last two lines as a printable
	 * one of at most 320 bytes. The default,
	 * NULL, is ERR_NETWORK. On the caller's thread.
	 */
	void (*failed)(void *arg, int status, struct str said,
		       struct error *err);
	void *arg;
};

/* Appends the loop as a shell function held_loop: it answers on standard
 * output what it reads from standard input, until that ends, and begins with
 * a word that holds $held_nonce. For a script in which the loop runs in
 * another process than the stream's. */
void program_add_loop(struct buf *out);

#endif
