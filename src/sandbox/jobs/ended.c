/* ended.c - who hears of the end of a job, and when. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/jobs/jobs_impl.h"

void jobs_set_end(struct jobs *j, void (*on_end)(void *arg), void *arg)
{
	pthread_mutex_lock(&j->lock);
	j->on_end = on_end;
	j->on_end_arg = arg;
	pthread_mutex_unlock(&j->lock);
}

void job_set_ended(struct background_job *job)
{
	job->state.running = false;
	cancel_trigger(&job->ended);
	if (job->all->on_end)
		job->all->on_end(job->all->on_end_arg);
}

/* Those that have ended and were not told to the model: told (or, if not, only
 * shown, once) by this. */
static void each_ended(struct jobs *j, bool tell,
		       void (*each)(void *arg, const struct job_state *state),
		       void *arg)
{
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->n; i++) {
		struct background_job *job = j->list[i];

		if (job->state.running || job->told ||
		    (!tell && job->state.shown))
			continue;
		if (tell)
			job->told = true;
		else
			job->state.shown = true;
		each(arg, &job->state);
	}
	pthread_mutex_unlock(&j->lock);
}

void jobs_show_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg)
{
	if (j)
		each_ended(j, false, each, arg);
}

void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg)
{
	if (!j)
		return;
	job_log_all(j);
	each_ended(j, true, each, arg);
}
