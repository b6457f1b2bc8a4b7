/* supervise.h - live, killable commands for vendors that only run a command. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_SUPERVISE_H
#define SANDBOX_SUPERVISE_SUPERVISE_H

#include "sandbox/exec.h"
#include "sandbox/sandbox.h"

/*
 * For a provider whose API only runs a shell command and returns its output at
 * the end. scripts/sandbox/supervise*.sh start the command as a job in its own
 * session, with its output in files. Each request starts, follows or ends a job
 * and returns new output. A command that ends within some seconds needs one
 * request. A start is idempotent by the job's name, so every request can be
 * repeated after a broken connection: no command ever runs twice, as long as
 * the sandbox keeps its /tmp.
 *
 * A job's directory in the sandbox is .dcode-exec/JOB (mode 0700) in /tmp, the
 * home or the working directory: the first that is writable. A stream that is
 * SUPERVISE_CAP bytes ahead of the reader blocks the command until it is read.
 * A finished job's output is removed by the request that starts the next one or
 * by supervise_leave(). Otherwise the sandbox removes it after a minute and a
 * half, when no reader will ask again. That the job has run is remembered for
 * ten minutes, for repeated requests.
 */
struct supervisor {
	/*
	 * Runs command (POSIX sh, printable ASCII) in the sandbox and appends
	 * its output to out. Additional error output, noise around it and
	 * changed line ends do no harm; its exit code is ignored. The vendor
	 * may hold the request for wait_ms; stop has a deadline some seconds
	 * later. Must be thread-safe. 0 when an answer came. -1 with
	 * ERR_NETWORK or ERR_TIMEOUT (broken connection, the vendor's time
	 * limit): smaller answers are requested until answers arrive again.
	 * ERR_PROTOCOL (damaged or too large): smaller answers are requested
	 * from then on. ERR_UNREACHABLE: repeated for some seconds. Any other
	 * error ends the command's execution; with ERR_GONE the command is not
	 * killed.
	 */
	int (*call)(void *arg, struct str command, int64_t wait_ms,
		    struct buf *out, const struct stop *stop,
		    struct error *err);
	void *arg;
	/* 0: arg lives as long as the sandbox. Otherwise so many bytes of *arg
	 * are copied, and calls get the copy: a cancelled command is killed
	 * after supervise_execute() has returned. */
	size_t arg_size;
	/* Limits of the vendor; 0: the default. */
	size_t max_command; /* bytes of a command; 120000. At least 16 KiB */
	size_t max_answer;  /* bytes of an answer; 1 MiB. At least 2 KiB */
	int64_t longest_ms; /* how long a request may be held; 20 s */
	/* the same for the request that starts a job; 5 s */
	int64_t first_ms;
	int64_t patience_ms; /* give up after so long without an answer; 60 s */
	/* No process outlives a request (see supervise_probe()): the request
	 * that starts a command is held until it ends and is never repeated. */
	bool held;
	/* The output of supervise_preload() was run in a shell of which each
	 * call is a subshell. That shell has a function held_answer, which
	 * prints its arguments' output, with stderr separate, as the call's
	 * output. */
	bool preloaded;
	/* A name (a-z, 0-9, -) that separates its jobs from others on the same
	 * machine: they are in .dcode-exec.OWNER, and DCODE_EXEC is JOB.OWNER.
	 * NULL: the machine is not shared. */
	const char *owner;
	/* Called with arg before the job is killed, on the thread that kills
	 * it: ends what a cancelled call left behind. Or NULL. */
	void (*ends)(void *arg);
	/* Called with the job's name before it is started; or NULL. */
	void (*began)(void *arg, const char *job);
};

/*
 * Tests with two requests whether background processes survive: the first
 * starts one, the second looks for it. True if it is gone: each request has its
 * own container, or processes are killed with their session (KillUserProcesses
 * of systemd). False if it survived or the result is unknown.
 */
bool supervise_probe(const struct supervisor *s, const struct stop *stop);
/* Implements sandbox_ops.execute. Dialogs are not supported. The input, also
 * from a source, must fit in max_command. */
int supervise_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct supervisor *s,
		      const struct stop *stop, struct error *err);
/* Follows a job that was started earlier, from the first byte that its last
 * reader did not confirm. Only output, arg and timeout_ms of req are used; the
 * time limit is the one with which it was started. ERR_NOT_FOUND: no such
 * job. */
int supervise_follow(const char *job, const struct exec_request *req,
		     struct exec_result *res, const struct supervisor *s,
		     const struct stop *stop, struct error *err);

/* Call last for a sandbox that continues to exist or runs on a shared machine.
 * Sends one request of at most five seconds if any command was run. It removes
 * all processes and directories of dcode, except for a running command,
 * background jobs (kept.h), and the cat that reads the output of a command's
 * daemon. */
void supervise_leave(struct sandbox *sb);

#endif
