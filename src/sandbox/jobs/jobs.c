/* jobs.c - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/jobs/jobs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask/redact_stream.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/jobs/jobs_impl.h"

enum {
	COMMAND_CHARS = 2000,        /* of a command in a list */
	THEIRS_MS = 90000,           /* longer than a start is tried (kept.c) */
	NOWAY_MS = 24 * 3600 * 1000, /* where a command needs a time limit */
};

static struct jobs *jobs_new(void)
{
	struct jobs *j = xcalloc(1, sizeof(*j));

	pthread_mutex_init(&j->lock, NULL);
	pthread_mutex_init(&j->logging, NULL);
	return j;
}

static void job_free(struct background_job *job)
{
	mem_free_list(job->order.env);
	free((char *)job->order.command.ptr);
	free((char *)job->state.command);
	buf_release(&job->kept);
	buf_release(&job->text);
	cancel_release(&job->cancel);
	cancel_release(&job->ended);
	pthread_mutex_destroy(&job->reading);
	free(job);
}

/* The command as people may see it, on one line. */
static char *shown_command(const struct mask *mask, struct str command)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 2);
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct redact_stream once = { 0 };
	struct str text;

	redact_stream_feed(&once, mask, 0, command, &masked);
	redact_stream_end(&once, mask, &masked);
	text = buf_str(&masked);
	if (text.len > COMMAND_CHARS) {
		text.len = COMMAND_CHARS;
		text.len = str_utf8_prefix(text);
	}
	for (size_t i = 0; i < text.len; i++)
		buf_addc(&out, text.ptr[i] == '\n' ? ' ' : text.ptr[i]);
	buf_adds(&out, "");
	buf_release(&masked);
	return buf_detach(&out);
}

static struct background_job *job_new(struct sandbox *sb, const char *name,
				      const struct job_order *order,
				      struct error *err)
{
	struct background_job *job = xcalloc(1, sizeof(*job));

	*job = (struct background_job){ .sb = sb,
					.all = sb->jobs,
					.order = *order,
					.text = BUF_INIT(SIZE_MAX / 2),
					.fed = -1,
					.began = clock_ms(),
					.cancel = { { -1, -1 } },
					.ended = { { -1, -1 } } };
	pthread_mutex_init(&job->reading, NULL);
	job->state.running = true;
	job->state.stays = *name;
	job->state.command = shown_command(order->mask, order->command);
	job->order.command.ptr =
		xstrndup(order->command.ptr, order->command.len);
	job->order.env = mem_copy_list(order->env);
	snprintf(job->name, sizeof(job->name), "%s", name);
	job->record.job = job->name;
	job->record.command = job->state.command;
	if (cancel_init(&job->ended, err) == 0)
		return job;
	job_free(job);
	return NULL;
}

static void job_discard(struct background_job *job)
{
	if (!job)
		return;
	if (job->runs_here)
		pthread_join(job->thread, NULL);
	else
		redact_screen_end(&job->shown, job->order.mask, &job->text);
	job_free(job);
}

/* Its output goes with the next start. Locked. */
static void add_forgotten(struct jobs *j, const struct background_job *job)
{
	size_t len = strlen(j->forget);

	if (job->state.stays && len + SUPERVISE_JOB + 2 < sizeof(j->forget))
		snprintf(j->forget + len, sizeof(j->forget) - len, "%s ",
			 job->name);
}

/* Makes room for one more: the oldest that has ended goes. Locked. */
static int make_room(struct jobs *j, struct background_job **old,
		     struct error *err)
{
	size_t running = 0;

	*old = NULL;
	for (size_t i = 0; i < j->n; i++)
		running += j->list[i]->state.running;
	if (running >= JOBS_MOST)
		return error_set(err, ERR_LIMIT,
				 "%d background commands are running, which is "
				 "the maximum: end one with job_kill first",
				 JOBS_MOST);
	for (size_t i = 0; j->n == JOBS_STORED && !*old; i++) {
		if (j->list[i]->state.running || j->list[i]->waiting)
			continue;
		*old = j->list[i];
		add_forgotten(j, *old);
		j->n--;
		memmove(&j->list[i], &j->list[i + 1],
			(j->n - i) * sizeof(struct background_job *));
	}
	return j->n < JOBS_STORED
		       ? 0
		       : error_set(err, ERR_LIMIT,
				   "all background commands are being read");
}

void jobs_set_log(struct sandbox *sb, const struct jobs_log *log)
{
	if (!sb->jobs)
		sb->jobs = jobs_new();
	sb->jobs->log = *log;
}

/* Into the list, with its number, and into the log: before it is started. */
static int enter(struct jobs *j, struct background_job *job, struct error *err)
{
	struct job_record *r = &job->record;
	struct background_job *old = NULL;
	int rc;

	/* The place in the list, the number and the log are for one. */
	pthread_mutex_lock(&j->logging);
	pthread_mutex_lock(&j->lock);
	rc = make_room(j, &old, err);
	r->number = j->last + 1;
	pthread_mutex_unlock(&j->lock);
	if (rc == 0 && j->log.add)
		rc = j->log.add(j->log.arg, r, err);
	if (rc == 0) {
		pthread_mutex_lock(&j->lock);
		job->state.number = j->last = r->number;
		j->list[j->n++] = job;
		pthread_mutex_unlock(&j->lock);
	}
	pthread_mutex_unlock(&j->logging);
	job_discard(old);
	return rc;
}

/* It was not started. */
static void withdraw(struct jobs *j, struct background_job *job)
{
	size_t i = 0;

	pthread_mutex_lock(&j->lock);
	while (i < j->n && j->list[i] != job)
		i++;
	if (i < j->n)
		memmove(&j->list[i], &j->list[i + 1],
			(--j->n - i) * sizeof(struct background_job *));
	pthread_mutex_unlock(&j->lock);
	job->record.told = true;
	pthread_mutex_lock(&j->logging);
	if (j->log.update)
		j->log.update(j->log.arg, &job->record);
	pthread_mutex_unlock(&j->logging);
	job_free(job);
}

int jobs_start(struct sandbox *sb, const struct job_order *order,
	       unsigned *number, const struct stop *stop, struct error *err)
{
	char name[SUPERVISE_JOB + 1] = "";
	struct background_job *job;
	int rc;

	if (!sb->jobs)
		sb->jobs = jobs_new();
	if (sandbox_keeps_processes(sb))
		kept_name(name);
	job = job_new(sb, name, order, err);
	if (!job)
		return -1;
	job->phase = *name ? JOB_STARTING : JOB_SURE;
	if (enter(sb->jobs, job, err) < 0) {
		job_free(job);
		return -1;
	}
	*number = job->state.number;
	if (*name) {
		rc = kept_job_start(job, stop, err);
		if (rc < 0 && err->code != ERR_USAGE && err->code != ERR_LIMIT)
			return -1; /* it may run */
	} else {
		if (!job->order.timeout_ms)
			job->order.timeout_ms = NOWAY_MS;
		rc = attached_start(job, err);
	}
	if (rc < 0)
		withdraw(sb->jobs, job);
	else
		job_log(job);
	return rc;
}

/* Of those that are found again the newest have room: the oldest whose end was
 * told goes, or the oldest. */
static void drop_oldest(struct jobs *j)
{
	size_t at = 0;

	while (at < j->n && !j->list[at]->told)
		at++;
	if (at == j->n)
		at = 0;
	job_discard(j->list[at]);
	j->n--;
	memmove(&j->list[at], &j->list[at + 1],
		(j->n - at) * sizeof(struct background_job *));
}

void jobs_adopt(struct sandbox *sb, const struct job_record *record,
		const struct mask *mask)
{
	const struct job_order order = { .command = str_of(record->command),
					 .mask = mask };
	struct error ignored = { 0 };
	struct background_job *job;
	struct jobs *j;

	if (!sb->jobs)
		sb->jobs = jobs_new();
	j = sb->jobs;
	if (record->number > j->last)
		j->last = record->number;
	job = job_new(sb, record->job, &order, &ignored);
	if (!job)
		return;
	if (j->n == JOBS_STORED)
		drop_oldest(j);
	job->record.row = record->row;
	job->record.number = job->state.number = record->number;
	job->record.started = record->started;
	job->record.read = job->state.read = record->read;
	job->record.told = job->told = record->told;
	job->due = job->record;
	job->phase = record->started    ? JOB_SURE
		     : record->starting ? JOB_THEIRS
					: JOB_UNSURE;
	job->theirs = clock_ms() + THEIRS_MS;
	if (record->lost) {
		job->phase = JOB_SURE;
		job->lost = true;
		job->state.running = false;
		(void)error_set(&job->state.error, ERR_GONE, "%s",
				record->lost);
		cancel_trigger(&job->ended);
	}
	j->list[j->n++] = job;
}

/* Locked. */
static struct background_job *find(const struct jobs *j, unsigned number,
				   struct error *err)
{
	for (size_t i = 0; j && i < j->n; i++)
		if (j->list[i]->state.number == number)
			return j->list[i];
	(void)error_set(err, ERR_NOT_FOUND, "unknown job %u", number);
	return NULL;
}

static struct job_state look(const struct background_job *job)
{
	struct job_state s = job->state;

	if (s.running)
		s.ms += clock_ms() - job->began;
	return s;
}

int jobs_await(const struct cancel *done, const struct stop *stop,
	       struct error *err)
{
	while (!cancel_triggered(done)) {
		struct pollfd p[] = {
			{ .fd = done->fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return -1;
		poll(p, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

/* Until it has ended or ms are over: 0. -1 when stop ended the wait. */
static int await_end(const struct background_job *job, int64_t ms,
		     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, ms);
	struct error over = { 0 };

	if (jobs_await(&job->ended, &within, &over) == 0)
		return 0;
	return stop_check(stop, err);
}

size_t job_whole_lines(struct str text)
{
	size_t n = text.len;

	while (n && text.ptr[n - 1] != '\n')
		n--;
	return n ? n : str_utf8_prefix(text);
}

/* The job, which then stays in the list until release(). */
static struct background_job *hold(struct jobs *j, unsigned number,
				   struct error *err)
{
	struct background_job *job;

	if (!j)
		return find(j, number, err);
	pthread_mutex_lock(&j->lock);
	job = find(j, number, err);
	if (job)
		job->waiting++;
	pthread_mutex_unlock(&j->lock);
	return job;
}

/* seen: the caller knows of the end, if there is one; told: it is the model. */
static void release(struct background_job *job, struct job_state *state,
		    bool seen, bool told)
{
	pthread_mutex_lock(&job->all->lock);
	job->waiting--;
	if (seen && !job->state.running) {
		job->told = job->told || told;
		job->state.shown = true;
	}
	*state = look(job);
	pthread_mutex_unlock(&job->all->lock);
}

int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err)
{
	struct background_job *job = hold(j, what->number, err);
	int rc;

	if (!job)
		return -1;
	rc = await_end(job, what->wait_ms, stop, err);
	if (rc == 0 && job->state.stays && !job->lost) {
		rc = kept_job_read(job, what, stop, out, err);
	} else if (rc == 0) {
		pthread_mutex_lock(&j->lock);
		attached_read(job, what, out);
		pthread_mutex_unlock(&j->lock);
	}
	/* Who has seen the end needs no other notice. */
	release(job, state, rc == 0, true);
	return rc;
}

int jobs_kill(struct jobs *j, const struct job_kill *what,
	      const struct stop *stop, struct job_state *state,
	      struct error *err)
{
	struct background_job *job = hold(j, what->number, err);
	struct stop within = stop_within(stop, what->wait_ms);
	struct error over = { 0 };
	bool running;
	int rc = 0;

	if (!job)
		return -1;
	pthread_mutex_lock(&j->lock);
	running = job->state.running;
	if (running && !job->state.stays) {
		job->state.killed = true;
		cancel_trigger(&job->cancel);
	}
	pthread_mutex_unlock(&j->lock);
	if (running && job->state.stays &&
	    kept_job_kill(job, &within, &over) < 0 && over.code != ERR_TIMEOUT)
		rc = -1;
	if (rc == 0)
		rc = await_end(job, running ? what->wait_ms : 0, stop, err);
	else
		*err = over;
	release(job, state, rc == 0, what->told);
	return rc;
}

void jobs_each(struct jobs *j,
	       void (*each)(void *arg, const struct job_state *state),
	       void *arg)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->n; i++) {
		struct job_state s = look(j->list[i]);

		each(arg, &s);
	}
	pthread_mutex_unlock(&j->lock);
}

/* Kills those that run here: how many. */
static size_t end_attached(struct jobs *j)
{
	size_t running = 0;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->n; i++) {
		struct background_job *job = j->list[i];

		if (!job->state.running || job->state.stays)
			continue;
		running++;
		job->state.killed = true;
		cancel_trigger(&job->cancel);
	}
	pthread_mutex_unlock(&j->lock);
	return running;
}

size_t jobs_end(struct jobs **at)
{
	struct jobs *j = *at;
	size_t running;

	if (!j)
		return 0;
	running = end_attached(j);
	watch_end(j->watch);
	/* What was told is stored by now. */
	job_log_all(j);
	job_log_all(j);
	for (size_t i = 0; i < j->n; i++)
		job_discard(j->list[i]);
	pthread_mutex_destroy(&j->lock);
	pthread_mutex_destroy(&j->logging);
	free(j);
	*at = NULL;
	return running;
}
