/* job_kill.c - the tool that kills a background command. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/jobs/jobs.h"
#include "tool/table.h"

enum { WAIT_MS = 10000 };

static int execute_job_kill(const struct tool_env *env, const cJSON *args,
			    struct buf *out, struct error *err)
{
	const struct job_kill what = {
		.number = (unsigned)json_int(args, "job", 0),
		.told = true,
		.wait_ms = WAIT_MS,
	};
	struct job_state state;

	if (jobs_kill(env->sandbox->jobs, &what, env->stop, &state, err) < 0)
		return -1;
	buf_addf(out, "Job %u ", what.number);
	if (state.running)
		buf_adds(out, "is being killed; it is ");
	else if (!state.killed)
		buf_adds(out, "had already ended: it ");
	jobs_describe(&state, out);
	buf_addc(out, '.');
	return 0;
}

static const struct tool_arg args[] = {
	{ .name = "job",
	  .type = ARG_INT,
	  .description = "The job's number.",
	  .required = true,
	  .positive = true },
	{ 0 },
};

const struct tool tool_job_kill = {
	.spec = {
		.name = "job_kill",
		.description = "Ends a background command with all that it "
			       "started. Its output can still be read.",
	},
	.args = args,
	.with = "execute",
	.summary = "job {job}",
	.flags = TOOL_SESSION,
	.run = execute_job_kill,
};
