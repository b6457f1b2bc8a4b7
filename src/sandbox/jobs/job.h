/* job.h - what is asked of, known of and stored of one background job. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOB_H
#define SANDBOX_JOBS_JOB_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"

enum {
	JOBS_MOST = 16,            /* that run at once */
	JOBS_STORED = 64,          /* with those that have ended */
	JOBS_KEPT_BYTES = 8 << 20, /* of the newest output, where it is here */
};

struct job_order { /* all borrowed for the call, but mask */
	struct str command;
	const char *const *env;  /* as exec_request.env */
	int64_t timeout_ms;      /* 0: none */
	const struct mask *mask; /* borrowed until jobs_end() */
};

struct job_state {
	unsigned number; /* from 1 */
	const char
		*command; /* sanitised and masked; borrowed until jobs_end() */
	bool stays;       /* it goes on in the sandbox when dcode ends */
	bool running;     /* or it is not known that it does not */
	bool killed;      /* by jobs_kill() or jobs_end() */
	bool shown;       /* its end: by jobs_show_ended(), or by a call that
			     has waited for it */
	struct exec_result result; /* once it has ended */
	struct error error;        /* the same: error.code, or 0 */
	int64_t ms;                /* that it has run for */
	int64_t bytes;             /* of output so far, both streams in their
				      order of arrival; where it does not stay,
				      as it is shown: plain text
				      (base/sanitize.h), masked */
	int64_t first;             /* of these, the first that is kept */
	int64_t from;              /* where the last jobs_read() began */
	int64_t read;              /* up to here it was read */
};

/* What is stored of a job, so that it is found again. */
struct job_record {
	int64_t row;     /* the log's, set by its add() */
	unsigned number; /* the same: above all of this sandbox and thread */
	const char *job; /* its name in the sandbox; "": it ends with
			    dcode */
	const char *command; /* as it may be shown */
	const char *lost;    /* why it has ended, of one that nobody can ask
				about; or NULL */
	int64_t read;        /* up to here the model has its output */
	bool started;        /* the sandbox has said so */
	bool starting;       /* else: another dcode may be about to start it */
	bool told;           /* the model knows of its end */
};
struct jobs_log { /* called by who calls jobs_start(), _read(), _kill() of a
		     tool, _take_ended() and _end() */
	/* Before it is started: -1 and it is not. */
	int (*add)(void *arg, struct job_record *r, struct error *err);
	void (*update)(void *arg, const struct job_record *r);
	void *arg;
};

struct job_read {
	unsigned number;
	int64_t from; /* byte of the output; -1: where the last one ended */
	size_t most;  /* bytes, at least 4: then whole lines, or characters */
	int64_t wait_ms; /* for the end of the job */
};

struct job_kill {
	unsigned number;
	bool told;       /* the model hears of the end by this call, not by
			    jobs_take_ended() */
	int64_t wait_ms; /* for the end, at most */
};

#endif
