/* end_jobs.c - what runs in the background ends before its sandbox is left. */
/* SPDX-License-Identifier: MIT */
#include "lifecycle/lifecycle_impl.h"
#include "sandbox/jobs/jobs.h"

static void warn_job(void *arg, const struct job_state *job)
{
	if (job->running)
		lifecycle_warn(arg,
			       "ending job %u, which is still running: %.200s",
			       job->number, job->command);
}

void lifecycle_end_jobs(struct managed_sandbox *box)
{
	jobs_each(box->sandbox.jobs, warn_job, box);
	(void)jobs_end(&box->sandbox.jobs);
}
