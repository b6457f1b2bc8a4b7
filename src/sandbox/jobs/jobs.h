/* jobs.h - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_H
#define SANDBOX_JOBS_JOBS_H

#include "base/mask.h"
#include "sandbox/sandbox.h"

/*
 * Each job is a sandbox_execute() on a thread of its own, which carries the
 * command over cuts as it does for any other, and keeps its output here. So a
 * job ends with this process, or before its sandbox is left or deleted:
 * jobs_end(). All functions may be called by several threads at once, but that.
 */
enum {
	JOBS_MOST = 16,            /* that run at once */
	JOBS_STORED = 64,          /* with those that have ended */
	JOBS_KEPT_BYTES = 8 << 20, /* of the newest output of a job */
};

struct job_order { /* all borrowed for the call, but mask */
	struct str command;
	const char *const *env; /* as exec_request.env */
	int64_t timeout_ms;
	const struct mask *mask; /* borrowed until jobs_end() */
};

struct job_state {
	unsigned number; /* from 1 */
	const char
		*command; /* sanitised and masked; borrowed until jobs_end() */
	bool running;
	bool killed;               /* by jobs_kill() or jobs_end() */
	struct exec_result result; /* once it has ended */
	struct error error;        /* the same: error.code, or 0 */
	int64_t ms;                /* that it has run for */
	int64_t bytes;             /* of output so far, as it is shown: plain
				      text (base/sanitize.h), masked, both
				      streams in their order of arrival */
	int64_t first;             /* of these, the first that is kept */
	int64_t from;              /* where the last jobs_read() began */
	int64_t read;              /* up to here it was read */
};

/* Begins a job in sb: its number. ERR_LIMIT when too many run. */
int jobs_start(struct sandbox *sb, const struct job_order *order,
	       unsigned *number, struct error *err);

struct job_read {
	unsigned number;
	int64_t from; /* byte of the output; -1: where the last one ended */
	size_t most;  /* bytes, at least 4: then whole lines, or characters */
	int64_t wait_ms; /* for the end of the job */
};
/*
 * Appends output to out. state->read is then where the next one begins, and
 * state->from where this one did: later than asked for where that is not kept
 * any more. ERR_NOT_FOUND: no such job. -1 as well when stop ended the wait.
 */
int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err);
/* Kills what the job runs, and waits for the end, at most some seconds; one
 * that has ended is not state->killed. told: the model hears of the end by this
 * call, not by jobs_take_ended(). ERR_NOT_FOUND: no such job. */
int jobs_kill(struct jobs *j, unsigned number, bool told,
	      const struct stop *stop, struct job_state *state,
	      struct error *err);
/* Each job in its order; none for NULL. Not from within each. */
void jobs_each(struct jobs *j,
	       void (*each)(void *arg, const struct job_state *state),
	       void *arg);
/* Those that have ended since it was last called, in their order. */
void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* "ended with exit code 1 after 12 s" */
void jobs_describe(const struct job_state *state, struct buf *out);
/* Kills all that run, waits for their threads and frees *j; then *j is NULL.
 * How many there were. */
size_t jobs_end(struct jobs **j);

#endif
