/* live_job_end.h - commands in the background that end meanwhile. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_LIVE_LIVE_JOB_END_H
#define CMD_LIVE_LIVE_JOB_END_H

struct live;

/* run.on_job_end; arg is the struct live, whose queue outlives the run. */
void live_on_job_end(void *arg);
/* A line for each that has ended, once. While the worker has a job it waits:
 * the model may be told first. */
void live_show_ended(struct live *l);

#endif
