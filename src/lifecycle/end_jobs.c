/* end_jobs.c - what runs in the background when its sandbox is left. */
/* SPDX-License-Identifier: MIT */
#include "lifecycle/lifecycle_impl.h"
#include "sandbox/jobs/jobs.h"

static bool is_stopped(const struct managed_sandbox *box)
{
	return box->ours && box->request.on_exit == LIFECYCLE_STOP &&
	       sandbox_can_stop(box->request.client);
}

static void tell_job(void *arg, const struct job_state *job)
{
	const struct managed_sandbox *box = arg;
	bool stays = !box->ours || (box->request.on_exit != LIFECYCLE_DELETE &&
				    box->sandbox.id);

	if (!job->running)
		return;
	if (!job->stays || !stays)
		lifecycle_warn(box,
			       "ending job %u, which is still running: %.200s",
			       job->number, job->command);
	else if (is_stopped(box) &&
		 !(box->request.client->provider->flags & SANDBOX_FREEZES))
		lifecycle_warn(box,
			       "job %u is still running and ends when its "
			       "sandbox is stopped: %.200s",
			       job->number, job->command);
	else if (is_stopped(box))
		lifecycle_say(box,
			      "job %u is paused with its sandbox and continues "
			      "when that is started: %.200s",
			      job->number, job->command);
	else
		lifecycle_say(box,
			      "job %u keeps running in the sandbox: %.200s",
			      job->number, job->command);
}

void lifecycle_end_jobs(struct managed_sandbox *box)
{
	jobs_each(box->sandbox.jobs, tell_job, box);
	(void)jobs_end(&box->sandbox.jobs);
}
