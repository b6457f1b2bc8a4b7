/* toolrun.c - the tool calls of one answer: order, approval, results. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "base/mem.h"
#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"

enum {
	MOST_AT_ONCE = 8,
	MAX_RESULT = 64 << 20, /* bytes; the tools cap themselves far below */
};

struct batch {
	struct agent *agent;
	const struct stop *stop;
	size_t total;           /* calls */
	pthread_mutex_t events; /* so that no two events overlap */
};

struct tool_job {
	struct batch *batch;
	const struct part *call;
	size_t number; /* of the batch, from 1 */
	struct buf out;
	struct error err;
	char *real_path; /* from approve, or NULL; owned */
	bool failed;
	bool refused;
	int rc;
	pthread_t thread;
	bool started;
	bool announced; /* its EVENT_TOOL_CALL is out */
};

static void emit(struct batch *b, const struct agent_event *ev)
{
	pthread_mutex_lock(&b->events);
	b->agent->ui.event(b->agent->ui.arg, ev);
	pthread_mutex_unlock(&b->events);
}

static void on_output(void *arg, struct str delta)
{
	struct tool_job *job = arg;

	emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
						.call = job->call,
						.text = delta });
}

static void *run_job(void *arg)
{
	struct tool_job *job = arg;
	struct tool_env env = {
		.sandbox = job->batch->agent->sandbox,
		.stop = job->batch->stop,
		.mask = job->batch->agent->mask,
		.real_path = job->real_path,
		.thread = job->batch->agent->thread,
		.saved = &job->batch->agent->saved_results,
		.secrets = job->batch->agent->secrets,
		.output = on_output,
		.arg = job,
	};

	if (!job->refused)
		job->rc = tool_call(&env, job->call, &job->out, &job->failed,
				    &job->err);
	return NULL;
}

static bool only_reads(const struct part *call)
{
	const struct tool *tool = tool_find(call->name);

	return tool && tool->flags & TOOL_READS;
}

static void cancelled_result(struct tool_job *job)
{
	if (job->refused)
		return; /* that ended the turn, and the model is told */
	buf_clear(&job->out);
	buf_addf(&job->out,
		 "Tool call %s with id %s was cancelled before it ran.",
		 job->call->name, job->call->id);
	job->failed = true;
}

static void refused_result(struct tool_job *job, const struct approval *a)
{
	if (a->reason.len)
		buf_addstr(&job->out, buf_str(&a->reason));
	else
		buf_addf(&job->out,
			 "User rejected the tool call for `%s` with id %s",
			 job->call->name, job->call->id);
	job->failed = true;
	job->refused = true;
}

/* What the tool itself will refuse needs no approval: the same args_read()
 * decides there. -1 when the run was cancelled. */
static int approve(struct tool_job *job, struct error *err)
{
	const struct agent_ui *ui = &job->batch->agent->ui;
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	struct approval a = { .call = job->call,
			      .tool = tool_find(job->call->name),
			      .number = job->number,
			      .total = job->batch->total,
			      .reason = BUF_INIT(1 << 16),
			      .place = BUF_INIT(1 << 16) };
	cJSON *args = NULL;
	int rc = 0;

	if (a.tool && ui->approve)
		args = args_read(a.tool, job->call, &ignored);
	a.args = args;
	if (args)
		rc = ui->approve(ui->arg, &a, job->batch->stop, err);
	if (args && rc == 0 && !a.allowed)
		refused_result(job, &a);
	job->real_path = a.real_path;
	buf_release(&a.reason);
	buf_release(&a.place);
	buf_release(&ignored);
	cJSON_Delete(args);
	return rc;
}

/* Before the result, also of a call that is cancelled before its turn: readers
 * of the events know a result by its call. */
static void announce(struct tool_job *job)
{
	if (job->announced)
		return;
	job->announced = true;
	emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
						.call = job->call });
}

static void on_notice(void *arg, const char *line)
{
	struct batch *b = arg;
	struct buf masked = BUF_INIT(1 << 20);

	mask_text(b->agent->mask, str_of(line), &masked);
	emit(b, &(struct agent_event){ .kind = EVENT_WARNING,
				       .text = buf_str(&masked) });
	buf_release(&masked);
}

/* Runs jobs[0..n) side by side; a single one on this thread. */
static void run_group(struct tool_job *jobs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		jobs[i].started = pthread_create(&jobs[i].thread, NULL, run_job,
						 &jobs[i]) == 0;
	run_job(&jobs[0]);
	for (size_t i = 1; i < n; i++) {
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
		else
			run_job(&jobs[i]);
	}
}

static int finish(struct tool_job *job, struct message *results,
		  struct error *err)
{
	struct part *p = message_add(results, PART_TOOL_RESULT);
	struct str text = buf_str(&job->out);

	p->id = xstrdup(job->call->id);
	p->name = xstrdup(job->call->name);
	p->failed = job->failed;
	announce(job);
	emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_RESULT,
						.call = job->call,
						.text = text,
						.failed = job->failed });
	p->text = buf_detach(&job->out);
	free(job->real_path);
	if (job->rc < 0)
		*err = job->err;
	return job->rc;
}

/* How many jobs from the first on may run together. */
static size_t group_size(const struct tool_job *jobs, size_t n)
{
	size_t size = 1;

	if (!only_reads(jobs[0].call))
		return 1;
	while (size < n && size < MOST_AT_ONCE && only_reads(jobs[size].call))
		size++;
	return size;
}

/* Each call of a group is announced and approved by itself. */
static int approve_group(struct tool_job *jobs, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		announce(&jobs[i]);
		if (approve(&jobs[i], err) < 0 ||
		    stop_check(jobs->batch->stop, err) < 0)
			return -1;
	}
	return 0;
}

static int run_all(struct tool_job *jobs, size_t n, struct message *results,
		   struct error *err)
{
	size_t at = 0;
	int rc = 0;

	while (at < n) {
		size_t size = group_size(jobs + at, n - at);

		if (rc == 0)
			rc = approve_group(jobs + at, size, err);
		if (rc == 0)
			run_group(jobs + at, size);
		if (rc == 0 && !only_reads(jobs[at].call))
			sandbox_check(jobs->batch->agent->sandbox, false,
				      on_notice, jobs->batch);
		if (rc < 0)
			for (size_t i = 0; i < size; i++)
				cancelled_result(&jobs[at + i]);
		for (size_t i = 0; i < size; i++)
			if (finish(&jobs[at + i], results, err) < 0)
				rc = -1;
		at += size;
	}
	return rc;
}

int toolrun(struct agent *a, const struct message *reply,
	    struct message *results, const struct stop *stop, struct error *err)
{
	struct batch batch = { .agent = a, .stop = stop };
	struct tool_job *jobs = xcalloc(reply->n, sizeof(*jobs));
	size_t n = 0;
	int rc;

	pthread_mutex_init(&batch.events, NULL);
	results->role = ROLE_TOOL;
	for (size_t i = 0; i < reply->n; i++) {
		if (reply->parts[i].kind != PART_TOOL_CALL)
			continue;
		jobs[n].batch = &batch;
		jobs[n].call = &reply->parts[i];
		jobs[n].out = BUF_INIT(MAX_RESULT);
		jobs[n].number = n + 1;
		n++;
	}
	batch.total = n;
	rc = n ? run_all(jobs, n, results, err) : 0;
	pthread_mutex_destroy(&batch.events);
	free(jobs);
	return rc;
}
