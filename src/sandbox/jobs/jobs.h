/* jobs.h - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_H
#define SANDBOX_JOBS_JOBS_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"

/*
 * Where processes outlive a request (kept.h) a job runs in the sandbox by
 * itself, and one thread of this process asks now and then how all of them are:
 * they go on when it ends, and are found again by what a log has of them.
 * Elsewhere a job is a sandbox_execute() on a thread of its own, whose output
 * is kept here, and ends with this process. All functions may be called by
 * several threads at once, but jobs_set_log(), jobs_adopt() and jobs_end().
 */
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
void jobs_set_log(struct sandbox *sb, const struct jobs_log *log);
/* Until jobs_end(), on_end is called whenever a job has ended: on any thread,
 * with a lock held. It may not wait, nor call any of these functions. */
void jobs_set_end(struct jobs *j, void (*on_end)(void *arg), void *arg);
/* One of another process; its strings are copied. What is not known to be
 * started never will be, but that record->starting is left alone for as long as
 * its start may take. */
void jobs_adopt(struct sandbox *sb, const struct job_record *record,
		const struct mask *mask);
/* Asks the sandbox about all of them, and waits at most ms. */
void jobs_refresh(struct jobs *j, int64_t ms);

/* Begins a job in sb: its number. ERR_LIMIT when too many run. After another
 * error it may have begun, which is said then. */
int jobs_start(struct sandbox *sb, const struct job_order *order,
	       unsigned *number, const struct stop *stop, struct error *err);

struct job_read {
	unsigned number;
	int64_t from; /* byte of the output; -1: where the last one ended */
	size_t most;  /* bytes, at least 4: then whole lines, or characters */
	int64_t wait_ms; /* for the end of the job */
};
/*
 * Appends output to out, masked and as plain text. state->read is then where
 * the next one begins, and state->from where this one did: later than asked for
 * where that is not kept any more. ERR_NOT_FOUND: no such job. -1 as well when
 * stop ended the wait.
 */
int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err);
struct job_kill {
	unsigned number;
	bool told;       /* the model hears of the end by this call, not by
			    jobs_take_ended() */
	int64_t wait_ms; /* for the end, at most */
};
/* Kills what the job runs; one that has ended is not state->killed.
 * ERR_NOT_FOUND: no such job. */
int jobs_kill(struct jobs *j, const struct job_kill *what,
	      const struct stop *stop, struct job_state *state,
	      struct error *err);
/* Each job in its order; none for NULL. Not from within each. */
void jobs_each(struct jobs *j,
	       void (*each)(void *arg, const struct job_state *state),
	       void *arg);
/* Those that have ended, in their order, but those whose end was shown or told.
 * It counts as shown then. None for NULL. */
void jobs_show_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* Those that have ended since it was last called, in their order. What it told
 * counts as told for good with the next call, or jobs_end(). */
void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* "ended with exit code 1 after 12 s" */
void jobs_describe(const struct job_state *state, struct buf *out);
/* "job 1 ended with exit code 1 after 12 s: make test" */
void jobs_describe_end(const struct job_state *state, struct buf *out);
/* Kills those that run here, leaves those that stay, and frees *j; then *j is
 * NULL. Some seconds at most. How many it killed. */
size_t jobs_end(struct jobs **j);

#endif
