/* live_job_end.c - commands in the background that end meanwhile. */
/* SPDX-License-Identifier: MIT */
#include "cmd/live/live_job_end.h"

#include "cmd/live/live_impl.h"
#include "sandbox/jobs/jobs.h"

void live_on_job_end(void *arg)
{
	struct live *l = arg;

	eventq_notify(l->events, NOTICE_JOB, NULL);
}

static void show_end(void *arg, const struct job_state *job)
{
	struct live *l = arg;
	struct buf line = BUF_INIT(1 << 16);

	jobs_describe_end(job, &line);
	transcript_event(&l->transcript,
			 &(struct agent_event){ .kind = EVENT_JOB,
						.text = buf_str(&line) },
			 clock_ms());
	buf_release(&line);
}

void live_show_ended(struct live *l)
{
	/* At the end of the chat its run may be closed already. */
	if (l->state != LIVE_IDLE || l->over)
		return;
	jobs_show_ended(l->run->box.sandbox.jobs, show_end, l);
	live_print(l);
}
