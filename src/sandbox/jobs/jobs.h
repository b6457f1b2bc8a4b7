/* jobs.h - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_JOBS_JOBS_H
#define SANDBOX_JOBS_JOBS_H

#include "sandbox/jobs/job.h"

/*
 * On providers where processes can outlive a request (kept.h), a job is
 * persistent: it runs in the sandbox, one thread of this process polls all such
 * jobs, they continue when dcode ends, and dcode finds them again through a
 * log. On other providers a job is attached: a sandbox_execute() on its own
 * thread, whose output is stored in this process and which ends with it. All
 * functions except jobs_set_log(), jobs_adopt() and jobs_end() are thread-safe.
 */
void jobs_set_log(struct sandbox *sb, const struct jobs_log *log);
/* Until jobs_end(), on_end is called whenever a job has ended: on any thread,
 * with a lock held. It must not block or call a function of this file. */
void jobs_set_end(struct jobs *j, void (*on_end)(void *arg), void *arg);
/* Adds a job that another process started; its strings are copied. If it is
 * unknown whether the job has started, it is prevented from starting, because
 * nobody else may be left to do so. With record->starting, that is delayed for
 * as long as another dcode may need to start it. */
void jobs_adopt(struct sandbox *sb, const struct job_record *record,
		const struct mask *mask);
/* Polls all jobs once and waits at most ms for the result. */
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
/* Kills the job's processes. If the job had already ended, state->killed stays
 * false. ERR_NOT_FOUND: no such job. */
int jobs_kill(struct jobs *j, const struct job_kill *what,
	      const struct stop *stop, struct job_state *state,
	      struct error *err);
/* Calls each for all jobs in their order; j may be NULL. each must not call a
 * function of this file. */
void jobs_each(struct jobs *j,
	       void (*each)(void *arg, const struct job_state *state),
	       void *arg);
/* Calls each, in order, for ended jobs whose end was neither shown to the user
 * nor told to the model, and marks them as shown. j may be NULL. */
void jobs_show_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* Calls each, in order, for jobs that have ended since the last call. The log
 * records only at the next call, or in jobs_end(), that the model was told. */
void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg);
/* False for a running job and for exit code 0. */
bool jobs_has_failed(const struct job_state *state);
/* Appends "ended with exit code 1 after 12 s". */
void jobs_describe(const struct job_state *state, struct buf *out);
/* Appends "job 1 ended with exit code 1 after 12 s: make test". */
void jobs_describe_end(const struct job_state *state, struct buf *out);
/* Call before jobs_end() where a job's directory would stay for others to find.
 * Removes it for jobs of whose end the model was told. all: for every job,
 * after killing those that run. Takes some seconds at most. j may be NULL. */
void jobs_remove(struct jobs *j, bool all);
/* Kills attached jobs, leaves persistent ones running, frees *j and sets it to
 * NULL. Takes some seconds at most. Returns the number of jobs killed. */
size_t jobs_end(struct jobs **j);

#endif
