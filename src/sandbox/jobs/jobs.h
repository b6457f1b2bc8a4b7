/* jobs.h - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_H
#define SANDBOX_JOBS_JOBS_H

#include "sandbox/jobs/job.h"

/*
 * Where processes can outlive a request (kept.h), a job runs on its own in the
 * sandbox, and one thread of this process polls all jobs. Such jobs continue
 * when dcode ends and are found again through a log. Elsewhere a job is a
 * sandbox_execute() on its own thread: its output is stored in this process,
 * and the job ends with it. All functions except jobs_set_log(), jobs_adopt()
 * and jobs_end() are thread-safe.
 */
void jobs_set_log(struct sandbox *sb, const struct jobs_log *log);
/* Until jobs_end(), on_end is called whenever a job has ended: on any thread,
 * with a lock held. It must not block or call any of these functions. */
void jobs_set_end(struct jobs *j, void (*on_end)(void *arg), void *arg);
/* Adds a job that another process started; its strings are copied. If it is
 * unknown whether it started, it is prevented from starting. But with
 * record->starting it is first left alone for as long as a start may take. */
void jobs_adopt(struct sandbox *sb, const struct job_record *record,
		const struct mask *mask);
/* Polls all jobs and waits at most ms. */
void jobs_refresh(struct jobs *j, int64_t ms);

/* Starts a job in sb and sets its *number. ERR_LIMIT: too many are running.
 * After another error the job may have started; the message says so. */
int jobs_start(struct sandbox *sb, const struct job_order *order,
	       unsigned *number, const struct stop *stop, struct error *err);

/*
 * Appends output to out as masked plain text. state->from is where this output
 * starts: later than requested if older output was discarded. state->read is
 * where the next call continues. ERR_NOT_FOUND: no such job. -1 also when stop
 * ended the wait.
 */
int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err);
/* Kills the job's processes. state->killed stays false for a job that had
 * already ended. ERR_NOT_FOUND: no such job. */
int jobs_kill(struct jobs *j, const struct job_kill *what,
	      const struct stop *stop, struct job_state *state,
	      struct error *err);
/* Calls each for all jobs in their order; j may be NULL. each must not call
 * these functions. */
void jobs_each(struct jobs *j,
	       void (*each)(void *arg, const struct job_state *state),
	       void *arg);
/* Calls each, in order, for ended jobs whose end was neither shown to the user
 * nor told to the model, and marks them as shown. j may be NULL. */
void jobs_show_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* Calls each, in order, for jobs that have ended since the last call. They are
 * logged as told by the next call or by jobs_end(). */
void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* False for a running job and for exit code 0. */
bool jobs_has_failed(const struct job_state *state);
/* Appends "ended with exit code 1 after 12 s". */
void jobs_describe(const struct job_state *state, struct buf *out);
/* Appends "job 1 ended with exit code 1 after 12 s: make test". */
void jobs_describe_end(const struct job_state *state, struct buf *out);
/* Kills attached jobs, leaves persistent ones running, frees *j and sets it to
 * NULL. Takes some seconds at most. Returns the number of jobs killed. */
size_t jobs_end(struct jobs **j);

#endif
