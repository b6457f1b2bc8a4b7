/* jobs.h - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_H
#define SANDBOX_JOBS_JOBS_H

#include "sandbox/jobs/job.h"

/*
 * Where processes outlive a request (kept.h) a job runs in the sandbox by
 * itself, and one thread of this process asks now and then how all of them are:
 * they go on when it ends, and are found again by what a log has of them.
 * Elsewhere a job is a sandbox_execute() on a thread of its own, whose output
 * is kept here, and ends with this process. All functions may be called by
 * several threads at once, but jobs_set_log(), jobs_adopt() and jobs_end().
 */
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

/*
 * Appends output to out, masked and as plain text. state->read is then where
 * the next one begins, and state->from where this one did: later than asked for
 * where that is not kept any more. ERR_NOT_FOUND: no such job. -1 as well when
 * stop ended the wait.
 */
int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err);
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
/* False for one that runs, or that ended with exit code 0. */
bool jobs_has_failed(const struct job_state *state);
/* "ended with exit code 1 after 12 s" */
void jobs_describe(const struct job_state *state, struct buf *out);
/* "job 1 ended with exit code 1 after 12 s: make test" */
void jobs_describe_end(const struct job_state *state, struct buf *out);
/* Kills those that run here, leaves those that stay, and frees *j; then *j is
 * NULL. Some seconds at most. How many it killed. */
size_t jobs_end(struct jobs **j);

#endif
