/* watch.c - the thread that polls a sandbox about its persistent jobs. */
/* SPDX-License-Identifier: MIT */

/*
 * Each sandbox has one such thread, started with its first persistent job. It
 * executes queued requests in order. In between it polls all running jobs with
 * one request: often after a job has started or while somebody waits, less
 * often later. Only this thread sends requests about persistent jobs, so after
 * a broken connection it can repeat one without overlapping answers. Begin
 * reading at run_watch().
 */
#include "sandbox/jobs/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

enum {
	/* poll interval while somebody waits for a job's end */
	AWAITED_MS = 250,
	/* poll interval during the first YOUNG_S seconds of a job */
	YOUNG_MS = 500,
	USUAL_MS = 3000,
	FAILED_MS = 10000, /* poll interval after a failed request */
	YOUNG_S = 5,
	/* when the thread ends: time for a request in progress */
	GRACE_MS = 1000,
	OUT_MAX = 2 << 20,
	IDS_MAX = JOBS_STORED * (SUPERVISE_JOB + 1) + 1,
	/* cap for the run time that the sandbox reports: it is untrusted */
	AGE_MAX_S = 1 << 30,
};

/* A queued request. left: its caller was interrupted and does not wait for it
 * any more. */
struct waiting_ask {
	struct waiting_ask *next;
	struct watch_ask ask;
	struct error err;
	int rc;
	bool left;
	struct cancel done;
};

struct job_watch {
	struct jobs *jobs;
	struct sandbox *sb;
	struct waiting_ask *first; /* guarded by jobs->lock */
	bool quits;                /* guarded by jobs->lock */
	struct cancel wake;
	struct cancel cancel;      /* interrupts a request in progress */
	struct cancel over;        /* triggered when the thread ends */
	int64_t next;              /* time of the next poll (clock_ms) */
	bool failed;               /* the last poll failed */
	struct answer_piece piece; /* for kept_read() */
	pthread_t thread;
};

void job_set_ended(struct background_job *job)
{
	job->state.running = false;
	cancel_trigger(&job->ended);
	if (job->all->on_end)
		job->all->on_end(job->all->on_end_arg);
}

/* Sets the result of a job that has ended: exit code, time limit, and an error
 * text that users and models read. Caller holds the lock. */
static void set_end(struct job_state *s, const struct kept_status *k)
{
	static const char *const texts[] = {
		[KEPT_FULL] = "some output did not fit on the disk",
		[KEPT_NOCWD] = "its working directory cannot be entered",
		[KEPT_NEVER] = "it was not started",
		[KEPT_GONE] = "the sandbox has no record of it",
	};

	s->result.exit_code = k->code;
	s->result.timed_out = k->state == KEPT_LATE;
	s->killed = k->state == KEPT_KILLED;
	if (s->killed)
		(void)error_set(&s->error, ERR_CANCELLED, "killed");
	else if (k->state == KEPT_ENDED && k->code < 0)
		(void)error_set(&s->error, ERR_REMOTE,
				"it was interrupted, for example because the "
				"sandbox stopped; its exit status is unknown");
	else if (k->state >= KEPT_FULL)
		(void)error_set(&s->error, ERR_REMOTE, "%s", texts[k->state]);
}

/* Applies a reported status to a job. Caller holds the lock. */
static void apply_status(struct background_job *job,
			 const struct kept_status *k)
{
	struct job_state *s = &job->state;

	if (job->phase == JOB_THEIRS && k->state == KEPT_GONE)
		return;
	if (job->phase == JOB_THEIRS)
		job->phase = JOB_SURE;
	if (k->state != KEPT_GONE) {
		s->bytes = k->total;
		s->first = k->first;
		s->ms = 1000 *
			(k->seconds < AGE_MAX_S ? k->seconds : AGE_MAX_S);
		job->began = clock_ms();
	}
	if (!s->running || k->state == KEPT_RUNS)
		return;
	set_end(s, k);
	job_set_ended(job);
}

static void on_status(void *arg, const struct kept_status *k)
{
	struct job_watch *w = arg;

	pthread_mutex_lock(&w->jobs->lock);
	for (size_t i = 0; i < w->jobs->n; i++) {
		struct background_job *job = w->jobs->list[i];

		if (job->state.running && !strcmp(job->name, k->job))
			apply_status(job, k);
	}
	pthread_mutex_unlock(&w->jobs->lock);
}

static void add_id(char *ids, const char *name)
{
	size_t len = strlen(ids);

	memcpy(ids + len, name, SUPERVISE_JOB);
	memcpy(ids + len + SUPERVISE_JOB, " ", sizeof(" "));
}

/* Lists the names of running jobs. Jobs that may not have been started are
 * claimed first (kept_claim()), so that they cannot start later. */
static int list_running(struct job_watch *w, const struct stop *stop, char *ids,
			struct error *err)
{
	struct background_job *unsure[JOBS_STORED];
	size_t n = 0;

	*ids = '\0';
	pthread_mutex_lock(&w->jobs->lock);
	for (size_t i = 0; i < w->jobs->n; i++) {
		struct background_job *job = w->jobs->list[i];

		if (!job->state.stays || !job->state.running ||
		    job->phase == JOB_STARTING)
			continue;
		add_id(ids, job->name);
		if (job->phase == JOB_UNSURE ||
		    (job->phase == JOB_THEIRS && clock_ms() > job->theirs))
			unsure[n++] = job;
	}
	pthread_mutex_unlock(&w->jobs->lock);
	for (size_t i = 0; i < n; i++) {
		if (kept_claim(w->sb, unsure[i]->name, stop, err) < 0)
			return -1;
		pthread_mutex_lock(&w->jobs->lock);
		unsure[i]->phase = JOB_SURE;
		pthread_mutex_unlock(&w->jobs->lock);
	}
	return 0;
}

/* Polls all running jobs with one request. */
static int poll_jobs(struct job_watch *w, const struct stop *stop,
		     struct error *err)
{
	char ids[IDS_MAX];

	if (list_running(w, stop, ids, err) < 0)
		return -1;
	return *ids ? kept_list(w->sb, ids, on_status, w, stop, err) : 0;
}

static int start_job(struct job_watch *w, struct background_job *job,
		     const struct stop *stop, struct error *err)
{
	char ids[SUPERVISE_READ_IDS];
	int rc;

	pthread_mutex_lock(&w->jobs->lock);
	memcpy(ids, w->jobs->forget, sizeof(ids));
	pthread_mutex_unlock(&w->jobs->lock);
	rc = kept_start(w->sb, job->name, &job->order.req, ids, stop, err);
	pthread_mutex_lock(&w->jobs->lock);
	job->phase = rc < 0 ? JOB_UNSURE : JOB_SURE;
	job->began = clock_ms();
	if (rc == 0)
		w->jobs->forget[0] = '\0';
	pthread_mutex_unlock(&w->jobs->lock);
	return rc;
}

static int kill_one(struct job_watch *w, struct background_job *job,
		    const struct stop *stop, struct error *err)
{
	char ids[IDS_MAX] = "";

	add_id(ids, job->name);
	if (kept_kill(w->sb, job->name, stop, err) < 0)
		return -1;
	return kept_list(w->sb, ids, on_status, w, stop, err);
}

/* True for a start that was not sent before its caller was interrupted. The job
 * becomes JOB_UNSURE, and finish_request() makes sure that it never starts. */
static bool is_given_up(struct job_watch *w, struct waiting_ask *a)
{
	bool given_up;

	pthread_mutex_lock(&w->jobs->lock);
	given_up = a->left && a->ask.what == WATCH_START;
	if (given_up)
		a->ask.job->phase = JOB_UNSURE;
	pthread_mutex_unlock(&w->jobs->lock);
	return given_up;
}

/* Executes a queued request. Returns the result for its caller. */
static int serve_request(struct job_watch *w, struct waiting_ask *a)
{
	struct stop stop = stop_on(&w->cancel);
	int rc = -1;

	if (is_given_up(w, a))
		return -1;
	switch (a->ask.what) {
	case WATCH_START:
		return start_job(w, a->ask.job, &stop, &a->err);
	case WATCH_KILL:
		return kill_one(w, a->ask.job, &stop, &a->err);
	case WATCH_READ:
		a->ask.reading.piece = &w->piece;
		rc = kept_read(w->sb, a->ask.job->name, &a->ask.reading, &stop,
			       &a->err);
		pthread_mutex_lock(&w->jobs->lock);
		if (rc == 0)
			apply_status(a->ask.job, &a->ask.reading.status);
		pthread_mutex_unlock(&w->jobs->lock);
		return rc;
	case WATCH_ALL:
		return poll_jobs(w, &stop, &a->err);
	}
	return rc;
}

static void free_ask(struct waiting_ask *a)
{
	buf_release(&a->ask.reading.out);
	cancel_release(&a->done);
	free(a);
}

/* Completes a request. If its caller was interrupted while the job was being
 * started, kills the job, because nobody knows about it. */
static void finish_request(struct job_watch *w, struct waiting_ask *a)
{
	struct stop stop = stop_on(&w->cancel);
	struct error ignored = { 0 };
	bool left;

	pthread_mutex_lock(&w->jobs->lock);
	left = a->left;
	if (!left)
		cancel_trigger(&a->done);
	pthread_mutex_unlock(&w->jobs->lock);
	if (!left)
		return;
	if (a->ask.what == WATCH_START)
		(void)kill_one(w, a->ask.job, &stop, &ignored);
	if (a->ask.job) {
		pthread_mutex_lock(&w->jobs->lock);
		a->ask.job->waiting--;
		pthread_mutex_unlock(&w->jobs->lock);
	}
	free_ask(a);
}

/* Returns how many ms until the next poll; -1: only when a request arrives. */
static int64_t pause_of(struct job_watch *w)
{
	int64_t ms = -1;

	for (size_t i = 0; i < w->jobs->n; i++) {
		struct background_job *job = w->jobs->list[i];
		int64_t own = job->waiting                     ? AWAITED_MS
			      : job->state.ms < YOUNG_S * 1000 ? YOUNG_MS
							       : USUAL_MS;

		if (job->state.stays && job->state.running &&
		    job->phase != JOB_STARTING && (ms < 0 || own < ms))
			ms = own;
	}
	return ms;
}

/* Waits for the next request and returns it. NULL with *looks set: it is time
 * to poll. NULL without: the thread must end. */
static struct waiting_ask *next_ask(struct job_watch *w, bool *looks)
{
	struct waiting_ask *a = NULL;
	int64_t pause = 0;

	*looks = false;
	while (!*looks) {
		struct pollfd p = { .fd = w->wake.fd[0], .events = POLLIN };
		int64_t now = clock_ms();
		bool quits;

		cancel_reset(&w->wake);
		pthread_mutex_lock(&w->jobs->lock);
		quits = w->quits;
		a = w->first;
		if (a)
			w->first = a->next;
		pause = pause_of(w);
		pthread_mutex_unlock(&w->jobs->lock);
		if (quits || a)
			return a;
		if (pause >= 0 && w->next > now + pause && !w->failed)
			w->next = now + pause;
		*looks = pause >= 0 && now >= w->next;
		if (!*looks)
			poll(&p, 1, pause < 0 ? -1 : (int)(w->next - now));
	}
	return NULL;
}

static void *run_watch(void *arg)
{
	struct job_watch *w = arg;
	struct stop stop = stop_on(&w->cancel);
	struct error err = { 0 };
	struct waiting_ask *a;
	bool looks;

	while ((a = next_ask(w, &looks)) || looks) {
		if (a) {
			a->rc = serve_request(w, a);
			finish_request(w, a);
			continue;
		}
		w->failed = poll_jobs(w, &stop, &err) < 0;
		w->next = clock_ms() + (w->failed ? FAILED_MS : USUAL_MS);
	}
	cancel_trigger(&w->over);
	return NULL;
}

static void watch_free(struct job_watch *w)
{
	while (w->first) {
		struct waiting_ask *a = w->first;

		w->first = a->next;
		free_ask(a);
	}
	cancel_release(&w->wake);
	cancel_release(&w->cancel);
	cancel_release(&w->over);
	free(w);
}

/* Starts the thread if it is not running. Caller holds the lock. */
static int start_watch(struct jobs *j, struct sandbox *sb, struct error *err)
{
	struct job_watch *w;

	if (j->watch)
		return 0;
	w = xcalloc(1, sizeof(*w));
	*w = (struct job_watch){ .jobs = j,
				 .sb = sb,
				 .wake = { { -1, -1 } },
				 .cancel = { { -1, -1 } },
				 .over = { { -1, -1 } } };
	if (cancel_init(&w->wake, err) < 0 ||
	    cancel_init(&w->cancel, err) < 0 ||
	    cancel_init(&w->over, err) < 0 ||
	    thread_start(&w->thread, run_watch, w, err) < 0) {
		watch_free(w);
		return -1;
	}
	j->watch = w;
	return 0;
}

/* Appends a request to the queue and wakes the thread. */
static int enqueue_request(struct jobs *j, struct sandbox *sb,
			   struct waiting_ask *a, struct error *err)
{
	struct waiting_ask **at;
	int rc;

	pthread_mutex_lock(&j->lock);
	rc = start_watch(j, sb, err);
	if (rc == 0) {
		for (at = &j->watch->first; *at;)
			at = &(*at)->next;
		*at = a;
		if (a->ask.job)
			a->ask.job->waiting++;
		cancel_trigger(&j->watch->wake);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int watch_do(struct jobs *j, struct sandbox *sb, struct watch_ask *ask,
	     const struct stop *stop, struct error *err)
{
	struct waiting_ask *a = xcalloc(1, sizeof(*a));
	bool left;
	int rc;

	*a = (struct waiting_ask){ .ask = *ask, .done = { { -1, -1 } } };
	a->ask.reading.out = BUF_INIT(OUT_MAX);
	if (cancel_init(&a->done, err) < 0 ||
	    enqueue_request(j, sb, a, err) < 0) {
		free_ask(a);
		return -1;
	}
	(void)cancel_await(&a->done, stop, err);
	pthread_mutex_lock(&j->lock);
	left = a->left = !cancel_triggered(&a->done);
	if (!left && a->ask.job)
		a->ask.job->waiting--;
	rc = left ? -1 : a->rc;
	pthread_mutex_unlock(&j->lock);
	if (left)
		/* interrupted: the watch thread still uses `a` and frees it */
		return -1;
	if (rc < 0)
		*err = a->err;
	else
		*err = (struct error){ 0 };
	ask->reading.out = a->ask.reading.out;
	a->ask.reading.out = (struct buf){ 0 };
	ask->reading.status = a->ask.reading.status;
	free_ask(a);
	return rc;
}

void watch_end(struct job_watch *w)
{
	struct stop grace = stop_cleanup(GRACE_MS);
	struct error ignored = { 0 };

	if (!w)
		return;
	pthread_mutex_lock(&w->jobs->lock);
	w->quits = true;
	cancel_trigger(&w->wake);
	pthread_mutex_unlock(&w->jobs->lock);
	if (cancel_await(&w->over, &grace, &ignored) < 0)
		cancel_trigger(&w->cancel);
	pthread_join(w->thread, NULL);
	watch_free(w);
}
