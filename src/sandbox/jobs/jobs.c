/* jobs.c - commands that go on while the model does something else. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/jobs/jobs.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact_stream.h"
#include "base/str.h"

enum {
	COMMAND_CHARS = 2000, /* of a command in a list */
	KILL_MS = 10000,
	SLICE = 64 << 10, /* bytes filtered at a time */
};

struct background_job {
	struct sandbox *sb;
	struct jobs *all;
	struct job_order order;     /* command and env are owned */
	struct job_state state;     /* guarded by all->lock, as what follows */
	struct buf kept;            /* state.first to state.bytes */
	bool told;                  /* its end, by jobs_take_ended() */
	size_t waiting;             /* threads, for its end */
	int64_t began;              /* ms */
	struct redact_stream shown; /* its thread's */
	struct buf text;            /* the same */
	struct cancel cancel;
	struct cancel ended; /* triggered when it has */
	pthread_t thread;
};

struct jobs {
	pthread_mutex_t lock;
	struct background_job *list[JOBS_STORED];
	size_t n;
	unsigned last; /* number given */
};

static struct jobs *jobs_new(void)
{
	struct jobs *j = xcalloc(1, sizeof(*j));

	pthread_mutex_init(&j->lock, NULL);
	return j;
}

/* The newest output stays, from the beginning of a character. */
static void keep(struct background_job *job)
{
	struct str text = buf_str(&job->text);
	struct job_state *s = &job->state;
	size_t over;

	pthread_mutex_lock(&job->all->lock);
	if (job->kept.len + text.len > JOBS_KEPT_BYTES) {
		/* At once more than needed: not a move for each piece. */
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
	pthread_mutex_unlock(&job->all->lock);
	buf_clear(&job->text);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct background_job *job = arg;

	(void)reply;
	(void)err;
	while (chunk.len) {
		struct str slice = { chunk.ptr,
				     chunk.len < SLICE ? chunk.len : SLICE };

		redact_stream_feed(&job->shown, job->order.mask,
				   stream == EXEC_STDERR, slice, &job->text);
		keep(job);
		chunk = str_skip(chunk, slice.len);
	}
	return 0;
}

static void *run(void *arg)
{
	struct background_job *job = arg;
	struct exec_request req = { .command = job->order.command,
				    .env = job->order.env,
				    .timeout_ms = job->order.timeout_ms,
				    .output = on_output,
				    .arg = job };
	struct stop stop = stop_on(&job->cancel);
	struct exec_result res = { .exit_code = -1 };
	struct error err = { 0 };
	int rc = sandbox_execute(job->sb, &req, &res, &stop, &err);

	redact_stream_end(&job->shown, job->order.mask, &job->text);
	keep(job);
	pthread_mutex_lock(&job->all->lock);
	job->state.result = res;
	if (rc < 0)
		job->state.error = err;
	job->state.ms = clock_ms() - job->began;
	job->state.running = false;
	pthread_mutex_unlock(&job->all->lock);
	cancel_trigger(&job->ended);
	return NULL;
}

static void job_free(struct background_job *job)
{
	const char *const *env = job->order.env;

	for (; env && *env; env++)
		free((char *)*env);
	free((void *)job->order.env);
	free((char *)job->order.command.ptr);
	free((char *)job->state.command);
	buf_release(&job->kept);
	buf_release(&job->text);
	cancel_release(&job->cancel);
	cancel_release(&job->ended);
	free(job);
}

static const char *const *copy_env(const char *const *env)
{
	const char **copy;
	size_t n = 0;

	if (!env)
		return NULL;
	while (env[n])
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(env[i]);
	return copy;
}

/* The command as people may see it, on one line. */
static char *shown_command(const struct job_order *order)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 2);
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct redact_stream once = { 0 };
	struct str text;

	redact_stream_feed(&once, order->mask, 0, order->command, &masked);
	redact_stream_end(&once, order->mask, &masked);
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

static struct background_job *job_new(struct sandbox *sb,
				      const struct job_order *order)
{
	struct background_job *job = xcalloc(1, sizeof(*job));

	*job = (struct background_job){ .sb = sb,
					.order = *order,
					.kept = BUF_INIT(JOBS_KEPT_BYTES +
							 4 * SLICE),
					.text = BUF_INIT(SIZE_MAX / 2),
					.began = clock_ms(),
					.cancel = { { -1, -1 } },
					.ended = { { -1, -1 } } };
	job->state.running = true;
	job->state.command = shown_command(order);
	job->order.command.ptr =
		xstrndup(order->command.ptr, order->command.len);
	job->order.env = copy_env(order->env);
	return job;
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
				 "%d background commands are running, the most "
				 "that may: end one with job_kill first",
				 JOBS_MOST);
	for (size_t i = 0; j->n == JOBS_STORED && !*old; i++) {
		if (j->list[i]->state.running || j->list[i]->waiting)
			continue;
		*old = j->list[i];
		j->n--;
		memmove(&j->list[i], &j->list[i + 1],
			(j->n - i) * sizeof(struct background_job *));
	}
	return 0;
}

static int start_thread(struct background_job *job, struct error *err)
{
	sigset_t all;
	sigset_t before;
	int rc;

	if (cancel_init(&job->cancel, err) < 0 ||
	    cancel_init(&job->ended, err) < 0)
		return -1;
	sigfillset(&all); /* signals are for the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&job->thread, NULL, run, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? error_set(err, ERR_SYSTEM, "no thread can be started") : 0;
}

static void job_discard(struct background_job *job)
{
	if (!job)
		return;
	pthread_join(job->thread, NULL);
	job_free(job);
}

int jobs_start(struct sandbox *sb, const struct job_order *order,
	       unsigned *number, struct error *err)
{
	struct background_job *job = job_new(sb, order);
	struct background_job *old = NULL;
	struct jobs *j;
	int rc;

	if (!sb->jobs)
		sb->jobs = jobs_new();
	j = job->all = sb->jobs;
	pthread_mutex_lock(&j->lock);
	rc = make_room(j, &old, err);
	if (rc == 0) {
		job->state.number = j->last + 1;
		rc = start_thread(job, err);
	}
	if (rc == 0) {
		*number = ++j->last;
		j->list[j->n++] = job;
	}
	pthread_mutex_unlock(&j->lock);
	job_discard(old);
	if (rc < 0)
		job_free(job);
	return rc;
}

/* Locked. */
static struct background_job *find(const struct jobs *j, unsigned number,
				   struct error *err)
{
	for (size_t i = 0; j && i < j->n; i++)
		if (j->list[i]->state.number == number)
			return j->list[i];
	(void)error_set(err, ERR_NOT_FOUND, "there is no job %u", number);
	return NULL;
}

static struct job_state look(const struct background_job *job)
{
	struct job_state s = job->state;

	if (s.running)
		s.ms = clock_ms() - job->began;
	return s;
}

/* Until it has ended or ms are over: 0. -1 when stop ended the wait. */
static int await_end(const struct background_job *job, int64_t ms,
		     const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, ms);
	struct error over = { 0 };

	while (!cancel_triggered(&job->ended)) {
		struct pollfd p[] = {
			{ .fd = job->ended.fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return -1;
		if (stop_check(&within, &over) < 0)
			return 0;
		poll(p, 2, stop_poll_ms(&within, -1));
	}
	return 0;
}

/* Up to the last line's end in text; without any, to a character's. */
static size_t whole_lines(struct str text)
{
	size_t n = text.len;

	while (n && text.ptr[n - 1] != '\n')
		n--;
	return n ? n : str_utf8_prefix(text);
}

/* Locked. */
static void take(struct background_job *job, const struct job_read *what,
		 struct buf *out)
{
	struct job_state *s = &job->state;
	struct str text = buf_str(&job->kept);

	s->from = what->from < 0 ? s->read : what->from;
	if (s->from < s->first)
		s->from = s->first;
	if (s->from > s->bytes)
		s->from = s->bytes;
	text = str_skip(text, (size_t)(s->from - s->first));
	if (text.len > what->most) {
		text.len = what->most;
		text.len = whole_lines(text);
	}
	buf_addstr(out, text);
	s->read = s->from + (int64_t)text.len;
}

/* Waits for the end of a job, at most ms; the lock is held after it where it
 * returns the job. NULL: there is none, or stop ended the wait. */
static struct background_job *await_job(struct jobs *j, unsigned number,
					int64_t ms, bool kill,
					const struct stop *stop,
					struct error *err)
{
	struct background_job *job;
	int rc;

	if (!j)
		return find(j, number, err);
	pthread_mutex_lock(&j->lock);
	job = find(j, number, err);
	if (!job) {
		pthread_mutex_unlock(&j->lock);
		return NULL;
	}
	if (kill && job->state.running) {
		job->state.killed = true;
		cancel_trigger(&job->cancel);
	}
	job->waiting++;
	pthread_mutex_unlock(&j->lock);
	rc = await_end(job, ms, stop, err);
	pthread_mutex_lock(&j->lock);
	job->waiting--;
	if (rc == 0)
		return job;
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

int jobs_read(struct jobs *j, const struct job_read *what,
	      const struct stop *stop, struct buf *out, struct job_state *state,
	      struct error *err)
{
	struct background_job *job =
		await_job(j, what->number, what->wait_ms, false, stop, err);

	if (!job)
		return -1;
	take(job, what, out);
	/* Who has seen the end needs no other notice. */
	job->told = job->told || !job->state.running;
	*state = look(job);
	pthread_mutex_unlock(&j->lock);
	return 0;
}

int jobs_kill(struct jobs *j, unsigned number, bool told,
	      const struct stop *stop, struct job_state *state,
	      struct error *err)
{
	struct background_job *job =
		await_job(j, number, KILL_MS, true, stop, err);

	if (!job)
		return -1;
	job->told = job->told || (told && !job->state.running);
	*state = look(job);
	pthread_mutex_unlock(&j->lock);
	return 0;
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

void jobs_take_ended(struct jobs *j,
		     void (*each)(void *arg, const struct job_state *state),
		     void *arg)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->n; i++) {
		struct job_state s = look(j->list[i]);

		if (s.running || j->list[i]->told)
			continue;
		j->list[i]->told = true;
		each(arg, &s);
	}
	pthread_mutex_unlock(&j->lock);
}

void jobs_describe(const struct job_state *s, struct buf *out)
{
	int64_t seconds = s->ms / 1000;

	if (s->running)
		buf_addf(out, "running for %" PRId64 " s", seconds);
	else if (s->killed && s->error.code)
		buf_addf(out, "was killed after %" PRId64 " s", seconds);
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

size_t jobs_end(struct jobs **at)
{
	struct jobs *j = *at;
	size_t running = 0;

	if (!j)
		return 0;
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->n; i++) {
		struct background_job *job = j->list[i];

		if (!job->state.running)
			continue;
		running++;
		job->state.killed = true;
		cancel_trigger(&job->cancel);
	}
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < j->n; i++)
		job_discard(j->list[i]);
	pthread_mutex_destroy(&j->lock);
	free(j);
	*at = NULL;
	return running;
}
