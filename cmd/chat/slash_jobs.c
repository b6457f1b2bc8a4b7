/* slash_jobs.c - /jobs: commands in the background. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "sandbox/jobs/jobs.h"

/* The screen waits for it. */
enum { KILL_MS = 1000 };

static void add_job(void *arg, const struct job_state *s)
{
	struct buf *out = arg;

	buf_addf(out, "job %-3u ", s->number);
	jobs_describe(s, out);
	buf_addf(out, ", %lld bytes: %.200s\n", (long long)s->bytes,
		 s->command);
}

static void kill_job(struct run *r, const char *word, struct buf *out)
{
	struct stop stop = stop_on(NULL);
	struct job_kill what = { .wait_ms = KILL_MS };
	struct error err = { 0 };
	struct job_state s;
	int64_t number = 0;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    number > UINT32_MAX) {
		buf_addf(out, "Unknown job '%.40s'. /jobs lists them.\n", word);
		return;
	}
	what.number = (unsigned)number;
	if (jobs_kill(r->box.sandbox.jobs, &what, &stop, &s, &err) < 0) {
		buf_addf(out, "Error: %s; /jobs lists them.\n", err.message);
		return;
	}
	buf_addf(out, "job %u ", s.number);
	if (s.running)
		buf_adds(out, "is being killed; it is ");
	jobs_describe(&s, out);
	buf_addc(out, '\n');
}

void slash_cmd_jobs(struct run *r, int n, char **words, size_t columns,
		    struct buf *out)
{
	size_t before = out->len;

	(void)columns;
	if (n == 2 && !strcmp(words[0], "kill")) {
		kill_job(r, words[1], out);
		return;
	}
	if (n) {
		buf_adds(out, "Usage: /jobs, or /jobs kill NUMBER\n");
		return;
	}
	jobs_each(r->box.sandbox.jobs, add_job, out);
	if (out->len == before)
		buf_adds(out, "No background commands.\n");
}
