/* toolrun.c - the tool calls of one answer: order, approval, results. */
/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/recall.h"
#include "agent/toolrun_impl.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/media.h"
#include "tool/result.h"

enum {
	MOST_AT_ONCE = 8,
	MOST_SUBAGENTS = 20,   /* at once; they wait for the model most of it */
	MAX_RESULT = 64 << 20, /* bytes; the tools cap themselves far below */
};

static void on_output(void *arg, struct str delta)
{
	struct tool_job *job = arg;

	toolrun_emit(job->batch,
		     &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
					    .call = job->call,
					    .text = delta });
}

static void on_redraw(void *arg, struct str delta, struct str rest)
{
	struct tool_job *job = arg;

	toolrun_emit(job->batch,
		     &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
					    .call = job->call,
					    .text = delta,
					    .end = rest });
}

static int on_recall(void *arg, const struct tool_recall *what, struct buf *out,
		     struct error *err)
{
	struct tool_job *job = arg;

	return recall_read(job->batch->agent, what, out, err);
}

static int on_delegate(void *arg, const struct tool_delegation *what,
		       struct buf *out, struct error *err)
{
	const struct tool_job *job = arg;
	struct agent *a = job->batch->agent;
	const struct delegation d = { a, job->call, what, job->batch->stop };

	return a->delegate(a->delegate_arg, &d, out, err);
}

static bool on_offers(void *arg, const char *tool)
{
	const struct tool_job *job = arg;

	return model_offers(job->batch->agent->model, tool);
}

static void *run_job(void *arg)
{
	struct tool_job *job = arg;
	struct tool_env env = {
		.more = job->batch->agent->more,
		.sandbox = job->batch->agent->sandbox,
		.stop = job->batch->stop,
		.mask = job->batch->agent->mask,
		.real_path = job->real_path,
		.thread = job->batch->agent->thread,
		.saved = &job->batch->agent->saved_results,
		.secrets = job->batch->agent->secrets,
		.change = job->batch->agent->ui.changes ? &job->change : NULL,
		.media = &job->media,
		.exit_code = &job->exit_code,
		.offers = on_offers,
		.output = on_output,
		.recall = on_recall,
		.delegate = job->batch->agent->delegate ? on_delegate : NULL,
		.shares_sandbox = agent_shares_sandbox(job->batch->agent),
		.arg = job,
		.redraw = job->batch->agent->ui.redraws ? on_redraw : NULL,
		.ask = job->batch->agent->ui.ask,
		.ask_arg = job->batch->agent->ui.arg,
		.web = job->batch->agent->web,
	};

	if (job->refused || job->unready)
		return NULL;
	job->rc =
		tool_call(&env, job->call, &job->out, &job->failed, &job->err);
	if (job->rc == 0)
		job->rc = hooked_after(
			job->batch->agent, job->call,
			&(struct hooked_result){ job->failed, &job->out },
			&job->hooked, job->batch->stop, &job->err);
	return NULL;
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

/* Before the result, also of a call that is cancelled before its turn: readers
 * of the events know a result by its call. */
static void announce(struct tool_job *job)
{
	if (job->announced)
		return;
	job->announced = true;
	toolrun_emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
							.call = job->call });
}

static void on_notice(void *arg, const char *line)
{
	struct batch *b = arg;
	struct buf masked = BUF_INIT(1 << 20);

	mask_text(b->agent->mask, str_of(line), &masked);
	toolrun_emit(b, &(struct agent_event){ .kind = EVENT_WARNING,
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

static void prepend_remark(struct tool_job *job)
{
	if (!job->remark.len || job->refused)
		return;
	buf_addstr(&job->remark, buf_str(&job->out));
	buf_release(&job->out);
	job->out = job->remark;
	job->remark = (struct buf){ 0 };
}

static size_t media_bytes(const struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->parts[i].n_bytes;
	return n;
}

/* Behind the result, the last part: as much as one message may have. */
static void attach_media(struct tool_job *job, struct message *results)
{
	for (size_t i = 0; i < job->media.n; i++) {
		struct part *p = &job->media.parts[i];

		if (media_bytes(results) + p->n_bytes <= MEDIA_MESSAGE_BYTES)
			message_move(results, p);
	}
	message_release(&job->media);
}

/* Said in the result of a file that cannot go with the others. */
static void check_media(const struct tool_job *job,
			const struct message *results, struct buf *out)
{
	if (job->media.n && media_bytes(results) + media_bytes(&job->media) >
				    MEDIA_MESSAGE_BYTES)
		buf_addf(out,
			 "\nNot shown: files of one answer's calls have at "
			 "most %d bytes. Read it by itself.",
			 MEDIA_MESSAGE_BYTES);
}

/* Whether it would write or run something counts, not whether it could. */
static void count_call(struct tool_job *job)
{
	struct agent *a = job->batch->agent;
	struct agent *root = a->parent ? a->parent : a;
	bool failed = job->failed || job->exit_code != 0;

	if (job->rc < 0)
		return; /* the turn ends with it */
	if (!job->malformed && toolrun_acts(job)) {
		root->acts++;
		root->refused_acts += job->refused;
	}
	repeats_count(&a->repeats, toolrun_tool(job), job->call,
		      job->malformed ? CALL_MALFORMED
		      : failed       ? CALL_FAILED
				     : CALL_DONE,
		      &job->out);
}

/* Which shell the sandbox has: once, in the first result after it has said so.
 */
static void add_facts(const struct tool_job *job, struct buf *out)
{
	struct agent *a = job->batch->agent;
	struct buf line = BUF_INIT(1 << 12);

	if (a->told_facts || job->refused || job->rc < 0 ||
	    atomic_load(&a->sandbox->facts_known) != FACTS_KNOWN)
		return;
	a->told_facts = true;
	buf_adds(&line, "\n[");
	facts_describe(&a->sandbox->facts, &line);
	buf_addc(&line, ']');
	mask_text(a->mask, buf_str(&line), out);
	buf_release(&line);
}

/* Where tools begin, if that is another place than the model was told before
 * there was a sandbox. */
static void add_start(const struct tool_job *job, struct buf *out)
{
	struct agent *a = job->batch->agent;
	struct buf line = BUF_INIT(1 << 14);

	if (!a->untold_dir || job->refused || job->rc < 0)
		return;
	a->untold_dir = false;
	buf_addf(&line,
		 "\n[The setup script of this sandbox has ended in %s: that is "
		 "the working directory, where commands and relative paths "
		 "start.]",
		 a->sandbox->workdir);
	mask_text(a->mask, buf_str(&line), out);
	buf_release(&line);
}

static int finish(struct tool_job *job, struct message *results,
		  struct error *err)
{
	struct part *p = message_add(results, PART_TOOL_RESULT);
	bool changed = job->change.known && !job->failed;
	struct str text;

	prepend_remark(job);
	check_media(job, results, &job->out);
	count_call(job);
	add_facts(job, &job->out);
	add_start(job, &job->out);
	text = buf_str(&job->out);
	tool_change_mask(&job->change, job->batch->agent->mask);
	p->id = xstrdup(job->call->id);
	p->name = xstrdup(job->call->name);
	p->failed = job->failed;
	announce(job);
	toolrun_emit(job->batch,
		     &(struct agent_event){ .kind = EVENT_TOOL_RESULT,
					    .call = job->call,
					    .text = text,
					    .failed = job->failed,
					    .declined = job->declined,
					    .change = changed ? &job->change
							      : NULL });
	p->text = buf_detach(&job->out);
	attach_media(job, results);
	free(job->real_path);
	cJSON_free(job->edited.args);
	buf_release(&job->remark);
	tool_change_release(&job->change);
	hooked_merge_end(job->batch->agent, &job->hooked.end);
	hooked_call_release(&job->hooked);
	if (job->rc < 0)
		*err = job->err;
	return job->rc;
}

/* How many jobs from the first on may run together. */
static size_t group_size(const struct tool_job *jobs, size_t n)
{
	static const struct {
		unsigned flag;
		size_t most;
	} kinds[] = { { TOOL_READS, MOST_AT_ONCE },
		      { TOOL_DELEGATES, MOST_SUBAGENTS } };
	size_t size = 1;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		while (toolrun_has_flag(&jobs[0], kinds[k].flag) && size < n &&
		       size < kinds[k].most &&
		       toolrun_has_flag(&jobs[size], kinds[k].flag))
			size++;
	return size;
}

/* Each call of a group is announced and approved by itself. */
static int approve_group(struct tool_job *jobs, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		announce(&jobs[i]);
		if (toolrun_approve(&jobs[i], err) < 0 ||
		    stop_check(jobs->batch->stop, err) < 0)
			return -1;
	}
	return 0;
}

static int prepare_group(struct tool_job *jobs, size_t n, struct error *err)
{
	const struct agent *a = jobs->batch->agent;
	struct buf remark = BUF_INIT(RESULT_RAW_BYTES);
	const struct part *calls[MOST_SUBAGENTS];
	size_t runs = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		if (!jobs[i].refused)
			calls[runs++] = jobs[i].call;
	if (!a->prepare || !runs)
		return 0;
	rc = a->prepare(a->prepare_arg, calls, runs, &remark, jobs->batch->stop,
			err);
	for (size_t i = 0; i < n; i++) {
		if (rc > 0 && !jobs[i].refused) {
			buf_addstr(&jobs[i].out, buf_str(&remark));
			jobs[i].failed = jobs[i].unready = true;
		} else {
			buf_addstr(&jobs[i].remark, buf_str(&remark));
		}
	}
	buf_release(&remark);
	return rc < 0 ? -1 : 0;
}

/* Who began the subagent checks for both: this is for one thread. */
static bool changes_files(const struct tool_job *job)
{
	const unsigned without = TOOL_READS | TOOL_SESSION | TOOL_FOREIGN;

	return !job->batch->agent->parent &&
	       (toolrun_has_flag(job, TOOL_DELEGATES) ||
		!toolrun_has_flag(job, without));
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
			rc = prepare_group(jobs + at, size, err);
		if (rc == 0)
			run_group(jobs + at, size);
		if (rc == 0 && changes_files(&jobs[at]))
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
	const struct part **calls = xcalloc(reply->n, sizeof(struct part *));
	size_t n = 0;
	int rc;

	pthread_mutex_init(&batch.events, NULL);
	results->role = ROLE_TOOL;
	for (size_t i = 0; i < reply->n; i++) {
		if (reply->parts[i].kind != PART_TOOL_CALL)
			continue;
		jobs[n].batch = &batch;
		jobs[n].call = calls[n] = &reply->parts[i];
		jobs[n].remark = BUF_INIT(MAX_RESULT);
		jobs[n].out = BUF_INIT(MAX_RESULT);
		jobs[n].number = n + 1;
		n++;
	}
	batch.calls = calls;
	batch.total = n;
	rc = n ? run_all(jobs, n, results, err) : 0;
	pthread_mutex_destroy(&batch.events);
	free(jobs);
	free(calls);
	return rc;
}
