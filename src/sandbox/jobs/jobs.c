/* jobs.c - commands in the background: started, read, listed, killed. */
/* SPDX-License-Identifier: MIT */

/*
 * A job is either persistent or attached. A persistent job runs in the sandbox
 * under a keeper that outlives this process (supervise/kept.h). One thread
 * polls all of them (watch.c), and a log records them so that another dcode can
 * continue. An attached job runs on a thread of this process and ends with it;
 * it is used where the provider does not support the other kind. jobs.lock
 * guards the list and all states; jobs.logging is locked before it. Begin
 * reading at jobs_start().
 */
#include "sandbox/jobs/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/jobs/watch.h"

/* Writes changes of a job's record to the log. What the model has read or was
 * told is written one call late, because the message that told it is stored in
 * between. If dcode is killed before that, the model is told again. */
static void job_log(struct background_job *job)
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

static void job_log_all(struct jobs *j)
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

void jobs_set_end(struct jobs *j, void (*on_end)(void *arg), void *arg)
{
	pthread_mutex_lock(&j->lock);
	j->on_end = on_end;
	j->on_end_arg = arg;
	pthread_mutex_unlock(&j->lock);
}

/* Calls each for ended jobs whose end the model was not told of. tell: marks
 * them as told. Otherwise only those that were not shown before, and marks them
 * as shown. */
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

bool jobs_has_failed(const struct job_state *s)
{
	return !s->running && (s->killed || s->error.code ||
			       s->result.timed_out || s->result.exit_code);
}

void jobs_describe(const struct job_state *s, struct buf *out)
{
	int64_t seconds = s->ms / 1000;

	if (s->running)
		buf_addf(out, "running for %" PRId64 " s", seconds);
	else if (s->killed && s->error.code)
		buf_addf(out, "was killed after %" PRId64 " s", seconds);
	else if (s->error.code == ERR_GONE)
		buf_adds(out, s->error.message);
	else if (s->error.code)
		buf_addf(out, "failed after %" PRId64 " s: %s", seconds,
			 s->error.message);
	else if (s->result.timed_out)
		buf_addf(out, "was killed after its timeout of %" PRId64 " s",
			 seconds);
	else
		buf_addf(out, "ended with exit code %d after %" PRId64 " s",
			 s->result.exit_code, seconds);
}

void jobs_describe_end(const struct job_state *s, struct buf *out)
{
	buf_addf(out, "job %u ", s->number);
	jobs_describe(s, out);
	buf_addf(out, ": %s", s->command);
}

enum { SLICE = 64 << 10 }; /* bytes filtered at a time */

/* Stores the new output and discards the oldest beyond JOBS_KEPT_BYTES, at a
 * character boundary. Caller holds the lock. */
static void store_output(struct background_job *job)
{
	struct str text = buf_str(&job->text);
	struct job_state *s = &job->state;
	size_t over;

	if (job->kept.len + text.len > JOBS_KEPT_BYTES) {
		/* Discard more than needed, so that the rest is not moved for
		 * each piece of output. */
		over = job->kept.len + text.len - JOBS_KEPT_BYTES / 2;
		if (over > job->kept.len)
			over = job->kept.len;
		while (over < job->kept.len &&
		       ((unsigned char)job->kept.ptr[over] & 0xC0) == 0x80)
			over++;
		buf_consume(&job->kept, over);
		s->first += (int64_t)over;
	}
	buf_addstr(&job->kept, text);
	s->bytes += (int64_t)text.len;
	buf_clear(&job->text);
}

/* The door of a job's output: appends it to out, masked and as plain text. */
static void filter_output(struct background_job *job, struct str chunk,
			  enum redact_until until, struct buf *out)
{
	redact_screen_pass(&job->shown, job->order.mask, chunk, until, out);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct background_job *job = arg;

	/* with exec_request.merged both streams arrive as stdout */
	(void)stream;
	(void)reply;
	(void)err;
	while (chunk.len) {
		struct str slice = { chunk.ptr,
				     chunk.len < SLICE ? chunk.len : SLICE };

		pthread_mutex_lock(&job->all->lock);
		filter_output(job, slice, REDACT_FINAL, &job->text);
		store_output(job);
		pthread_mutex_unlock(&job->all->lock);
		chunk = str_skip(chunk, slice.len);
	}
	return 0;
}

/* Thread of an attached job: runs the command and records its end. */
static void *run_attached(void *arg)
{
	struct background_job *job = arg;
	struct stop stop = stop_on(&job->cancel);
	struct exec_result res = { .exit_code = -1 };
	struct error err = { 0 };
	int rc = sandbox_execute(job->sb, &job->order.req, &res, &stop, &err);

	pthread_mutex_lock(&job->all->lock);
	filter_output(job, STR(""), REDACT_END, &job->text);
	store_output(job);
	job->state.result = res;
	if (rc < 0)
		job->state.error = err;
	job->state.ms = clock_ms() - job->began;
	job_set_ended(job);
	pthread_mutex_unlock(&job->all->lock);
	return NULL;
}

static int attached_start(struct background_job *job, struct error *err)
{
	job->kept = BUF_INIT(JOBS_KEPT_BYTES + 4 * SLICE);
	job->shown.screen.eager = true;
	job->order.req.merged = true;
	job->order.req.output = on_output;
	job->order.req.arg = job;
	if (cancel_init(&job->cancel, err) < 0)
		return -1;
	if (thread_start(&job->thread, run_attached, job, err) < 0)
		return -1;
	job->runs_here = true;
	return 0;
}

static size_t job_whole_lines(struct str text)
{
	size_t n = text.len;

	while (n && text.ptr[n - 1] != '\n')
		n--;
	return n ? n : str_utf8_prefix(text);
}

static void attached_read(struct background_job *job,
			  const struct job_read *what, struct buf *out)
{
	struct job_state *s = &job->state;
	struct str text;

	filter_output(job, STR(""), REDACT_ALL, &job->text);
	store_output(job);
	text = buf_str(&job->kept);

	s->from = what->from < 0 ? s->read : what->from;
	if (s->from < s->first)
		s->from = s->first;
	if (s->from > s->bytes)
		s->from = s->bytes;
	text = str_skip(text, (size_t)(s->from - s->first));
	if (text.len > what->most) {
		text.len = what->most;
		text.len = job_whole_lines(text);
	}
	buf_addstr(out, text);
	s->read = s->from + (int64_t)text.len;
}

/* Bytes before the requested offset that are read in addition, so that a secret
 * value that spans the offset is recognised and masked. */
enum { CONTEXT = 16 << 10 };

static int kept_job_start(struct background_job *job, const struct stop *stop,
			  struct error *err)
{
	struct watch_ask ask = { .what = WATCH_START, .job = job };
	int rc = watch_do(job->all, job->sb, &ask, stop, err);

	buf_release(&ask.reading.out);
	if (rc < 0 && err->code != ERR_USAGE && err->code != ERR_LIMIT &&
	    err->code != ERR_CANCELLED)
		error_wrap(err,
			   "job %u may still be running; check with job_output",
			   job->state.number);
	return rc;
}

static int kept_job_kill(struct background_job *job, const struct stop *stop,
			 struct error *err)
{
	struct watch_ask ask = { .what = WATCH_KILL, .job = job };
	int rc = watch_do(job->all, job->sb, &ask, stop, err);

	buf_release(&ask.reading.out);
	return rc;
}

static void forget_stream(struct background_job *job)
{
	filter_output(job, STR(""), REDACT_END, &job->text);
	buf_clear(&job->text);
	job->fed = -1;
}

/* Returns the bytes from offset *from on that were read. Moves *from forward if
 * older output was discarded in the sandbox, and back if it is past the end of
 * what was read. */
static struct str find_data(struct background_job *job, struct watch_ask *a,
			    int64_t *from)
{
	struct str raw = buf_str(&a->reading.out);
	int64_t at = a->reading.status.from;

	if (at > a->reading.from) {
		/* The sandbox discarded output: what is left may start inside a
		 * secret value. */
		forget_stream(job);
		if (*from < at + CONTEXT)
			*from = at + CONTEXT;
	}
	if (*from > at + (int64_t)raw.len)
		*from = at + (int64_t)raw.len;
	filter_output(job, (struct str){ raw.ptr, (size_t)(*from - at) },
		      REDACT_ALL, &job->text);
	buf_clear(&job->text);
	return str_skip(raw, (size_t)(*from - at));
}

/* Appends the output that was read, from offset *from on, to out. Returns the
 * offset where it ends: at a line's end, except at the end of all output, or if
 * not even one line fits. */
static int64_t show_data(struct background_job *job, struct watch_ask *a,
			 int64_t *from, size_t most, struct buf *out)
{
	const struct kept_status *s = &a->reading.status;
	bool all = s->from + (int64_t)a->reading.out.len >= s->total;
	struct str data = find_data(job, a, from);
	int64_t end;

	if (data.len > most || !all) {
		if (data.len > most)
			data.len = most;
		data.len = job_whole_lines(data);
	}
	end = *from + (int64_t)data.len;
	filter_output(job, data, REDACT_ALL, out);
	job->fed = end;
	if (s->state != KEPT_RUNS && end == s->total) {
		filter_output(job, STR(""), REDACT_END, out);
		job->fed = -1;
	}
	return end;
}

/* Reads output of a persistent job from the sandbox and appends it, masked, to
 * out. */
static int kept_job_read(struct background_job *job,
			 const struct job_read *what, const struct stop *stop,
			 struct buf *out, struct error *err)
{
	struct watch_ask ask = { .what = WATCH_READ, .job = job };
	int64_t from = what->from;
	int64_t end;
	int rc;

	pthread_mutex_lock(&job->reading);
	pthread_mutex_lock(&job->all->lock);
	if (from < 0)
		from = job->state.read;
	pthread_mutex_unlock(&job->all->lock);
	if (job->fed != from)
		forget_stream(job);
	ask.reading.from = job->fed == from ? from
			   : from > CONTEXT ? from - CONTEXT
					    : 0;
	ask.reading.most = (size_t)(from - ask.reading.from) + what->most + 1;
	rc = watch_do(job->all, job->sb, &ask, stop, err);
	if (rc == 0) {
		end = show_data(job, &ask, &from, what->most, out);
		pthread_mutex_lock(&job->all->lock);
		job->state.from = from;
		job->state.read = end;
		pthread_mutex_unlock(&job->all->lock);
	}
	buf_release(&ask.reading.out);
	pthread_mutex_unlock(&job->reading);
	return rc;
}

enum {
	COMMAND_CHARS = 2000, /* characters of a command shown in a list */
	/* How long another dcode may take to start its job: longer than kept.c
	 * retries a start. */
	THEIRS_MS = 90000,
	/* time limit of an attached job that was ordered without one */
	NOWAY_MS = 24 * 3600 * 1000,
	REMOVE_MS = 5000, /* for all requests of jobs_remove() */
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
	mem_free_list(job->order.req.env);
	free((char *)job->order.req.command.ptr);
	free((char *)job->state.command);
	buf_release(&job->kept);
	buf_release(&job->text);
	cancel_release(&job->cancel);
	cancel_release(&job->ended);
	pthread_mutex_destroy(&job->reading);
	free(job);
}

/* Returns the command as one masked and sanitised line, owned. */
static char *shown_command(const struct mask *mask, struct str command)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 2);
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct str text;

	mask_clean(mask, CLEAN_TEXT, command, &masked);
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

/* Makes a job that is not in the list yet. name: its name in the sandbox; ""
 * for an attached job. */
static struct background_job *job_new(struct sandbox *sb, const char *name,
				      const struct job_order *order,
				      struct error *err)
{
	struct background_job *job = xcalloc(1, sizeof(*job));

	*job = (struct background_job){ .sb = sb,
					.all = sb->jobs,
					.order.mask = order->mask,
					.text = BUF_INIT(SIZE_MAX / 2),
					.fed = -1,
					.began = clock_ms(),
					.cancel = { { -1, -1 } },
					.ended = { { -1, -1 } } };
	pthread_mutex_init(&job->reading, NULL);
	job->state.running = true;
	job->state.stays = *name;
	job->state.command = shown_command(order->mask, order->req.command);
	job->order.req = (struct exec_request){
		.command = { xstrndup(order->req.command.ptr,
				      order->req.command.len),
			     order->req.command.len },
		.env = mem_copy_list(order->req.env),
		.timeout_ms = order->req.timeout_ms,
	};
	snprintf(job->name, sizeof(job->name), "%s", name);
	job->record.job = job->name;
	job->record.command = job->state.command;
	if (cancel_init(&job->ended, err) == 0)
		return job;
	job_free(job);
	return NULL;
}

static void discard_job(struct background_job *job)
{
	if (!job)
		return;
	if (job->runs_here)
		pthread_join(job->thread, NULL);
	else
		filter_output(job, STR(""), REDACT_END, &job->text);
	job_free(job);
}

/* Adds the job's name to those that the next kept_start() passes as forget: the
 * sandbox then removes their output. Caller holds the lock. */
static void add_forgotten(struct jobs *j, const struct background_job *job)
{
	size_t len = strlen(j->forget);

	if (job->state.stays && len + SUPERVISE_JOB + 2 < sizeof(j->forget))
		snprintf(j->forget + len, sizeof(j->forget) - len, "%s ",
			 job->name);
}

/* If the list is full, removes the oldest ended job and sets *old to it.
 * ERR_LIMIT if too many are running. Caller holds the lock. */
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
				   "too many finished background commands are "
				   "still being read; try again later");
}

void jobs_set_log(struct sandbox *sb, const struct jobs_log *log)
{
	if (!sb->jobs)
		sb->jobs = jobs_new();
	sb->jobs->log = *log;
}

/* Assigns the job's number and adds it to the list and the log. Called before
 * the job is started. */
static int enter_list(struct jobs *j, struct background_job *job,
		      struct error *err)
{
	struct job_record *r = &job->record;
	struct background_job *old = NULL;
	int rc;

	/* List slot, number and log entry must be assigned atomically. */
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
	discard_job(old);
	return rc;
}

/* Removes a job that could not be started. */
static void remove_job(struct jobs *j, struct background_job *job)
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
	if (enter_list(sb->jobs, job, err) < 0) {
		job_free(job);
		return -1;
	}
	*number = job->state.number;
	if (*name) {
		rc = kept_job_start(job, stop, err);
		if (rc < 0 && err->code != ERR_USAGE && err->code != ERR_LIMIT)
			/* it may be running, so it stays in the list */
			return -1;
	} else {
		if (!job->order.req.timeout_ms)
			job->order.req.timeout_ms = NOWAY_MS;
		rc = attached_start(job, err);
	}
	if (rc < 0)
		remove_job(sb->jobs, job);
	else
		job_log(job);
	return rc;
}

/* Removes a job from the list to make room for adopted ones: the oldest of
 * those whose end the model was told of, or else the oldest. */
static void drop_oldest(struct jobs *j)
{
	size_t at = 0;

	while (at < j->n && !j->list[at]->told)
		at++;
	if (at == j->n)
		at = 0;
	discard_job(j->list[at]);
	j->n--;
	memmove(&j->list[at], &j->list[at + 1],
		(j->n - at) * sizeof(struct background_job *));
}

void jobs_adopt(struct sandbox *sb, const struct job_record *record,
		const struct mask *mask)
{
	const struct job_order order = { .req.command = str_of(record->command),
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

/* Caller holds the lock. */
static struct background_job *find_job(const struct jobs *j, unsigned number,
				       struct error *err)
{
	for (size_t i = 0; j && i < j->n; i++)
		if (j->list[i]->state.number == number)
			return j->list[i];
	(void)error_set(err, ERR_NOT_FOUND, "unknown job %u", number);
	return NULL;
}

/* Returns a copy of the state, with the current run time. */
static struct job_state state_now(const struct background_job *job)
{
	struct job_state s = job->state;

	if (s.running)
		s.ms += clock_ms() - job->began;
	return s;
}

/* Waits up to ms for the job's end. Returns 0; -1 only when stop ended the
 * wait. */
static int await_end(const struct background_job *job, int64_t ms,
		     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, ms);
	struct error over = { 0 };

	if (cancel_await(&job->ended, &within, &over) == 0)
		return 0;
	return stop_check(stop, err);
}

/* Finds a job and keeps it in the list until release_job(). */
static struct background_job *acquire_job(struct jobs *j, unsigned number,
					  struct error *err)
{
	struct background_job *job;

	if (!j)
		return find_job(j, number, err);
	pthread_mutex_lock(&j->lock);
	job = find_job(j, number, err);
	if (job)
		job->waiting++;
	pthread_mutex_unlock(&j->lock);
	return job;
}

/* seen: the caller learns from *state whether the job has ended. told: the
 * caller is the model, or will tell it. */
static void release_job(struct background_job *job, struct job_state *state,
			bool seen, bool told)
{
	pthread_mutex_lock(&job->all->lock);
	job->waiting--;
	if (seen && !job->state.running) {
		job->told = job->told || told;
		job->state.shown = true;
	}
	*state = state_now(job);
	pthread_mutex_unlock(&job->all->lock);
}

int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err)
{
	struct background_job *job = acquire_job(j, what->number, err);
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
	/* After a read that shows the end, the model needs no other notice. */
	release_job(job, state, rc == 0, true);
	return rc;
}

int jobs_kill(struct jobs *j, const struct job_kill *what,
	      const struct stop *stop, struct job_state *state,
	      struct error *err)
{
	struct background_job *job = acquire_job(j, what->number, err);
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
	release_job(job, state, rc == 0, what->told);
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
		struct job_state s = state_now(j->list[i]);

		each(arg, &s);
	}
	pthread_mutex_unlock(&j->lock);
}

void jobs_refresh(struct jobs *j, int64_t ms)
{
	struct watch_ask ask = { .what = WATCH_ALL };
	struct stop stop = stop_cleanup(ms);
	struct error ignored = { 0 };

	if (j && j->n)
		(void)watch_do(j, j->list[0]->sb, &ask, &stop, &ignored);
	buf_release(&ask.reading.out);
}

/* Cancels the running attached jobs without waiting: discard_job() waits for
 * their threads. Returns how many were running. */
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

void jobs_remove(struct jobs *j, bool all)
{
	struct stop stop = stop_cleanup(REMOVE_MS);
	struct buf names = BUF_INIT(JOBS_STORED * (SUPERVISE_JOB + 1) + 1);
	struct error ignored = { 0 };

	if (!j)
		return;
	watch_end(j->watch);
	j->watch = NULL;
	for (size_t i = 0; i < j->n; i++) {
		struct background_job *job = j->list[i];

		if (!job->state.stays || job->lost)
			continue;
		if (all && job->state.running)
			(void)kept_kill(job->sb, job->name, &stop, &ignored);
		/* Without a directory, a late start would run the command. */
		if (job->phase != JOB_SURE)
			continue;
		if (all || (job->told && !job->state.running))
			buf_addf(&names, "%s ", job->name);
	}
	if (names.len)
		(void)kept_remove(j->list[0]->sb, names.ptr, &stop, &ignored);
	buf_release(&names);
}

size_t jobs_end(struct jobs **at)
{
	struct jobs *j = *at;
	size_t running;

	if (!j)
		return 0;
	running = end_attached(j);
	watch_end(j->watch);
	/* Twice, because job_log() saves what the model was told one call
	 * late. */
	job_log_all(j);
	job_log_all(j);
	for (size_t i = 0; i < j->n; i++)
		discard_job(j->list[i]);
	pthread_mutex_destroy(&j->lock);
	pthread_mutex_destroy(&j->logging);
	free(j);
	*at = NULL;
	return running;
}
