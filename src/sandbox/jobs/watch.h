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
	/* the sandbox has confirmed that it exists or has ended */
	JOB_SURE,
	JOB_STARTING, /* the start request is being sent */
	JOB_UNSURE,   /* it is unknown whether it was started */
	JOB_THEIRS,   /* another dcode process is starting it */
};

struct background_job {
	struct sandbox *sb;
	struct jobs *all;
	struct job_order order; /* command and env are owned */
	/* this and the following: guarded by all->lock */
	struct job_state state;
	enum job_phase phase;     /* persistent jobs */
	struct job_record record; /* as in the log */
	/* to be logged by the next jobs_take_ended() */
	struct job_record due;
	bool told;      /* the model knows of its end */
	bool lost;      /* the sandbox cannot be asked about it */
	size_t waiting; /* threads that wait for its end */
	/* clock_ms() at the start; persistent: when state.ms was reported */
	int64_t began;
	/* clock_ms() after which this process claims a JOB_THEIRS job */
	int64_t theirs;
	struct cancel ended; /* triggered when the job has ended */
	/* filter of the output; used only by the reading thread, attached jobs:
	 * guarded by all->lock */
	struct redact_screen shown;
	struct buf text; /* scratch of shown */

	/* Attached jobs: */
	struct buf kept; /* output from state.first to state.bytes */
	struct cancel cancel;
	pthread_t thread;
	bool runs_here; /* thread was started */

	/* Persistent jobs: */
	char name[SUPERVISE_JOB + 1];
	/* held by the thread that reads the output */
	pthread_mutex_t reading;
	int64_t fed; /* offset up to which output was fed to shown; -1: none */
};

struct jobs {
	pthread_mutex_t lock;
	/* serialises the log and new jobs; locked before lock */
	pthread_mutex_t logging;
	struct background_job *list[JOBS_STORED];
	size_t n;
	unsigned last; /* highest job number used */
	struct jobs_log log;
	void (*on_end)(void *arg); /* guarded by lock, like its arg; or NULL */
	void *on_end_arg;
	/* names of dropped jobs whose output can be removed */
	char forget[SUPERVISE_READ_IDS];
	struct job_watch *watch; /* owned, or NULL */
};

/* Marks the job as ended and reports that. state has its result. Caller holds
 * the lock. */
void job_set_ended(struct background_job *job);

enum watch_what { WATCH_START, WATCH_KILL, WATCH_READ, WATCH_ALL };
struct watch_ask {
	enum watch_what what;
	struct background_job *job; /* NULL for WATCH_ALL */
	/* WATCH_READ; reading.out belongs to the caller */
	struct kept_reading reading;
};
/* Queues a request and waits for its answer; the first call starts the thread.
 * On 0 *ask is filled: the caller releases reading.out. If stop ended the wait,
 * a job that was to be started is killed. */
int watch_do(struct jobs *j, struct sandbox *sb, struct watch_ask *ask,
	     const struct stop *stop, struct error *err);
void watch_end(struct job_watch *w);

#endif
