/* records.c - tables next to the threads: spend, jobs, labels, consents. */
/* SPDX-License-Identifier: MIT */

/*
 * Small tables for other parts of the program: the costs of a thread's
 * requests, its jobs in sandboxes, the sandboxes that it used (by ledger
 * label), and the user's consents for a directory.
 */
#include "session/records.h"

#include <stdio.h>

#include "base/stop.h"
#include "session/session.h"
#include "session/sql.h"

struct adding {
	struct store *store;
	int64_t thread;
	struct error *err;
};

/* Adds what the meter counted for one model or sandbox to the thread's row in
 * the table spend. */
static int add_line(void *arg, const struct meter_line *l)
{
	struct adding *a = arg;
	sqlite3_stmt *st = store_sql(a->store, SQL_SPEND_ADD, a->err);
	const int64_t numbers[] = {
		l->sandbox,
		l->priced,
		l->usage.input,
		l->usage.output,
		l->usage.cache_read,
		l->usage.cache_write,
		l->calls,
		l->cut,
		l->ms,
		l->cost,
		l->unclear,
	};

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, a->thread);
	store_bind(st, 2, l->name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sqlite3_bind_int64(st, (int)i + 3, numbers[i]);
	return store_run(a->store, st, a->err);
}

int spend_store(struct session *s, struct meter *m, struct error *err)
{
	struct adding a = { .err = err };

	if (!m || !session_is_stored(s))
		return 0;
	a.thread = session_row(s, &a.store);
	return meter_each_new(m, add_line, &a);
}

int spend_each(struct store *s, int64_t thread,
	       void (*each)(void *arg, const struct meter_line *line),
	       void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SPEND_EACH, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, thread);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const struct meter_line l = {
			.name = store_text(st, 0),
			.sandbox = sqlite3_column_int(st, 1) != 0,
			.priced = sqlite3_column_int(st, 2) != 0,
			.usage = { sqlite3_column_int64(st, 3),
				   sqlite3_column_int64(st, 4),
				   sqlite3_column_int64(st, 5),
				   sqlite3_column_int64(st, 6), 0 },
			.calls = sqlite3_column_int64(st, 7),
			.cut = sqlite3_column_int64(st, 8),
			.ms = sqlite3_column_int64(st, 9),
			.cost = sqlite3_column_int64(st, 10),
			.unclear = sqlite3_column_int64(st, 11),
		};

		each(arg, &l);
	}
	return store_finish(s, st, rc, err);
}

enum {
	/* lifetime of a job's row if the model was told of its end */
	TOLD_S = 14 * 86400,
	MOST_S = 90 * 86400, /* lifetime of all other rows */
};

static int delete_expired(struct store *s, int64_t now, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_JOB_TRIM, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, now - TOLD_S);
	sqlite3_bind_int64(st, 2, now - MOST_S);
	return store_run(s, st, err);
}

int job_log_add(struct store *s, struct job_row *row, struct error *err)
{
	int64_t now = clock_unix_ms() / 1000;
	sqlite3_stmt *st;
	int rc;

	if (delete_expired(s, now, err) < 0)
		return -1;
	st = store_sql(s, SQL_JOB_ADD, err);
	if (!st)
		return -1;
	store_bind(st, 1, row->thread);
	store_bind(st, 2, row->provider);
	store_bind(st, 3, row->sandbox);
	store_bind(st, 4, row->job);
	store_bind(st, 5, row->command);
	sqlite3_bind_int64(st, 6, now);
	sqlite3_bind_int64(st, 7, row->number);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		row->no = sqlite3_column_int64(st, 0);
		row->number = (unsigned)sqlite3_column_int64(st, 1);
	}
	return store_finish(s, st, rc, err);
}

int job_log_update(struct store *s, const struct job_row *row,
		   struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_JOB_UPDATE, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, row->no);
	sqlite3_bind_int64(st, 2, row->read);
	sqlite3_bind_int(st, 3, row->started);
	sqlite3_bind_int(st, 4, row->told);
	return store_run(s, st, err);
}

static bool is_in_use(sqlite3_stmt *st, const struct process *self)
{
	struct process owner = { .pid = sqlite3_column_int64(st, 10),
				 .started = sqlite3_column_int64(st, 11) };

	if (!owner.pid ||
	    (owner.pid == self->pid && owner.started == self->started))
		return false;
	snprintf(owner.place, sizeof(owner.place), "%s", store_text(st, 12));
	return process_lives(&owner, self);
}

int job_log_each(struct store *s, const struct job_row *of,
		 void (*each)(void *arg, const struct job_row *row), void *arg,
		 struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_JOB_EACH, err);
	struct process self = { 0 };
	int rc;

	if (!st)
		return -1;
	process_self(&self);
	store_bind(st, 1, of->provider);
	store_bind(st, 2, of->sandbox);
	store_bind(st, 3, of->thread);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const struct job_row row = {
			.no = sqlite3_column_int64(st, 0),
			.thread = store_text(st, 1),
			.provider = store_text(st, 2),
			.sandbox = store_text(st, 3),
			.job = store_text(st, 4),
			.command = store_text(st, 5),
			.number = (unsigned)sqlite3_column_int64(st, 6),
			.read = sqlite3_column_int64(st, 7),
			.started = sqlite3_column_int(st, 8) != 0,
			.told = sqlite3_column_int(st, 9) != 0,
			.in_use = is_in_use(st, &self),
		};

		each(arg, &row);
	}
	return store_finish(s, st, rc, err);
}

int thread_label_each(struct store *s, int64_t no, const char *label,
		      bool (*each)(void *arg, const struct thread_label *l),
		      void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LABEL_EACH, err);
	bool more = true;
	int rc = SQLITE_DONE;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	store_bind(st, 2, label);
	while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const struct thread_label l = {
			.label = store_text(st, 0),
			.provider = store_text(st, 1),
			.cwd = store_text(st, 2),
			.branch = store_text(st, 3),
			.thread = store_text(st, 4),
		};

		more = each(arg, &l);
	}
	return store_finish(s, st, rc, err);
}

int consent_get(struct store *s, const char *root, const char *provider,
		bool *asked, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONSENT_GET, err);
	int allowed = 0;
	int rc;

	if (!st)
		return -1;
	store_bind(st, 1, root);
	store_bind(st, 2, provider);
	rc = sqlite3_step(st);
	*asked = rc == SQLITE_ROW;
	if (*asked)
		allowed = sqlite3_column_int(st, 0) != 0;
	return store_finish(s, st, rc, err) < 0 ? -1 : allowed;
}

int consent_set(struct store *s, const char *root, const char *provider,
		bool allowed, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONSENT_SET, err);

	if (!st)
		return -1;
	store_bind(st, 1, root);
	store_bind(st, 2, provider);
	sqlite3_bind_int(st, 3, allowed);
	return store_run(s, st, err);
}
