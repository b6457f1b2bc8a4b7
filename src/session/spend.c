/* spend.c - what a thread has cost, stored at the prices of its time. */
/* SPDX-License-Identifier: MIT */
#include "session/spend.h"

#include "session/session_impl.h"

struct adding {
	struct store *store;
	int64_t thread;
	struct error *err;
};

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
