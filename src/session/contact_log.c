/* contact_log.c - the log of what a thread's commands have connected to. */
/* SPDX-License-Identifier: MIT */
#include "session/contact_log.h"

#include "base/stop.h"
#include "session/sql.h"
#include "session/store.h"

enum { UNSTORED_MS = 14 * 86400 * 1000LL }; /* lifetime without a thread */

static int add_row(struct store *s, const struct contact_row *row,
		   struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONTACT_ADD, err);

	if (!st)
		return -1;
	store_bind(st, 1, row->thread);
	store_bind(st, 2, row->provider);
	store_bind(st, 3, row->sandbox);
	store_bind(st, 4, row->call);
	store_bind(st, 5, row->host);
	sqlite3_bind_int64(st, 6, row->port);
	store_bind(st, 7, row->verdict);
	store_bind(st, 8, row->command);
	sqlite3_bind_int64(st, 9, row->up);
	sqlite3_bind_int64(st, 10, row->down);
	sqlite3_bind_int64(st, 11, row->times);
	sqlite3_bind_int64(st, 12, row->first);
	sqlite3_bind_int64(st, 13, row->last);
	return store_run(s, st, err);
}

static int delete_oldest(struct store *s, const char *thread, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONTACT_TRIM, err);

	if (!st)
		return -1;
	store_bind(st, 1, thread);
	sqlite3_bind_int64(st, 2, CONTACT_ROWS - 1);
	sqlite3_bind_int64(st, 3, clock_unix_ms() - UNSTORED_MS);
	return store_run(s, st, err);
}

int contact_log_add(struct store *s, const struct contact_row *rows, size_t n,
		    struct error *err)
{
	int rc;

	if (!n)
		return 0;
	if (store_ready(s, err) < 0 || store_begin(s, err) < 0)
		return -1;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_row(s, &rows[i], err);
	if (rc == 0)
		rc = delete_oldest(s, rows[0].thread, err);
	if (rc == 0)
		return store_commit(s, err);
	store_rollback(s);
	return -1;
}

int contact_log_each(struct store *s, const char *thread, const char *sandbox,
		     void (*each)(void *arg, const struct contact_row *row),
		     void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONTACT_EACH, err);
	int rc;

	if (!st)
		return -1;
	store_bind(st, 1, thread);
	store_bind(st, 2, sandbox);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const struct contact_row row = {
			.thread = store_text(st, 0),
			.provider = store_text(st, 1),
			.sandbox = store_text(st, 2),
			.call = store_text(st, 3),
			.host = store_text(st, 4),
			.port = (unsigned)sqlite3_column_int(st, 5),
			.verdict = store_text(st, 6),
			.command = store_text(st, 7),
			.up = sqlite3_column_int64(st, 8),
			.down = sqlite3_column_int64(st, 9),
			.times = sqlite3_column_int64(st, 10),
			.first = sqlite3_column_int64(st, 11),
			.last = sqlite3_column_int64(st, 12),
		};

		each(arg, &row);
	}
	return store_finish(s, st, rc, err);
}
