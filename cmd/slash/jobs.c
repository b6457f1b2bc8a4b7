/* jobs.c - /jobs: commands in the background. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/jobs/jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cmd/slash/slash_cmd.h"

static void add_job(void *arg, const struct job_state *s)
{
	struct buf *out = arg;

	buf_addf(out, "job %-3u ", s->number);
	jobs_describe(s, out);
	buf_addf(out, ", %lld bytes: %.200s\n", (long long)s->bytes,
		 s->command);
}

static void kill_job(struct run *r, const char *word)
{
	struct stop stop = stop_on(NULL);
	struct error err = { 0 };
	struct job_state s;
	struct buf line = BUF_INIT(1 << 12);
	int64_t number = 0;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    number > UINT32_MAX) {
		fprintf(stderr, "'%s' is no job's number: /jobs lists them.\n",
			word);
		return;
	}
	if (jobs_kill(r->box.sandbox.jobs, (unsigned)number, false, &stop, &s,
		      &err) < 0) {
		fprintf(stderr, "Error: %s; /jobs lists them.\n", err.message);
		return;
	}
	jobs_describe(&s, &line);
	fprintf(stderr, "job %u %s\n", s.number, line.ptr);
	buf_release(&line);
}

bool slash_cmd_jobs(struct run *r, int n, char **words)
{
	struct buf out = BUF_INIT(1 << 20);

	if (n == 2 && !strcmp(words[0], "kill")) {
		kill_job(r, words[1]);
	} else if (n) {
		fputs("Usage: /jobs, or /jobs kill NUMBER\n", stderr);
	} else {
		jobs_each(r->box.sandbox.jobs, add_job, &out);
		fputs(out.len ? out.ptr : "No command is in the background.\n",
		      stderr);
	}
	buf_release(&out);
	return true;
}
