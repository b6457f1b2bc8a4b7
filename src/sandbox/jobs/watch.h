/* watch.h - the thread that asks a sandbox about the jobs that stay in it. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_WATCH_H
#define SANDBOX_JOBS_WATCH_H

#include <pthread.h>

#include "base/mask/mask.h"
#include "sandbox/jobs/job.h"
#include "sandbox/supervise/kept.h"

struct job_watch;

enum job_phase {
	JOB_SURE,     /* the sandbox has said that it has it, or has ended it */
	JOB_STARTING, /* its start is being asked for */
	JOB_UNSURE,   /* nobody knows whether it was started */
	JOB_THEIRS,   /* another dcode starts it */
};

struct background_job {
	struct sandbox *sb;
	struct jobs *all;
	struct job_order order;   /* command and env are owned */
	struct job_state state;   /* guarded by all->lock, as what follows */
	enum job_phase phase;     /* where it stays */
	struct job_record record; /* as the log has it */
	struct job_record due;    /* as it will have it: jobs_take_ended() */
	bool told;                /* its end */
	bool lost;                /* nobody can be asked about it */
	size_t waiting;           /* threads, for its end */
	int64_t began;            /* ms; where it stays, when ms was told */
	int64_t theirs;           /* clock_ms() until which it is JOB_THEIRS */
	struct cancel ended;      /* triggered when it has */
	struct redact_screen shown; /* its reader's; guarded by all->lock
				       where it is attached */
	struct buf text;            /* the same: scratch */

	/* Of one that is attached: */
	struct buf kept; /* state.first to state.bytes */
	struct cancel cancel;
	pthread_t thread;
	bool runs_here; /* on that */

	/* Of one that stays in the sandbox: */
	char name[SUPERVISE_JOB + 1];
	pthread_mutex_t reading;
	int64_t fed; /* the reader's: bytes that went into shown; -1: none */
};

struct jobs {
	pthread_mutex_t lock;
	pthread_mutex_t logging; /* log and new jobs: one thread; before lock */
	struct background_job *list[JOBS_STORED];
	size_t n;
	unsigned last; /* number given */
	struct jobs_log log;
	void (*on_end)(void *arg); /* guarded by lock, as its arg; or NULL */
	void *on_end_arg;
	char forget[SUPERVISE_READ_IDS]; /* names of jobs that were dropped */
	struct job_watch *watch;         /* owned, or NULL */
};

/* It has ended, as its state says. Locked. */
void job_set_ended(struct background_job *job);

enum watch_what { WATCH_START, WATCH_KILL, WATCH_READ, WATCH_ALL };
struct watch_ask {
	enum watch_what what;
	struct background_job *job;  /* but for WATCH_ALL */
	struct kept_reading reading; /* WATCH_READ; its out is the caller's */
};
/* Asks and waits; the thread begins with the first one. Fills *ask where it
 * returns 0: its reading.out is to be released. When stop ended the wait, what
 * was to be started is killed. */
int watch_do(struct jobs *j, struct sandbox *sb, struct watch_ask *ask,
	     const struct stop *stop, struct error *err);
void watch_end(struct job_watch *w);

#endif
