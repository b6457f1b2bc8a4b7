/* sql.h - the database behind store.h, for the files of src/session. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_SQL_H
#define SESSION_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/error.h"

struct process {
	int64_t pid;
	int64_t started; /* clock ticks after boot; proc_pid_stat(5) field 22 */
	/* Boot id, PID namespace and machine id, separated by blanks; "-" for
	 * what cannot be read. */
	char place[160];
};

/* The calling process. */
void process_self(struct process *p);
/*
 * Whether p still runs, as far as self can tell. Another boot of this machine
 * is over. In another PID namespace or on another machine nothing can be seen,
 * so it counts as running.
 */
bool process_lives(const struct process *p, const struct process *self);

enum statement { /* prepared when first used, kept until store_close() */
		 SQL_BEGIN,
		 SQL_COMMIT,
		 SQL_ROLLBACK,
		 SQL_OWNER,
		 SQL_START_DIR,
		 SQL_SET_START_DIR,
		 SQL_DROP_START_DIR,
		 SQL_SIZE,
		 SQL_THREAD_ADD,
		 SQL_THREAD_IMPORT,
		 SQL_THREAD_SET,
		 SQL_THREAD_PLACE,
		 SQL_THREAD_LIST,
		 SQL_THREAD_FIND,
		 SQL_THREAD_LATEST,
		 SQL_THREAD_TITLE,
		 SQL_THREAD_OWNER,
		 SQL_THREAD_LOCK,
		 SQL_THREAD_UNLOCK,
		 SQL_THREAD_DELETE,
		 SQL_MESSAGE_DELETE,
		 SQL_MESSAGE_COPY,
		 SQL_MESSAGE_EACH,
		 SQL_MESSAGE_ADD,
		 SQL_DRAFT_SET,
		 SQL_DRAFT_UNCOUNT,
		 SQL_DRAFT_DROP,
		 SQL_COMPACTION_ADD,
		 SQL_COMPACTION_CLEAR,
		 SQL_COMPACTION_COPY,
		 SQL_COMPACTION_GET,
		 SQL_COMPACTION_LIST,
		 SQL_LEDGER_ADD,
		 SQL_LEDGER_CREATED,
		 SQL_LEDGER_STATE,
		 SQL_LEDGER_NOTE,
		 SQL_LEDGER_KEEP,
		 SQL_LEDGER_KEPT,
		 SQL_LEDGER_CLAIM,
		 SQL_LEDGER_CLAIM_REMOVAL,
		 SQL_LEDGER_EACH,
		 SQL_LEDGER_FIND,
		 SQL_ATTACHED_ADD,
		 SQL_ATTACHED_TRIM,
		 SQL_ATTACHED_FIND,
		 SQL_CONSENT_GET,
		 SQL_CONSENT_SET,
		 SQL_LABEL_EACH,
		 SQL_SPEND_ADD,
		 SQL_SPEND_EACH,
		 SQL_LEDGER_PRICE,
		 SQL_JOB_ADD,
		 SQL_JOB_UPDATE,
		 SQL_JOB_EACH,
		 SQL_JOB_TRIM,
		 SQL_COUNT
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_COUNT];
	char owner[40];
	int code; /* sqlite's, of the last failure */
	char *path;
	void (*warn)(const char *line);
	int64_t capacity;    /* bytes, 0: no cap */
	int64_t unread_room; /* bytes that may come before the size is read */
	bool prunes;         /* old threads are deleted where it is reached */
	bool warned_of_size, warned_of_pruning;
	int depth; /* of store_begin() */
};

extern const char *const store_texts[SQL_COUNT];

struct session;

/* Ready to bind; NULL with err filled when it cannot be prepared. */
sqlite3_stmt *store_sql(struct store *s, enum statement which,
			struct error *err);
/* Steps a statement that gives no rows, and resets it. */
int store_run(struct store *s, sqlite3_stmt *st, struct error *err);
/* The same, and on return it is on the disk, fsync and all. */
int store_run_durably(struct store *s, sqlite3_stmt *st, struct error *err);
/* Runs a statement without parameters. */
int store_run_plain(struct store *s, enum statement which, struct error *err);
/* A transaction; within another one it is part of that. */
int store_begin(struct store *s, struct error *err);
/* -1 also where a part of it has failed: nothing of it is stored then. */
int store_commit(struct store *s, struct error *err);
/* Ends a transaction that failed, if one is open. */
void store_rollback(struct store *s);
/* Resets a statement that gave rows. rc: of the last sqlite3_step(). */
int store_finish(struct store *s, sqlite3_stmt *st, int rc, struct error *err);
/* Binds a text that outlives the step; NULL as "". */
void store_bind(sqlite3_stmt *st, int at, const char *text);
/* Text of a column; "" for NULL. Borrowed until the next step. */
const char *store_text(sqlite3_stmt *st, int column);

/* session.c: the row of a stored thread, and where it is. */
int64_t session_row(const struct session *s, struct store **store);
/* capacity.c: ERR_LIMIT where so many bytes more are too many; a warning from
 * 80 % on, once. */
int store_check_capacity(struct store *s, size_t more, struct error *err);
/* thread_lock.c: the thread no belongs to this process from now on. ERR_BUSY
 * when a living one has it, *pid then says which. */
int thread_lock(struct store *s, int64_t no, int64_t *pid, struct error *err);
void thread_unlock(struct store *s, int64_t no);

#endif
