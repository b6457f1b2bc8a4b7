/* kept.h - commands in a sandbox that outlive the process that started them. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_KEPT_H
#define SANDBOX_SUPERVISE_KEPT_H

#include "sandbox/exec.h"
#include "sandbox/sandbox.h"
#include "sandbox/supervise/request.h"

/*
 * Works through sandbox_execute(), on every provider where processes outlive a
 * request: see sandbox_keeps_processes(). Such a job is run by a keeper
 * process, started by scripts/sandbox/supervise*.sh, in .dcode-jobs/JOB (mode
 * 0700). Any process that knows the job's name can ask about it, even after a
 * restart of the machine. The job never waits for a reader: both output streams
 * are stored together, at least the newest SUPERVISE_RING bytes and at most 5
 * MiB more. Every request may be repeated, and is repeated for a minute after a
 * broken connection. That is safe because only the keeper that creates the
 * directory "run" runs the command.
 */
bool sandbox_keeps_processes(const struct sandbox *sb);

enum kept_state {
	KEPT_RUNS,
	KEPT_ENDED,  /* code -1: interrupted, its exit status is unknown */
	KEPT_LATE,   /* killed at its time limit */
	KEPT_KILLED, /* killed by kept_kill() */
	KEPT_FULL,   /* ended; some output did not fit on the disk */
	KEPT_NOCWD,  /* not run: its working directory cannot be entered */
	KEPT_NEVER,  /* not run, and can never start */
	KEPT_GONE,   /* unknown to the sandbox */
};
struct kept_status {
	char job[SUPERVISE_JOB + 1];
	enum kept_state state;
	int code;      /* exit status, 0 to 255; -1: unknown */
	int64_t total; /* bytes of output so far */
	int64_t first; /* offset of the oldest byte still stored */
	int64_t from;  /* offset of the first byte that kept_read() returned */
	int64_t seconds; /* run time */
};

/* Makes a new random name for a job. */
void kept_name(char job[SUPERVISE_JOB + 1]);
/* Starts the job, or does nothing if a job of this name was started before.
 * Only command, env and timeout_ms (0: none) of req are used. forget: names of
 * jobs whose output the sandbox is to remove, with a blank after each. After -1
 * the job may still be running, except with ERR_USAGE and ERR_LIMIT. */
int kept_start(struct sandbox *sb, const char *job,
	       const struct exec_request *req, const char *forget,
	       const struct stop *stop, struct error *err);
/* Kills all processes of the job. A job that has not started is prevented from
 * starting. */
int kept_kill(struct sandbox *sb, const char *job, const struct stop *stop,
	      struct error *err);
/* Prevents a job that has not started from starting later. If it has started,
 * it continues. */
int kept_claim(struct sandbox *sb, const char *job, const struct stop *stop,
	       struct error *err);
/* Removes all that the sandbox stores of these jobs, except of those that still
 * run after two seconds, and of those that must never start. jobs: as in
 * kept_list(). */
int kept_remove(struct sandbox *sb, const char *jobs, const struct stop *stop,
		struct error *err);
/* Asks for the status of all jobs with one request. jobs: names with a blank
 * after each. */
int kept_list(struct sandbox *sb, const char *jobs,
	      void (*each)(void *arg, const struct kept_status *s), void *arg,
	      const struct stop *stop, struct error *err);
struct kept_reading {
	int64_t from; /* offset in the output where to start */
	size_t most;  /* how many bytes are wanted */
	/* the caller's, kept between readings; zeroed before the first */
	struct answer_piece *piece;
	struct buf out; /* out: output is appended */
	struct kept_status status;
};
/* Sends as many requests as needed. If an answer is cut off, its piece is
 * requested again in a smaller size; later pieces grow again. status.from is
 * later than requested if older output was discarded. */
int kept_read(struct sandbox *sb, const char *job, struct kept_reading *r,
	      const struct stop *stop, struct error *err);

#endif
