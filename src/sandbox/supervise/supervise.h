/* supervise.h - live, killable commands over a vendor's plain "run this". */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_SUPERVISE_H
#define SANDBOX_SUPERVISE_SUPERVISE_H

#include "sandbox/exec.h"
#include "sandbox/sandbox.h"

/*
 * For a provider whose API only runs a shell command and gives its output at
 * the end. scripts/sandbox/supervise*.sh start the command as a job in a
 * session of its own, which keeps its output in files; each request starts,
 * follows or ends a job and answers what is new. A command that ends within
 * some seconds costs one request. Starting is idempotent by the job's name, so
 * every request may be repeated after a cut: no command ever runs twice, as
 * long as the sandbox keeps its /tmp.
 *
 * In the sandbox a job's directory is .dcode-exec/JOB (mode 0700) in /tmp, the
 * home or the working directory, the first that can be written. A stream that
 * is SUPERVISE_CAP bytes ahead of us blocks the command until we follow. What a
 * finished job printed is removed by the request that starts the next one, by
 * supervise_leave(), or, when nobody comes back, by the sandbox itself after a
 * minute and a half: longer than anybody asks for it again. That it has run
 * stays known for ten minutes, for repeated requests.
 */
struct supervisor {
	/*
	 * Runs command (POSIX sh, printable ASCII) in the sandbox and appends
	 * what it wrote to out, in which error output, noise around it and
	 * changed line ends do no harm; its exit code does not matter. The
	 * vendor may hold the request for wait_ms, and stop has a deadline some
	 * seconds after that. May be called from several threads at once.
	 * 0 when an answer came. -1: ERR_NETWORK and ERR_TIMEOUT (a cut, the
	 * vendor's own time limit) make us ask for less until answers come
	 * again, ERR_PROTOCOL (damaged, too large) from then on,
	 * ERR_UNREACHABLE ask again for some seconds; all else ends the
	 * command's execution, ERR_GONE without trying to kill it.
	 */
	int (*call)(void *arg, struct str command, int64_t wait_ms,
		    struct buf *out, const struct stop *stop,
		    struct error *err);
	void *arg;
	/* What the vendor carries; 0: the default. */
	size_t max_command;  /* bytes of a command; 120000. At least 16 KiB */
	size_t max_answer;   /* bytes of an answer; 1 MiB. At least 2 KiB */
	int64_t longest_ms;  /* for which a request is held; 20 s */
	int64_t first_ms;    /* for which the starting one is held; 5 s */
	int64_t patience_ms; /* without any answer, then we give up; 60 s */
	/* Nothing outlives a request here (see supervise_probe()): a command is
	 * held in the one that starts it, whose answer comes at its end, and
	 * which is never repeated. */
	bool held;
	/* What supervise_preload() wrote was run before, in a shell of which
	 * each call is a subshell, and a function held_answer that prints its
	 * arguments' output as the call's: with errors apart. */
	bool preloaded;
	/* A name (a-z, 0-9, -) that sets its jobs apart from those of others
	 * on the same machine: they are in .dcode-exec.OWNER, and DCODE_EXEC
	 * is JOB.OWNER. NULL: the machine is the sandbox. */
	const char *owner;
	/* The job's name, before it is started; NULL allowed. */
	void (*began)(void *arg, const char *job);
};

/*
 * Two requests: leaves a process in the background and looks for it. True when
 * it is gone: each request has a container of its own, or what a session
 * leaves is killed at its end (KillUserProcesses of systemd). False when it
 * lives, or nobody can tell.
 */
bool supervise_probe(const struct supervisor *s, const struct stop *stop);
/* struct sandbox_ops.execute. No dialog; the input, a source's too, must fit in
 * max_command. */
int supervise_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct supervisor *s,
		      const struct stop *stop, struct error *err);
/* Follows a job that was begun before, from the first byte that its last
 * reader did not confirm. Only output, arg and timeout_ms of req count; the
 * time limit is the one it was started with. ERR_NOT_FOUND: no such job. */
int supervise_follow(const char *job, const struct exec_request *req,
		     struct exec_result *res, const struct supervisor *s,
		     const struct stop *stop, struct error *err);

/* The last of a sandbox that is left to others, or whose machine is not ours
 * alone: one request, if any command was run, of at most five seconds. No
 * process and no directory of ours stays, but for a command that still runs,
 * for background jobs (kept.h), and for the cat that reads what a command's
 * own daemon prints. */
void supervise_leave(struct sandbox *sb);

#endif
