/* thread_label.c - the sandboxes that a thread has had, by their labels. */
/* SPDX-License-Identifier: MIT */
#include "session/thread_label.h"

#include "session/session_impl.h"

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
