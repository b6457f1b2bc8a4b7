/* job_log.c - the commands in the background of every thread. */
/* SPDX-License-Identifier: MIT */
#include "session/job_log.h"

#include <stdio.h>

#include "base/stop.h"
#include "session/process.h"
#include "session/session_impl.h"

enum {
	TOLD_S = 14 * 86400, /* rows that were told are kept so long, */
	MOST_S = 90 * 86400, /* all others so long */
};

static int trim(struct store *s, int64_t now, struct error *err)
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

	if (trim(s, now, err) < 0)
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
