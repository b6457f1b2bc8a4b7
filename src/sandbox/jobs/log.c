/* log.c - what is stored of jobs follows what they are. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sandbox/jobs/jobs_impl.h"

/* The log is one call behind: what the model was told is stored with its next
 * message, and is told again if dcode is killed before that. */
void job_log(struct background_job *job)
{
	struct job_record *r = &job->record;
	struct job_record now;
	bool changed;

	pthread_mutex_lock(&job->all->logging);
	pthread_mutex_lock(&job->all->lock);
	now = *r;
	now.started = job->phase == JOB_SURE;
	now.read = job->state.read;
	now.told = job->told;
	changed = r->started != now.started || r->read != job->due.read ||
		  r->told != job->due.told;
	r->started = now.started;
	r->read = job->due.read;
	r->told = job->due.told;
	job->due = now;
	pthread_mutex_unlock(&job->all->lock);
	if (changed && job->all->log.update)
		job->all->log.update(job->all->log.arg, r);
	pthread_mutex_unlock(&job->all->logging);
}

void job_log_all(struct jobs *j)
{
	struct background_job *list[JOBS_STORED];
	size_t n;

	if (!j->log.update)
		return;
	pthread_mutex_lock(&j->lock);
	n = j->n;
	memcpy(list, j->list, n * sizeof(struct background_job *));
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < n; i++)
		job_log(list[i]);
}
