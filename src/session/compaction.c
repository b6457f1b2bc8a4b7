/* compaction.c - what a model goes on with in place of older messages. */
/* SPDX-License-Identifier: MIT */
#include "session/compaction.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
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

int compaction_list(struct store *s, int64_t no, struct compaction_marks *out,
		    struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_COMPACTION_LIST, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		/* grows at powers of two, so that no capacity need be kept */
		if (!(out->n & (out->n - 1)))
			out->list = xrealloc(out->list, out->n ? out->n * 2 : 1,
					     sizeof(*out->list));
		out->list[out->n++] = (struct compaction_mark){
			.after = sqlite3_column_int64(st, 0),
			.created = sqlite3_column_int64(st, 1),
		};
	}
	return store_finish(s, st, rc, err);
}

const struct compaction_mark *compaction_next(struct compaction_marks *m,
					      int64_t messages)
{
	if (m->at == m->n || m->list[m->at].after > messages)
		return NULL;
	return &m->list[m->at++];
}

void compaction_marks_json(const struct compaction_marks *m, struct buf *out)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < m->n; i++)
		buf_addf(out,
			 "%s{\"after\":%" PRId64 ",\"created\":%" PRId64 "}",
			 i ? "," : "", m->list[i].after, m->list[i].created);
	buf_addc(out, ']');
}

void compaction_marks_release(struct compaction_marks *m)
{
	free(m->list);
	*m = (struct compaction_marks){ 0 };
}
