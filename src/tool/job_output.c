/* job_output.c - the tool that reads the output of a background command. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "sandbox/jobs/jobs.h"
#include "sandbox/reach.h"
#include "tool/table.h"

enum { MAX_WAIT_S = 600, MOST_BYTES = 60000 };

/* Appends the job's state, the range of bytes returned, and how to get the
 * rest. */
static void add_state(const struct job_state *s, int64_t asked, struct buf *out)
{
	int64_t left = s->bytes - s->read;

	if (s->read == s->from)
		buf_adds(out, "<no new output>");
	buf_addf(out, "\n[job %u ", s->number);
	if (s->running)
		buf_adds(out, "is ");
	jobs_describe(s, out);
	buf_addf(out, "; bytes %" PRId64 " to %" PRId64 " of %" PRId64 "]",
		 s->from, s->read, s->bytes);
	if (asked >= 0 && asked < s->first)
		buf_addf(out,
			 "\n[only the newest output is kept: it begins at byte "
			 "%" PRId64 "]",
			 s->first);
	if (left > 0)
		buf_addf(out, "\n[%" PRId64 " bytes follow: call it again]",
			 left);
}

static void add_notice(const char *notice, struct buf *out)
{
	if (notice[0])
		buf_addf(out, "\n[%s]", notice);
}

static int execute_job_output(const struct tool_env *env, const cJSON *args,
			      struct buf *out, struct error *err)
{
	const struct job_read what = {
		.number = (unsigned)json_int(args, "job", 0),
		.from = json_int(args, "offset", -1),
		.most = MOST_BYTES,
		.wait_ms = json_int(args, "wait", 0) * 1000,
	};
	char notice[SANDBOX_NOTICE];
	struct job_state state;

	if (what.wait_ms < 0 || what.wait_ms > MAX_WAIT_S * 1000)
		return error_set(err, ERR_USAGE,
				 "Error: wait must be 0 to %d seconds.",
				 MAX_WAIT_S);
	if (jobs_read(env->sandbox->jobs, &what, env->stop, out, &state, err) <
	    0)
		return -1;
	if (out->len && out->ptr[out->len - 1] == '\n')
		out->ptr[--out->len] = '\0';
	add_state(&state, what.from, out);
	add_notice(state.result.notice, out);
	/* hosts that were refused while it runs, to it or to another job */
	reach_report(env->sandbox, notice);
	add_notice(notice, out);
	return 0;
}

static const struct tool_arg args[] = {
	{ .name = "job",
	  .type = ARG_INT,
	  .description = "The job's number.",
	  .required = true,
	  .positive = true },
	{ .name = "offset",
	  .type = ARG_INT,
	  .description = "Byte of the output to begin at, from 0. If not "
			 "given, the output since the last call." },
	{ .name = "wait",
	  .type = ARG_INT,
	  .fallback = "0",
	  .description = "Seconds to wait for the end of the job, at most"
			 " 600." },
	{ 0 },
};

const struct tool tool_job_output = {
	.spec = {
		.name = "job_output",
		.description =
			"Returns what a background command (execute with "
			"background) has printed, standard output and standard "
			"error together, and whether it has ended, with its "
			"exit code.",
	},
	.args = args,
	.with = "execute",
	.summary = "job {job}",
	.flags = TOOL_SESSION,
	.run = execute_job_output,
};
