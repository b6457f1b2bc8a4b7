/* side_job.c - a short job on a thread of its own, beside the worker's. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/side_job.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cmd/chat/worker.h"

static void *run_thread(void *arg)
{
	struct side_job *j = arg;
	struct stop stop = stop_on(&j->cancel);

	j->rc = j->run(j->arg, &j->out, &stop, &j->err);
	atomic_store(&j->over, true);
	eventq_notify(j->events, NOTICE_SIDE_JOB, NULL);
	return NULL;
}

struct side_job *side_job_start(const struct side_job *j, struct error *err)
{
	struct side_job *own = xcalloc(1, sizeof(*own));

	own->run = j->run;
	own->arg = j->arg;
	own->done = j->done;
	own->out = j->out;
	own->events = j->events;
	if (cancel_init(&own->cancel, err) == 0) {
		if (thread_start(&own->thread, run_thread, own, err) == 0)
			return own;
		cancel_release(&own->cancel);
	}
	free(own);
	return NULL;
}

void side_job_end(struct side_job **j, bool cancels)
{
	struct side_job *own = *j;

	if (!own || (!cancels && !atomic_load(&own->over)))
		return;
	*j = NULL;
	if (cancels)
		cancel_trigger(&own->cancel);
	pthread_join(own->thread, NULL);
	if (!cancels)
		own->done(own->arg, own);
	cancel_release(&own->cancel);
	buf_release(&own->out);
	free(own);
}
