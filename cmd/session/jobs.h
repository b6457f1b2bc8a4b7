/* jobs.h - commands in the background, stored and found again. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_JOBS_H
#define CMD_SESSION_JOBS_H

#include <stdbool.h>

struct error;
struct run;

/* Those of r->box from now on; finds those that were begun before. */
int run_jobs_open(struct run *r, struct error *err);
/* True when the end of one is to be told with -r. */
bool run_jobs_pending(struct run *r);

#endif
