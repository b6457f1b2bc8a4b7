/* slurm_test.c - what squeue prints, and what is said of a job's end. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "providers/slurm/slurm.h"
#include "unit.h"

static struct slurm_job parse(const char *line)
{
	struct slurm_job job;

	assert_true(slurm_job_parse(str_of(line), &job));
	return job;
}

static void test_a_line_of_squeue_is_a_job(void **state)
{
	struct slurm_job job =
		parse("17|PENDING|2|1795436717|1795437018|N/A|Resources|n[1-3]|"
		      "dcode label=dcode-abcd2345 owner=0193-77|");

	(void)state;
	assert_string_equal(job.id, "17");
	assert_string_equal(job.reason, "Resources");
	assert_string_equal(job.nodes, "n[1-3]");
	assert_string_equal(job.label, "dcode-abcd2345");
	assert_string_equal(job.owner, "0193-77");
	assert_int_equal(job.restarts, 2);
	assert_int_equal(job.start, 1795437018);
	assert_int_equal(job.end, 0);
	assert_int_equal(slurm_state(&job), STATE_STARTING);
}

static void test_a_comment_of_somebody_else_is_no_label(void **state)
{
	static const char *const comments[] = {
		"",
		"(null)",
		"dcode",
		"dcode label=x owner=y",
		"dcode label=dcode-abcdefghijklmnop owner=y",
		"dcode label=",
		"dcode label=dcode-abcd2345",
		"my dcode label=dcode-a owner=b",
		"dcode label=dcode-$(id) owner=y",
		"dcode label=dcode-a;id owner=y",
		"dcode label=dcode-../a owner=y",
		"dcode label=dcode- owner=y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++) {
		char line[256];
		struct slurm_job job;

		snprintf(line, sizeof(line), "1|RUNNING|0|1|1|1|None|n1|%s|",
			 comments[i]);
		job = parse(line);
		assert_string_equal(job.label, "");
	}
}

static void test_other_lines_are_no_job(void **state)
{
	static const char *const lines[] = {
		"",
		"squeue: error: x|y",
		"slurm_load_jobs error: Unable to contact slurm controller",
		"x|RUNNING|0|1|1|1|None|n1||",
		"-1|RUNNING|0|1|1|1|None|n1||",
		"1||0|1|1|1|None|n1||",
		"1|RUNNING|0|1|1|1|None",
		"99999999999999999999999999|RUNNING|0|1|1|1|None|n1||",
	};
	struct slurm_job job;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(slurm_job_parse(str_of(lines[i]), &job));
}

static void test_each_end_is_told_as_what_it_is(void **state)
{
	static const struct {
		const char *state;
		int restarts;
		const char *said;
	} ends[] = {
		{ "CANCELLED", 0, "is CANCELLED, it was cancelled from" },
		{ "TIMEOUT", 0, "is TIMEOUT, its time limit passed" },
		{ "PREEMPTED", 0, "is PREEMPTED, a job of higher priority" },
		{ "NODE_FAIL", 0, "is NODE_FAIL, its node failed" },
		{ "OUT_OF_MEMORY", 0, "is OUT_OF_MEMORY, it used more" },
		{ "PENDING", 1, "is REQUEUED, Slurm took it off its node" },
		{ "REQUEUED", 1, "is REQUEUED, Slurm took it off its node" },
		{ "RUNNING", 1, "is REQUEUED, Slurm has started it again" },
		{ "SOMETHING_NEW", 0, "is SOMETHING_NEW" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct slurm_job job = { .id = "7",
					 .restarts = ends[i].restarts };
		struct error err = { 0 };

		snprintf(job.state, sizeof(job.state), "%s", ends[i].state);
		assert_int_equal(slurm_ended(&job, &err), -1);
		assert_int_equal(err.code, ERR_GONE);
		assert_non_null(strstr(err.message, "sandbox is lost: job 7 "));
		assert_non_null(strstr(err.message, ends[i].said));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_of_squeue_is_a_job),
		cmocka_unit_test(test_a_comment_of_somebody_else_is_no_label),
		cmocka_unit_test(test_other_lines_are_no_job),
		cmocka_unit_test(test_each_end_is_told_as_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
