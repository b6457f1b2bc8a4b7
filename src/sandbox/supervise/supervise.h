/* supervise.h - live output and killing for vendors that only run a command. */
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
 * request. A second start with the same job name does nothing, so every request
 * can be repeated after a broken connection: no command runs twice, as long as
 * the sandbox keeps its /tmp.
 *
 * A job's directory in the sandbox is .dcode-exec/JOB (mode 0700) in /tmp, the
 * home or the working directory: the first that is writable. If a stream has
 * SUPERVISE_CAP bytes that were not read yet, the command blocks until they
 * are. A finished job's output is removed by the request that starts the next
 * one or by supervise_leave(). Otherwise the sandbox removes it after a minute
 * and a half, when no reader will ask again. For ten minutes it remembers that
 * the job has run, in case the start is repeated.
 */
struct supervisor {
	/*
	 * Runs command (POSIX sh, printable ASCII) in the sandbox and appends
	 * its output to out. Error output and noise around the answer, and
	 * changed line ends, do no harm; the exit code is ignored. The vendor
	 * may take wait_ms to answer; stop has a deadline some seconds later.
	 * Must be thread-safe. 0 when an answer came. -1 with ERR_NETWORK or
	 * ERR_TIMEOUT (broken connection, the vendor's time limit): the request
	 * is repeated with smaller answers until answers arrive again.
	 * ERR_PROTOCOL (damaged or too large): smaller answers are requested
	 * from then on. ERR_UNREACHABLE: repeated for some seconds. Any other
	 * error ends the command's execution; with ERR_GONE the command is not
	 * killed.
	 */
	int (*call)(void *arg, struct str command, int64_t wait_ms,
		    struct buf *out, const struct stop *stop,
		    struct error *err);
	void *arg;
	/* 0: arg lives as long as the sandbox. Otherwise: the size of *arg,
	 * which is copied for the calls, because a cancelled command is killed
	 * after supervise_execute() has returned. */
	size_t arg_size;
	/* Limits of the vendor. 0 selects the default, the last number in each
	 * comment. */
	size_t max_command; /* bytes of a command, at least 16 KiB; 120000 */
	size_t max_answer;  /* bytes of an answer, at least 2 KiB; 1 MiB */
	int64_t longest_ms; /* how long a request may take; 20 s */
	/* how long the request that starts a job may take; 5 s */
	int64_t first_ms;
	/* how long to repeat without an answer before giving up; 60 s */
	int64_t patience_ms;
	/* No process outlives a request (see supervise_probe()). So the request
	 * that starts a command lasts until the command ends and is never
	 * repeated. */
	bool held;
	/* The output of supervise_preload() was run in a shell, and each call
	 * runs in a subshell of it. That shell has a function held_answer,
	 * which runs its arguments and returns their output, with stderr
	 * separate, as the call's output. */
	bool preloaded;
	/* A name (a-z, 0-9, -) that separates the jobs of this sandbox from
	 * others on the same machine: they are in .dcode-exec.OWNER, and
	 * DCODE_EXEC is JOB.OWNER. NULL: the machine is not shared. */
	const char *owner;
	/* NULL, or called with arg before the job is killed, on the thread that
	 * kills it: must end requests that a cancelled call left behind. */
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
 * reader did not confirm. Of req only output, arg and timeout_ms are used;
 * timeout_ms must be that of the start. ERR_NOT_FOUND: no such job. */
int supervise_follow(const char *job, const struct exec_request *req,
		     struct exec_result *res, const struct supervisor *s,
		     const struct stop *stop, struct error *err);

/* Call last for a sandbox that continues to exist or is a shared machine. If
 * any command was run, sends one request of at most five seconds. It removes
 * all processes and directories of dcode, except a running command, background
 * jobs (kept.h), and the cat that reads the output of a daemon that a command
 * has started. */
void supervise_leave(struct sandbox *sb);

#endif
