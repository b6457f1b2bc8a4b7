/* compaction.c - what a model goes on with in place of older messages. */
/* SPDX-License-Identifier: MIT */
#include "session/compaction.h"

#include "base/str.h"
#include "session/session_impl.h"

int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_COMPACTION_GET, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		each(arg, str_of(store_text(st, 1)),
		     sqlite3_column_int64(st, 0));
	return store_finish(s, st, rc, err);
}
