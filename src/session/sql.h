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
	/* Boot id, PID namespace and machine id, separated by blanks; "-" if
	 * unreadable. */
	char place[160];
};

/* Describes the calling process. */
void process_self(struct process *p);
/*
 * True if p is still running, as far as self can tell. Processes of an earlier
 * boot of this machine are not. Those in another PID namespace or on another
 * machine cannot be checked and count as running.
 */
bool process_lives(const struct process *p, const struct process *self);

enum statement { /* prepared on first use, kept until store_close() */
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
		 SQL_THREAD_BRANCH,
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
		 SQL_MESSAGE_PROMPTS,
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
		 SQL_LEDGER_GONE,
		 SQL_LEDGER_NOTE,
		 SQL_LEDGER_OBJECTS,
		 SQL_LEDGER_HOST,
		 SQL_LEDGER_SCOPE,
		 SQL_LEDGER_NETWORK,
		 SQL_LEDGER_KEEP,
		 SQL_LEDGER_KEPT,
		 SQL_LEDGER_CLAIM,
		 SQL_LEDGER_CLAIM_REMOVAL,
		 SQL_LEDGER_EACH,
		 SQL_LEDGER_FIND,
		 SQL_SETUP_KEY,
		 SQL_SETUP_KEY_ADD,
		 SQL_SNAPSHOT_ADD,
		 SQL_SNAPSHOT_CLAIM,
		 SQL_SNAPSHOT_SETTLE,
		 SQL_SNAPSHOT_RELEASE,
		 SQL_SNAPSHOT_USED,
		 SQL_SNAPSHOT_DROP,
		 SQL_SNAPSHOT_EACH,
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
		 SQL_CONTACT_ADD,
		 SQL_CONTACT_TRIM,
		 SQL_CONTACT_EACH,
		 SQL_COUNT
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_COUNT];
	char owner[40];
	int code; /* sqlite's code of the last failure */
	char *path;
	void (*warn)(const char *line);
	int64_t capacity; /* bytes, 0: unlimited */
	/* bytes that may be added before the size is read again */
	int64_t unread_room;
	/* delete old threads when the capacity is reached */
	bool prunes;
	bool warned_of_size, warned_of_pruning;
	int depth; /* nesting of store_begin() */
	/* Statements so far. sqlite is not built with ThreadSanitizer, which
	 * sees by this write that two threads use one connection. */
	unsigned used;
};

extern const char *const store_texts[SQL_COUNT];

struct session;

/* Returns a statement that is ready to bind; NULL with err if it cannot be
 * prepared. */
sqlite3_stmt *store_sql(struct store *s, enum statement which,
			struct error *err);
/* Executes a statement that returns no rows, and resets it. */
int store_run(struct store *s, sqlite3_stmt *st, struct error *err);
/* Like store_run(), but the change is on disk (fsync) on return. */
int store_run_durably(struct store *s, sqlite3_stmt *st, struct error *err);
/* Executes a statement without parameters. */
int store_run_plain(struct store *s, enum statement which, struct error *err);
/* Begins a transaction, or joins the one that is open. */
int store_begin(struct store *s, struct error *err);
/* Commits. -1 also if a part of the transaction has failed: then nothing is
 * stored. */
int store_commit(struct store *s, struct error *err);
/* Rolls back the open transaction, if any. */
void store_rollback(struct store *s);
/* Resets a statement that returned rows. rc: result of the last
 * sqlite3_step(). */
int store_finish(struct store *s, sqlite3_stmt *st, int rc, struct error *err);
/* Binds a string, which must stay valid until the step; NULL as "". */
void store_bind(sqlite3_stmt *st, int at, const char *text);
/* Returns the text of a column; "" for NULL. Borrowed until the next step. */
const char *store_text(sqlite3_stmt *st, int column);

/* session.c: returns the row ID of a stored thread, 0 if it is not stored.
 * *store: the database of the thread. */
int64_t session_row(const struct session *s, struct store **store);
/* thread.c: ERR_LIMIT if more bytes would exceed the capacity. Warns once above
 * 80 %. */
int store_check_capacity(struct store *s, size_t more, struct error *err);
/* thread.c: locks the thread with row ID no for this process. ERR_BUSY if a
 * running process has locked it; *pid is that process. */
int thread_lock(struct store *s, int64_t no, int64_t *pid, struct error *err);
void thread_unlock(struct store *s, int64_t no);

#endif
