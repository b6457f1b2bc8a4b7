/* exec.h - one command in a sandbox: what to run, and what came of it. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_EXEC_H
#define SANDBOX_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

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
		       background.h */
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
	 * cancelled command is killed in the background (detached.h); chunks
	 * are split anywhere. What it appends to reply (NULL without dialog)
	 * goes to the command's stdin. -1 (err filled) kills the command and
	 * makes execute fail with that error. */
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

#endif
