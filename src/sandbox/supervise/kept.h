/* kept.h - commands in a sandbox that outlive who began them. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_KEPT_H
#define SANDBOX_SUPERVISE_KEPT_H

#include "sandbox/exec.h"
#include "sandbox/sandbox.h"
#include "sandbox/supervise/request.h"

/*
 * Over sandbox_execute(), so on every provider whose processes outlive a
 * request: sandbox_keeps_processes(). Such a job runs under a keeper of
 * scripts/sandbox/supervise*.sh in .dcode-jobs/JOB (mode 0700). Anybody who has
 * its name can ask about it, also another process and after a restart of the
 * machine. It never waits for a reader: of what it prints, both streams in one,
 * the newest SUPERVISE_RING bytes stay, at most 5 MiB more. Every request may
 * be repeated, and is, for a minute, after a cut: the keeper that makes the
 * directory "run" is the only one that runs the command.
 */
bool sandbox_keeps_processes(const struct sandbox *sb);

enum kept_state {
	KEPT_RUNS,
	KEPT_ENDED,  /* code, -1: it was cut off, and nobody knows how */
	KEPT_LATE,   /* killed at its time limit */
	KEPT_KILLED, /* by kept_kill() */
	KEPT_FULL,   /* ended; not all of its output fitted on the disk */
	KEPT_NOCWD,  /* not run: its directory cannot be entered */
	KEPT_NEVER,  /* not run, and it never will be */
	KEPT_GONE,   /* the sandbox does not know it */
};
struct kept_status {
	char job[SUPERVISE_JOB + 1];
	enum kept_state state;
	int code;        /* 0 to 255, or -1 */
	int64_t total;   /* bytes of output so far */
	int64_t first;   /* of these, the first that is still there */
	int64_t from;    /* where kept_read()'s bytes begin */
	int64_t seconds; /* that it has run for */
};

/* A new name. */
void kept_name(char job[SUPERVISE_JOB + 1]);
/* Starts it, or does nothing where it was: only command, env and timeout_ms of
 * req count, 0: none. forget: names of jobs, with a blank after each, whose
 * output goes. -1 may mean that it runs all the same, but for ERR_USAGE and
 * ERR_LIMIT. */
int kept_start(struct sandbox *sb, const char *job,
	       const struct exec_request *req, const char *forget,
	       const struct stop *stop, struct error *err);
/* Kills all that it runs; what was not started never will be. */
int kept_kill(struct sandbox *sb, const char *job, const struct stop *stop,
	      struct error *err);
/* What was not started never will be; else it goes on. */
int kept_claim(struct sandbox *sb, const char *job, const struct stop *stop,
	       struct error *err);
/* One request for all of them: jobs are names with a blank after each. */
int kept_list(struct sandbox *sb, const char *jobs,
	      void (*each)(void *arg, const struct kept_status *s), void *arg,
	      const struct stop *stop, struct error *err);
struct kept_reading {
	int64_t from;               /* byte of the output */
	size_t most;                /* bytes of it that are wanted */
	struct answer_piece *piece; /* the caller's, from one reading to the
				next; zeroed before the first */
	struct buf out;             /* out: appended */
	struct kept_status status;
};
/* In as many requests as it takes: each piece that is cut off is asked for
 * again in a smaller size, and the next one is larger. status.from is later
 * than asked for where that is not kept any more. */
int kept_read(struct sandbox *sb, const char *job, struct kept_reading *r,
	      const struct stop *stop, struct error *err);

#endif
