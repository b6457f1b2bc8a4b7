/* jobs_impl.h - what the parts of jobs share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_IMPL_H
#define SANDBOX_JOBS_JOBS_IMPL_H

#include <pthread.h>

#include "base/mask/redact_screen.h"
#include "sandbox/jobs/jobs.h"
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

	/* of attached.c */
	struct buf kept; /* state.first to state.bytes */
	struct cancel cancel;
	pthread_t thread;
	bool runs_here; /* on that */

	/* of kept_job.c */
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

/* Until it is triggered: 0. -1 when stop ended the wait. */
int jobs_await(const struct cancel *done, const struct stop *stop,
	       struct error *err);
/* Up to the last line's end in text; without any, to a character's. */
size_t job_whole_lines(struct str text);
/* ended.c: it has ended, as its state says. Locked. */
void job_set_ended(struct background_job *job);
/* log.c: tells the log what has changed. */
void job_log(struct background_job *job);
void job_log_all(struct jobs *j);

/* attached.c: a job on a thread of this process. */
int attached_start(struct background_job *job, struct error *err);
/* Locked. */
void attached_read(struct background_job *job, const struct job_read *what,
		   struct buf *out);

/* kept_job.c: a job that stays in the sandbox. */
int kept_job_start(struct background_job *job, const struct stop *stop,
		   struct error *err);
int kept_job_kill(struct background_job *job, const struct stop *stop,
		  struct error *err);
int kept_job_read(struct background_job *job, const struct job_read *what,
		  const struct stop *stop, struct buf *out, struct error *err);

/* watch.c: the thread that asks the sandbox. */
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
