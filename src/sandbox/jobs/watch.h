/* watch.h - the thread that polls a sandbox about its persistent jobs. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_WATCH_H
#define SANDBOX_JOBS_WATCH_H

#include <pthread.h>

#include "base/mask/mask.h"
#include "sandbox/jobs/job.h"
#include "sandbox/supervise/kept.h"

struct job_watch;

enum job_phase {
	/* the sandbox has confirmed that the job exists or has ended */
	JOB_SURE,
	JOB_STARTING, /* the start request is being sent */
	JOB_UNSURE,   /* it is unknown whether the job was started */
	JOB_THEIRS,   /* another dcode process is starting it */
};

struct background_job {
	struct sandbox *sb;
	struct jobs *all;
	struct job_order order; /* req.command and req.env are owned */
	/* all->lock guards this and the following fields */
	struct job_state state;
	enum job_phase phase;     /* only for persistent jobs */
	struct job_record record; /* as in the log */
	/* the record that the next call of job_log() writes */
	struct job_record due;
	bool told;      /* the model was told that the job has ended */
	bool lost;      /* the sandbox cannot be asked about the job any more */
	size_t waiting; /* number of threads that wait for its end */
	/* clock_ms() when an attached job started; persistent: when the sandbox
	 * reported state.ms */
	int64_t began;
	/* clock_ms() after which this process claims a JOB_THEIRS job */
	int64_t theirs;
	struct cancel ended; /* triggered when the job has ended */
	/* Filter of the output (masking, plain text). Used only by the thread
	 * that reads; for attached jobs all->lock guards it. */
	struct redact_screen shown;
	struct buf text; /* buffer for the output of `shown` */

	/* Attached jobs: */
	struct buf kept; /* output from state.first to state.bytes */
	struct cancel cancel;
	pthread_t thread;
	bool runs_here; /* thread was started */

	/* Persistent jobs: */
	char name[SUPERVISE_JOB + 1];
	/* locked by the thread that reads the output */
	pthread_mutex_t reading;
	/* offset up to which output was passed to `shown`; -1: none */
	int64_t fed;
};

struct jobs {
	pthread_mutex_t lock;
	/* serialises log entries and new jobs; locked before `lock` */
	pthread_mutex_t logging;
	struct background_job *list[JOBS_STORED];
	size_t n;
	unsigned last; /* highest job number used */
	struct jobs_log log;
	/* or NULL; `lock` guards it and on_end_arg */
	void (*on_end)(void *arg);
	void *on_end_arg;
	/* names of jobs dropped from the list: the sandbox can remove their
	 * output */
	char forget[SUPERVISE_READ_IDS];
	struct job_watch *watch; /* owned, or NULL */
};

/* Marks the job as ended and calls on_end. state must have the result. Caller
 * holds the lock. */
void job_set_ended(struct background_job *job);

enum watch_what { WATCH_START, WATCH_KILL, WATCH_READ, WATCH_ALL };
struct watch_ask {
	enum watch_what what;
	struct background_job *job; /* NULL for WATCH_ALL */
	/* for WATCH_READ; the caller owns reading.out */
	struct kept_reading reading;
};
/* Queues a request and waits for its answer; the first call starts the thread.
 * On 0 *ask is filled, and the caller releases reading.out. If stop ended the
 * wait for WATCH_START, the job is killed if it starts. */
int watch_do(struct jobs *j, struct sandbox *sb, struct watch_ask *ask,
	     const struct stop *stop, struct error *err);
void watch_end(struct job_watch *w);

#endif
