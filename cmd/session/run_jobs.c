/* run_jobs.c - commands in the background, stored and found again. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cmd/session/jobs.h"
#include "cmd/session/run.h"
#include "sandbox/jobs/jobs.h"
#include "session/job_log.h"
#include "session/ledger.h"

enum { ASK_MS = 10000 };

static int add(void *arg, struct job_record *record, struct error *err)
{
	const struct run *r = arg;
	struct job_row row = { .thread = session_id(r->session),
			       .provider = r->host.provider->name,
			       .sandbox =
				       record->job[0] ? r->box.sandbox.id : "",
			       .job = record->job,
			       .command = record->command,
			       .number = record->number };
	struct store *store;

	if (app_store(r->app, &store, err) < 0 ||
	    job_log_add(store, &row, err) < 0)
		return -1;
	record->row = row.no;
	record->number = row.number;
	return 0;
}

/* Where that fails, the model is told something twice at the worst. */
static void update(void *arg, const struct job_record *record)
{
	const struct run *r = arg;
	const struct job_row row = { .no = record->row,
				     .read = record->read,
				     .started = record->started,
				     .told = record->told };
	struct error ignored = { 0 };
	struct store *store;

	if (app_store(r->app, &store, &ignored) == 0)
		(void)job_log_update(store, &row, &ignored);
}

struct finding {
	struct run *run;
	struct store *store;
	size_t asked; /* jobs that the sandbox is asked about */
};

static bool note_gone(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state == LEDGER_GONE;
	return false;
}

static bool is_here(const struct run *r, const struct job_row *row)
{
	return !strcmp(row->provider, r->host.provider->name) &&
	       !strcmp(row->sandbox, r->box.sandbox.id);
}

static void find(void *arg, const struct job_row *row)
{
	struct finding *f = arg;
	struct run *r = f->run;
	bool own = !strcmp(row->thread, session_id(r->session));
	/* Of a job of another thread nothing is stored here: what that one has
	 * read, and was told, is its own. */
	struct job_record record = { .row = own ? row->no : 0,
				     .number = row->number,
				     .job = row->job,
				     .command = row->command,
				     .read = row->read,
				     .started = row->started,
				     .starting = row->in_use,
				     .told = row->told || !own };
	struct error ignored = { 0 };
	bool gone = false;

	if (!row->job[0]) {
		if (!own || row->told)
			return;
		record.lost = "ended with dcode";
	} else if (!is_here(r, row)) {
		/* It may run on in a sandbox that this run does not use. */
		(void)ledger_find(f->store, row->sandbox, note_gone, &gone,
				  &ignored);
		if (!gone)
			return;
		record.lost = "ended with its sandbox";
	} else {
		f->asked++;
	}
	jobs_adopt(&r->box.sandbox, &record, r->app->mask);
}

static void say_running(void *arg, const struct job_state *s)
{
	struct buf line = BUF_INIT(1 << 16);

	(void)arg;
	if (s->running) {
		jobs_describe(s, &line);
		fprintf(stderr, "job %u is %s: %.200s\n", s->number, line.ptr,
			s->command);
	}
	buf_release(&line);
}

static void note_any(void *arg, const struct job_row *row)
{
	*(bool *)arg = *(bool *)arg || !row->told;
}

bool run_jobs_pending(struct run *r)
{
	const struct job_row of = { .thread = r->thread.id };
	struct error ignored = { 0 };
	struct store *store;
	bool any = false;

	if (r->thread.id && app_store(r->app, &store, &ignored) == 0)
		(void)job_log_each(store, &of, note_any, &any, &ignored);
	return any;
}

int run_jobs_open(struct run *r, struct error *err)
{
	const struct jobs_log log = { add, update, r };
	const struct job_row of = { .thread = session_id(r->session),
				    .provider = r->host.provider->name,
				    .sandbox = r->box.sandbox.id };
	struct finding f = { .run = r };

	jobs_set_log(&r->box.sandbox, &log);
	jobs_set_end(r->box.sandbox.jobs, r->on_job_end, r->ui.arg);
	if (!r->thread.id && !r->options.sandbox_id && !r->box.resumed)
		return 0;
	if (app_store(r->app, &f.store, err) < 0 ||
	    job_log_each(f.store, &of, find, &f, err) < 0)
		return -1;
	if (!f.asked)
		return 0;
	jobs_refresh(r->box.sandbox.jobs, ASK_MS);
	if (!r->options.quiet)
		jobs_each(r->box.sandbox.jobs, say_running, r);
	return 0;
}
