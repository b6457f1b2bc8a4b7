/* describe.c - a job in the background, in words. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "sandbox/jobs/jobs.h"

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
