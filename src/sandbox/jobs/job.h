/* job.h - a background job: request, state and log record. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOB_H
#define SANDBOX_JOBS_JOB_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"

enum {
	JOBS_MOST = 16, /* maximum number of running jobs */
	/* maximum number of jobs in the list, with ended ones */
	JOBS_STORED = 64,
	/* limit for the stored output of an attached job; the newest is kept */
	JOBS_KEPT_BYTES = 8 << 20,
};

/* The command of a job. All borrowed for the call, except mask. */
struct job_order {
	struct exec_request req; /* only command, env and timeout_ms count */
	const struct mask *mask; /* borrowed until jobs_end() */
};

struct job_state {
	unsigned number; /* number of the job, from 1 */
	const char
		*command; /* sanitised and masked; borrowed until jobs_end() */
	/* persistent: continues in the sandbox when dcode ends */
	bool stays;
	bool running; /* true also if its state is unknown */
	bool killed;  /* by jobs_kill() or jobs_end() */
	/* its end was reported by jobs_show_ended(), or to a caller that waited
	 * for it */
	bool shown;
	struct exec_result result; /* valid once it has ended */
	/* valid once it has ended; code 0: no error */
	struct error error;
	int64_t ms; /* run time so far */
	/* Length of the output so far, both streams in order of arrival. For an
	 * attached job: after masking and conversion to plain text
	 * (base/sanitize.h), the form in which it is stored. */
	int64_t bytes;
	int64_t first; /* offset of the oldest byte still stored */
	int64_t from;  /* offset where the last jobs_read() began */
	int64_t read;  /* offset up to which jobs_read() has returned output */
};

/* What the log stores of a job, so that another process can find it again. */
struct job_record {
	int64_t row; /* ID in the log; add() sets it */
	/* add() sets it: larger than all others of this sandbox and thread */
	unsigned number;
	/* the job's name in the sandbox. "": an attached job, which ends with
	 * dcode. */
	const char *job;
	const char *command; /* sanitised and masked */
	/* if the sandbox cannot be asked about the job: why it ended; or
	 * NULL */
	const char *lost;
	int64_t read; /* offset up to which the model has received the output */
	bool started; /* confirmed by the sandbox */
	/* if not started: another dcode may be about to start it */
	bool starting;
	bool told; /* the model has been told of its end */
};
/* The functions are called on the thread that calls jobs_start(),
 * jobs_take_ended() or jobs_end(). */
struct jobs_log {
	/* Called before the job starts. -1: the job is not started. */
	int (*add)(void *arg, struct job_record *r, struct error *err);
	void (*update)(void *arg, const struct job_record *r);
	void *arg;
};

struct job_read {
	unsigned number;
	int64_t from; /* offset in the output; -1: where the last read ended */
	/* maximum bytes to return, at least 4. The output is cut after a line,
	 * or else after a character. */
	size_t most;
	int64_t wait_ms; /* how long to wait for the job's end */
};

struct job_kill {
	unsigned number;
	/* the caller tells the model that the job ended, so jobs_take_ended()
	 * must not do it again */
	bool told;
	int64_t wait_ms; /* how long to wait for the job's end */
};

#endif
