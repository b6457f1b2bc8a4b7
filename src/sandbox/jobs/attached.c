/* attached.c - a job on a thread of this process, which ends with it. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/jobs/jobs_impl.h"

enum { SLICE = 64 << 10 }; /* bytes filtered at a time */

/* The newest output stays, from the beginning of a character. Locked. */
static void keep(struct background_job *job)
{
	struct str text = buf_str(&job->text);
	struct job_state *s = &job->state;
	size_t over;

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
	buf_clear(&job->text);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct background_job *job = arg;

	(void)stream; /* merged */
	(void)reply;
	(void)err;
	while (chunk.len) {
		struct str slice = { chunk.ptr,
				     chunk.len < SLICE ? chunk.len : SLICE };

		pthread_mutex_lock(&job->all->lock);
		redact_screen_feed(&job->shown, job->order.mask, slice,
				   &job->text);
		keep(job);
		pthread_mutex_unlock(&job->all->lock);
		chunk = str_skip(chunk, slice.len);
	}
	return 0;
}

static void *run(void *arg)
{
	struct background_job *job = arg;
	struct exec_request req = { .command = job->order.command,
				    .env = job->order.env,
				    .merged = true,
				    .timeout_ms = job->order.timeout_ms,
				    .output = on_output,
				    .arg = job };
	struct stop stop = stop_on(&job->cancel);
	struct exec_result res = { .exit_code = -1 };
	struct error err = { 0 };
	int rc = sandbox_execute(job->sb, &req, &res, &stop, &err);

	pthread_mutex_lock(&job->all->lock);
	redact_screen_end(&job->shown, job->order.mask, &job->text);
	keep(job);
	job->state.result = res;
	if (rc < 0)
		job->state.error = err;
	job->state.ms = clock_ms() - job->began;
	job_set_ended(job);
	pthread_mutex_unlock(&job->all->lock);
	return NULL;
}

int attached_start(struct background_job *job, struct error *err)
{
	job->kept = BUF_INIT(JOBS_KEPT_BYTES + 4 * SLICE);
	job->shown.screen.eager = true;
	if (cancel_init(&job->cancel, err) < 0)
		return -1;
	if (thread_start(&job->thread, run, job, err) < 0)
		return -1;
	job->runs_here = true;
	return 0;
}

void attached_read(struct background_job *job, const struct job_read *what,
		   struct buf *out)
{
	struct job_state *s = &job->state;
	struct str text;

	redact_screen_give(&job->shown, job->order.mask, &job->text);
	keep(job);
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
