/* thread_lock.c - a thread belongs to one living process at a time. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "session/process.h"
#include "session/session_impl.h"

static int read_owner(struct store *s, int64_t no, struct process *owner,
		      struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_OWNER, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	rc = sqlite3_step(st);
	owner->pid = sqlite3_column_int64(st, 0);
	owner->started = sqlite3_column_int64(st, 1);
	snprintf(owner->place, sizeof(owner->place), "%s", store_text(st, 2));
	if (store_finish(s, st, rc, err) < 0)
		return -1;
	if (rc != SQLITE_ROW)
		return error_set(err, ERR_NOT_FOUND,
				 "the thread has been deleted");
	return 0;
}

static int check(struct store *s, int64_t no, const struct process *self,
		 int64_t *pid, struct error *err)
{
	struct process owner = { 0 };

	*pid = 0;
	if (read_owner(s, no, &owner, err) < 0)
		return -1;
	if (!owner.pid || !process_lives(&owner, self) ||
	    (owner.pid == self->pid && owner.started == self->started))
		return 0;
	*pid = owner.pid;
	return error_set(err, ERR_BUSY,
			 "another dcode (pid %" PRId64 ") is using the thread",
			 owner.pid);
}

int thread_check_unused(struct store *s, int64_t no, int64_t *pid,
			struct error *err)
{
	struct process self = { 0 };

	process_self(&self);
	return check(s, no, &self, pid, err);
}

static int set_owner(struct store *s, int64_t no, const struct process *self,
		     struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_LOCK, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	sqlite3_bind_int64(st, 2, self->pid);
	sqlite3_bind_int64(st, 3, self->started);
	store_bind(st, 4, self->place);
	return store_run(s, st, err);
}

int thread_lock(struct store *s, int64_t no, int64_t *pid, struct error *err)
{
	struct process self = { 0 };

	*pid = 0;
	process_self(&self);
	if (store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	if (check(s, no, &self, pid, err) == 0 &&
	    set_owner(s, no, &self, err) == 0 &&
	    store_run_plain(s, SQL_COMMIT, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

void thread_unlock(struct store *s, int64_t no)
{
	struct error ignored = { 0 };
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_UNLOCK, &ignored);
	struct process self = { 0 };

	if (!st)
		return;
	process_self(&self);
	sqlite3_bind_int64(st, 1, no);
	sqlite3_bind_int64(st, 2, self.pid);
	sqlite3_bind_int64(st, 3, self.started);
	(void)store_run(s, st, &ignored); /* else it ends with the process */
}
