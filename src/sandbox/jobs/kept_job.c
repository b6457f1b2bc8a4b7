/* kept_job.c - a job that stays in the sandbox, and how its output is read. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "net/retry.h"
#include "sandbox/jobs/jobs_impl.h"

/* A value that is masked is seen whole, wherever reading begins, when so many
 * bytes before that are looked at as well. */
enum { CONTEXT = 16 << 10 };

int kept_job_start(struct background_job *job, const struct stop *stop,
		   struct error *err)
{
	struct watch_ask ask = { .what = WATCH_START, .job = job };
	int rc = watch_do(job->all, job->sb, &ask, stop, err);

	buf_release(&ask.reading.out);
	if (rc < 0 && err->code != ERR_USAGE && err->code != ERR_LIMIT &&
	    err->code != ERR_CANCELLED)
		error_wrap(err, "job %u may still run, which job_output tells",
			   job->state.number);
	return rc;
}

int kept_job_kill(struct background_job *job, const struct stop *stop,
		  struct error *err)
{
	struct watch_ask ask = { .what = WATCH_KILL, .job = job };
	int rc = watch_do(job->all, job->sb, &ask, stop, err);

	buf_release(&ask.reading.out);
	return rc;
}

static void forget_stream(struct background_job *job)
{
	redact_screen_end(&job->shown, job->order.mask, &job->text);
	buf_clear(&job->text);
	job->fed = -1;
}

/* From *from on, which is later where that is not kept; as much as may be. */
static struct str find_data(struct background_job *job, struct watch_ask *a,
			    int64_t *from)
{
	struct str raw = buf_str(&a->reading.out);
	int64_t at = a->reading.status.from;

	if (at > a->reading.from) {
		/* What begins now may be the rest of a value. */
		forget_stream(job);
		if (*from < at + CONTEXT)
			*from = at + CONTEXT;
	}
	if (*from > at + (int64_t)raw.len)
		*from = at + (int64_t)raw.len;
	redact_screen_feed(&job->shown, job->order.mask,
			   (struct str){ raw.ptr, (size_t)(*from - at) },
			   &job->text);
	redact_screen_give(&job->shown, job->order.mask, &job->text);
	buf_clear(&job->text);
	return str_skip(raw, (size_t)(*from - at));
}

/* The output that came, from `from` on, into out; where it ends. That is in the
 * midst of a line only at the end of all that there is. */
static int64_t show(struct background_job *job, struct watch_ask *a,
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
	redact_screen_feed(&job->shown, job->order.mask, data, out);
	redact_screen_give(&job->shown, job->order.mask, out);
	job->fed = end;
	if (s->state != KEPT_RUNS && end == s->total) {
		redact_screen_end(&job->shown, job->order.mask, out);
		job->fed = -1;
	}
	return end;
}

int kept_job_read(struct background_job *job, const struct job_read *what,
		  const struct stop *stop, struct buf *out, struct error *err)
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
		end = show(job, &ask, &from, what->most, out);
		pthread_mutex_lock(&job->all->lock);
		job->state.from = from;
		job->state.read = end;
		pthread_mutex_unlock(&job->all->lock);
	}
	buf_release(&ask.reading.out);
	pthread_mutex_unlock(&job->reading);
	return rc;
}
