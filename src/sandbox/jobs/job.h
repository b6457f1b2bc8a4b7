/* job.h - a background job: its order, its state and its stored record. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOB_H
#define SANDBOX_JOBS_JOB_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"

enum {
	JOBS_MOST = 16,   /* running jobs */
	JOBS_STORED = 64, /* jobs in the list, ended ones included */
	/* bytes: the newest output of an attached job */
	JOBS_KEPT_BYTES = 8 << 20,
};

struct job_order { /* all borrowed for the call, except mask */
	struct str command;
	const char *const *env;  /* as exec_request.env */
	int64_t timeout_ms;      /* 0: none */
	const struct mask *mask; /* borrowed until jobs_end() */
};

struct job_state {
	unsigned number; /* from 1 */
	const char
		*command; /* sanitised and masked; borrowed until jobs_end() */
	/* persistent: continues in the sandbox when dcode ends */
	bool stays;
	bool running; /* true also if its state is unknown */
	bool killed;  /* by jobs_kill() or jobs_end() */
	/* its end was reported by jobs_show_ended() or by a call that waited
	 * for it */
	bool shown;
	struct exec_result result; /* valid once it has ended */
	/* valid once it has ended; code 0: no error */
	struct error error;
	int64_t ms; /* run time so far */
	/* bytes of output so far, both streams in order of arrival. Attached
	 * jobs: counted as shown, that is, as masked plain text
	 * (base/sanitize.h) */
	int64_t bytes;
	int64_t first; /* offset of the oldest byte still stored */
	int64_t from;  /* offset where the last jobs_read() began */
	int64_t read;  /* offset up to which output was read */
};

/* The stored record by which another process finds the job again. */
struct job_record {
	int64_t row; /* ID in the log, set by add() */
	/* set by add(): larger than all others of this sandbox and thread */
	unsigned number;
	/* its name in the sandbox; "": attached, ends with dcode */
	const char *job;
	const char *command; /* sanitised and masked */
	/* why it ended, if the sandbox cannot be asked; or NULL */
	const char *lost;
	int64_t read; /* offset up to which the model has the output */
	bool started; /* confirmed by the sandbox */
	/* if not started: another dcode may be about to start it */
	bool starting;
	bool told; /* the model has been told of its end */
};
/* called on the thread that calls jobs_start(), jobs_take_ended() or
 * jobs_end() */
struct jobs_log {
	/* Called before the job starts. -1: the job is not started. */
	int (*add)(void *arg, struct job_record *r, struct error *err);
	void (*update)(void *arg, const struct job_record *r);
	void *arg;
};

struct job_read {
	unsigned number;
	int64_t from; /* offset in the output; -1: where the last read ended */
	/* bytes, at least 4; the output is cut after a line, or after a
	 * character */
	size_t most;
	int64_t wait_ms; /* how long to wait for the job's end */
};

struct job_kill {
	unsigned number;
	/* this call tells the model of the end, so jobs_take_ended() does
	 * not */
	bool told;
	int64_t wait_ms; /* how long to wait for the job's end */
};

#endif
