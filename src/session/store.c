/* store.c - the database of threads and ledger. */
/* SPDX-License-Identifier: MIT */

/*
 * One sqlite database contains the threads and the ledger. This file opens it,
 * upgrades an older one (migrations[], each applied once), moves a damaged one
 * aside, and contains all SQL statements of this directory (store_texts[]). The
 * other files bind and step them with store_sql() and store_run(). A power
 * failure may lose a message, but not what store_run_durably() writes; the
 * ledger uses that. The end of the file distinguishes a running process from
 * one that reuses its process id.
 */
#include "session/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "session/sql.h"

/* SQL that is true for the stored form of a prompt (message_to_json()). */
#define IS_PROMPT(body) "(substr(" body ", 1, 14) = '{\"role\":\"user\"')"

/* PRAGMA user_version is the number of migrations that were applied. */
static const char *const migrations[] = {
	"CREATE TABLE meta ("
	" key TEXT PRIMARY KEY,"
	" value TEXT NOT NULL"
	") WITHOUT ROWID;"

	"CREATE TABLE thread ("
	" no INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE,"  /* UUIDv7 */
	" created INTEGER NOT NULL," /* Unix ms */
	" model TEXT NOT NULL,"
	" sandbox TEXT NOT NULL,"
	" cwd TEXT NOT NULL"
	");"

	/* Append only: rows of a thread are ordered by no. */
	"CREATE TABLE message ("
	" no INTEGER PRIMARY KEY,"
	" thread INTEGER NOT NULL REFERENCES thread(no),"
	" created INTEGER NOT NULL," /* Unix ms */
	" input INTEGER NOT NULL,"   /* tokens: struct usage */
	" output INTEGER NOT NULL,"
	" cache_read INTEGER NOT NULL,"
	" cache_write INTEGER NOT NULL,"
	" body TEXT NOT NULL" /* message_to_json() */
	");"
	"CREATE INDEX message_thread ON message(thread);"

	"CREATE TABLE ledger ("
	" no INTEGER PRIMARY KEY,"
	" label TEXT NOT NULL UNIQUE,"
	" provider TEXT NOT NULL,"
	" endpoint TEXT NOT NULL,"
	" id TEXT NOT NULL DEFAULT '',"
	" state INTEGER NOT NULL,"   /* enum ledger_state */
	" created INTEGER NOT NULL," /* Unix seconds */
	" ends INTEGER NOT NULL,"    /* the same, 0: unknown */
	" changed INTEGER NOT NULL," /* the same */
	" pid INTEGER NOT NULL,"
	/* start time of pid: proc_pid_stat(5) 22 */
	" started INTEGER NOT NULL,"
	" place TEXT NOT NULL," /* struct process */
	" note TEXT NOT NULL DEFAULT ''"
	");"
	"CREATE INDEX ledger_state ON ledger(state);",

	/* One row for each use of a sandbox that dcode did not create. */
	"CREATE TABLE attached ("
	" no INTEGER PRIMARY KEY,"
	" provider TEXT NOT NULL,"
	" endpoint TEXT NOT NULL,"
	" id TEXT NOT NULL,"
	" name TEXT NOT NULL," /* what the user typed */
	" pid INTEGER NOT NULL,"
	" started INTEGER NOT NULL,"
	" place TEXT NOT NULL"
	");",

	/* sandbox is the id. label is the ledger's label if dcode created the
	 * sandbox for the thread. pid, started and place describe the process
	 * that uses the thread (struct process). */
	"ALTER TABLE thread ADD COLUMN title TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN provider TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN label TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN branch TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN input INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN output INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN started INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE thread ADD COLUMN place TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;"
	"UPDATE thread SET"
	" updated = coalesce((SELECT max(m.created) FROM message m"
	"  WHERE m.thread = thread.no), created),"
	" messages = (SELECT count(*) FROM message m"
	"  WHERE m.thread = thread.no),"
	" input = (SELECT total(m.input + m.cache_read + m.cache_write)"
	"  FROM message m WHERE m.thread = thread.no),"
	" output = (SELECT total(m.output) FROM message m"
	"  WHERE m.thread = thread.no),"
	" title = coalesce((SELECT CASE WHEN json_valid(m.body) THEN"
	"  substr(json_extract(m.body, '$.parts[0].text'), 1, 72) END"
	"  FROM message m WHERE m.thread = thread.no"
	"  ORDER BY m.no LIMIT 1), '');"
	"CREATE TRIGGER message_added AFTER INSERT ON message BEGIN"
	" UPDATE thread SET updated = max(updated, NEW.created),"
	"  messages = messages + 1,"
	"  input = input + NEW.input + NEW.cache_read + NEW.cache_write,"
	"  output = output + NEW.output WHERE no = NEW.thread;"
	"END;",

	/* Sandboxes that outlive the process that created them. */
	("ALTER TABLE ledger ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE ledger ADD COLUMN thread TEXT NOT NULL DEFAULT '';"),

	/* origin: the id of an imported thread where it was exported. */
	"ALTER TABLE thread ADD COLUMN origin TEXT NOT NULL DEFAULT '';",

	/* allowed: files below root may be sent to sandboxes of provider. */
	"CREATE TABLE consent ("
	" root TEXT NOT NULL,"
	" provider TEXT NOT NULL,"
	" allowed INTEGER NOT NULL,"
	" PRIMARY KEY (root, provider)"
	") WITHOUT ROWID;",

	/* Every sandbox that dcode created for a thread; the highest no is the
	 * last one. Saved work is filed under its label. */
	("CREATE TABLE thread_label ("
	 " no INTEGER PRIMARY KEY,"
	 " thread INTEGER NOT NULL REFERENCES thread(no),"
	 " label TEXT NOT NULL UNIQUE,"
	 " provider TEXT NOT NULL,"
	 " cwd TEXT NOT NULL,"
	 " branch TEXT NOT NULL"
	 ");"
	 "CREATE INDEX thread_label_thread ON thread_label(thread);"
	 "INSERT OR REPLACE INTO thread_label(thread, label, provider, cwd,"
	 " branch) SELECT no, label, provider, cwd, branch FROM thread"
	 " WHERE label<>'' ORDER BY updated;"
	 "CREATE TRIGGER thread_label_added AFTER INSERT ON thread"
	 " WHEN NEW.label<>'' BEGIN"
	 " INSERT OR REPLACE INTO thread_label(thread, label, provider, cwd,"
	 "  branch) VALUES(NEW.no, NEW.label, NEW.provider, NEW.cwd,"
	 "  NEW.branch);"
	 "END;"
	 "CREATE TRIGGER thread_label_changed"
	 " AFTER UPDATE OF label, provider, cwd, branch ON thread"
	 " WHEN NEW.label<>'' BEGIN"
	 " INSERT OR REPLACE INTO thread_label(thread, label, provider, cwd,"
	 "  branch) VALUES(NEW.no, NEW.label, NEW.provider, NEW.cwd,"
	 "  NEW.branch);"
	 "END;"
	 "CREATE TRIGGER thread_label_removed BEFORE DELETE ON thread BEGIN"
	 " DELETE FROM thread_label WHERE thread=OLD.no;"
	 "END;"),

	/* The costs of a thread at the prices of that time: one row per model
	 * and sandbox (struct meter_line). A copied thread starts without
	 * costs. */
	("CREATE TABLE spend ("
	 " thread INTEGER NOT NULL REFERENCES thread(no),"
	 " name TEXT NOT NULL," /* "anthropic:claude-opus-5", "e2b" */
	 " sandbox INTEGER NOT NULL,"
	 " priced INTEGER NOT NULL," /* 0: the price of a part is unknown */
	 " input INTEGER NOT NULL,"  /* tokens: struct usage */
	 " output INTEGER NOT NULL,"
	 " cache_read INTEGER NOT NULL,"
	 " cache_write INTEGER NOT NULL,"
	 " calls INTEGER NOT NULL,"
	 " cut INTEGER NOT NULL,"
	 " ms INTEGER NOT NULL,"
	 " cost INTEGER NOT NULL,"    /* trillionths of a US dollar */
	 " unclear INTEGER NOT NULL," /* the same */
	 " PRIMARY KEY (thread, name, sandbox)"
	 ") WITHOUT ROWID;"
	 "CREATE TRIGGER spend_removed BEFORE DELETE ON thread BEGIN"
	 " DELETE FROM spend WHERE thread=OLD.no;"
	 "END;"),

	/* What a model reads instead of the first messages of a thread, which
	 * are kept. The highest no is used; older rows lose their body. */
	("CREATE TABLE compaction ("
	 " no INTEGER PRIMARY KEY,"
	 " thread INTEGER NOT NULL REFERENCES thread(no),"
	 " created INTEGER NOT NULL," /* Unix ms */
	 " after INTEGER NOT NULL,"   /* number of messages replaced */
	 " input INTEGER NOT NULL,"   /* tokens used to make it: struct usage */
	 " output INTEGER NOT NULL,"
	 " cache_read INTEGER NOT NULL,"
	 " cache_write INTEGER NOT NULL,"
	 " body TEXT NOT NULL" /* compaction_to_json() */
	 ");"
	 "CREATE INDEX compaction_thread ON compaction(thread);"
	 "CREATE TRIGGER compaction_added AFTER INSERT ON compaction BEGIN"
	 " UPDATE thread SET"
	 "  input = input + NEW.input + NEW.cache_read + NEW.cache_write,"
	 "  output = output + NEW.output WHERE no = NEW.thread;"
	 "END;"
	 "CREATE TRIGGER compaction_removed BEFORE DELETE ON thread BEGIN"
	 " DELETE FROM compaction WHERE thread=OLD.no;"
	 "END;"),

	/* usd_s: price of a sandbox that is kept running, in trillionths of a
	 * US dollar per second; -1: unknown. When such a row changes while no
	 * process uses it (pid), the time since then, at most until its end, is
	 * charged to its thread. 2 and 5: LEDGER_LIVE, LEDGER_STOPPING. */
	("ALTER TABLE ledger ADD COLUMN usd_s INTEGER NOT NULL DEFAULT -1;"
	 "CREATE TRIGGER ledger_kept_cost BEFORE UPDATE OF changed ON ledger"
	 " WHEN OLD.kept AND OLD.pid=0 AND OLD.state IN (2, 5) BEGIN"
	 " INSERT INTO spend(thread, name, sandbox, priced, input, output,"
	 "  cache_read, cache_write, calls, cut, ms, cost, unclear)"
	 "  SELECT t.no, OLD.provider, 1, OLD.usd_s>=0, 0, 0, 0, 0, 0, 0,"
	 "  1000*k.s, CAST(min(1.0*k.s*max(OLD.usd_s, 0), 9e17) AS INTEGER),"
	 "  0 FROM (SELECT CASE WHEN OLD.ends>0"
	 "  THEN min(OLD.ends, NEW.changed) ELSE NEW.changed END"
	 "  - OLD.changed AS s) k JOIN thread t ON t.id=OLD.thread"
	 "  WHERE k.s>0 ON CONFLICT(thread, name, sandbox) DO UPDATE SET"
	 "  priced=min(priced, excluded.priced), ms=ms+excluded.ms,"
	 "  cost=cost+excluded.cost;"
	 "END;"),

	/* agent: whose memory the thread uses. */
	"ALTER TABLE thread ADD COLUMN agent TEXT NOT NULL DEFAULT '';",

	/* Commands in the background: struct job_row. */
	("CREATE TABLE job ("
	 " no INTEGER PRIMARY KEY,"
	 /* id of the thread, which may not be stored yet */
	 " thread TEXT NOT NULL,"
	 " provider TEXT NOT NULL,"
	 " sandbox TEXT NOT NULL,"
	 " job TEXT NOT NULL,"
	 " command TEXT NOT NULL,"
	 " begun INTEGER NOT NULL," /* Unix seconds */
	 " number INTEGER NOT NULL,"
	 " read INTEGER NOT NULL DEFAULT 0,"
	 " started INTEGER NOT NULL DEFAULT 0,"
	 " told INTEGER NOT NULL DEFAULT 0"
	 ");"
	 "CREATE TRIGGER job_removed BEFORE DELETE ON thread BEGIN"
	 " DELETE FROM job WHERE thread=OLD.id;"
	 "END;"),

	/* turns: how many of the messages are prompts. headless: only runs
	 * without a chat (-n) have used the thread. */
	("ALTER TABLE thread ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE thread ADD COLUMN headless INTEGER NOT NULL DEFAULT 0;"
	 "UPDATE thread SET turns = (SELECT count(*) FROM message m"
	 " WHERE m.thread = thread.no AND " IS_PROMPT(
		 "m.body") ");"
			   "DROP TRIGGER message_added;"
			   "CREATE TRIGGER message_added AFTER INSERT ON "
			   "message BEGIN"
			   " UPDATE thread SET updated = max(updated, "
			   "NEW.created),"
			   "  messages = messages + 1, turns = turns "
			   "+ " IS_PROMPT(
				   "NEW.body") ",  input = input + NEW.input + "
					       "NEW.cache_read + "
					       "NEW.cache_write,"
					       "  output = output + NEW.output "
					       "WHERE no = NEW.thread;"
					       "END;"),

	/* What the commands of a thread have connected to: struct
	 * contact_row. */
	("CREATE TABLE contact ("
	 /* id of the thread, which may not be stored yet */
	 " thread TEXT NOT NULL,"
	 " provider TEXT NOT NULL,"
	 " sandbox TEXT NOT NULL,"
	 " call TEXT NOT NULL,"
	 " host TEXT NOT NULL,"
	 " port INTEGER NOT NULL,"
	 " verdict TEXT NOT NULL,"
	 " command TEXT NOT NULL,"
	 " up INTEGER NOT NULL,"
	 " down INTEGER NOT NULL,"
	 " times INTEGER NOT NULL,"
	 " first INTEGER NOT NULL," /* Unix ms */
	 " last INTEGER NOT NULL,"
	 " PRIMARY KEY (thread, provider, sandbox, call, command, host, port,"
	 " verdict)"
	 ") WITHOUT ROWID;"
	 "CREATE INDEX contact_sandbox ON contact(sandbox);"
	 "CREATE TRIGGER contact_removed BEFORE DELETE ON thread BEGIN"
	 " DELETE FROM contact WHERE thread=OLD.id;"
	 "END;"),

	/* objects: struct ledger_row. */
	"ALTER TABLE ledger ADD COLUMN objects INTEGER NOT NULL DEFAULT 0;",

	/* hosts: the same. */
	"ALTER TABLE ledger ADD COLUMN hosts TEXT NOT NULL DEFAULT '';",

	/* Snapshots that dcode made after a setup script: struct
	 * ledger_snapshot. */
	("CREATE TABLE setup_snapshot ("
	 " name TEXT PRIMARY KEY,"
	 " provider TEXT NOT NULL,"
	 " endpoint TEXT NOT NULL,"
	 " state INTEGER NOT NULL,"
	 " id TEXT NOT NULL DEFAULT '',"
	 " dir TEXT NOT NULL DEFAULT '',"
	 " created INTEGER NOT NULL," /* Unix seconds; also used */
	 " used INTEGER NOT NULL,"
	 " pid INTEGER NOT NULL,"
	 " started INTEGER NOT NULL,"
	 " place TEXT NOT NULL"
	 ") WITHOUT ROWID;"),

	/* scope: the same. */
	"ALTER TABLE ledger ADD COLUMN scope TEXT NOT NULL DEFAULT '';",

	/* network: the same. */
	"ALTER TABLE ledger ADD COLUMN network TEXT NOT NULL DEFAULT '';",
};

enum { VERSION = sizeof(migrations) / sizeof(migrations[0]) };

sqlite3_stmt *store_sql(struct store *s, enum statement which,
			struct error *err);

static int schema_version(void)
{
	return VERSION;
}

static int set_owner(sqlite3 *db)
{
	char id[37];
	char *sql;
	int rc;

	ids_uuid7(id);
	sql = sqlite3_mprintf("INSERT OR IGNORE INTO meta(key, value)"
			      " VALUES('owner', %Q);"
			      "PRAGMA user_version=%d;",
			      id, VERSION);
	if (!sql)
		return SQLITE_NOMEM;
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	return rc;
}

/* The caller has opened a transaction, so that the upgrade is atomic. */
static int schema_migrate(sqlite3 *db, int version)
{
	int rc = SQLITE_OK;

	for (int i = version; i < VERSION && rc == SQLITE_OK; i++)
		rc = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
	return rc == SQLITE_OK ? set_owner(db) : rc;
}

enum {
	/* how long to wait for another dcode that is writing */
	BUSY_MS = 5000,
	OPEN_ATTEMPTS = 3, /* a damaged file is replaced once or twice */
	/* sqlite's lookaside memory: sizes in bytes, large enough for the
	 * statements that a thread needs to be parsed without malloc() */
	LOOKASIDE_SIZE = 512,
	LOOKASIDE_COUNT = 400,
};

/* memory for sqlite's page cache: little, because sessions mostly append */
#define CACHE_KIB "64"

/* Bytes of a page of a new database, half of sqlite's default: a turn changes
 * seven pages by some hundred bytes each, and sqlite writes whole pages and
 * their checksums. */
#define PAGE_BYTES "2048"

/* Locks a new file next to the database and returns the errno, or 0. If the
 * file system does not support locks (ENOLCK of a network file system), sqlite
 * reports only that the database is busy. The database file itself is not
 * opened here: closing it would drop sqlite's locks (fcntl(2)). */
static int probe_lock(const char *database)
{
	char *name = xasprintf("%s.lock-%d", database, (int)getpid());
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int why = 0;

	if (fd >= 0) {
		if (fcntl(fd, F_SETLK, &lock) < 0)
			why = errno;
		close(fd);
		(void)unlink(name);
	}
	free(name);
	return why;
}

/* Returns the system's errno behind a sqlite error, or 0. sqlite does not
 * report it for a full disk. */
static int system_reason(struct store *s, int code, const char *name)
{
	if (code == SQLITE_FULL)
		return ENOSPC;
	if (code == SQLITE_BUSY)
		return name ? probe_lock(name) : 0;
	if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
		return sqlite3_system_errno(s->db);
	return 0;
}

/* Fills err from the connection; returns -1. */
static int fill_error(struct store *s, struct error *err)
{
	int code = sqlite3_errcode(s->db);
	const char *name = sqlite3_db_filename(s->db, "main");
	int why = system_reason(s, code & 0xff, name);

	s->code = code;
	errno = why;
	if (why)
		error_errno(err, "database %s", name ? name : "dcode.db");
	else
		error_set(err, ERR_SYSTEM, "database %s: %s",
			  name ? name : "dcode.db", sqlite3_errmsg(s->db));
	if (why == ENOLCK || why == ENOSYS || why == EOPNOTSUPP)
		error_hint(
			err,
			"Its file system does not support locks. Make "
			"~/.deepagents a link to a directory on a local disk.");
	else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		error_hint(err, "Another dcode has locked it. Try again.");
	return -1;
}

/* Creates the file with mode 0600, whatever the umask. Never opens an existing
 * file: closing it would drop the locks of another connection of this process
 * (fcntl(2)). */
static int prepare_file(const char *path, struct error *err)
{
	struct stat st;
	char *directory;
	char *slash;
	int rc;
	int fd;

	if (stat(path, &st) == 0) {
		if ((st.st_mode & 077) && chmod(path, 0600) < 0)
			return error_errno(err, "protecting %s", path);
		return 0;
	}
	directory = xstrdup(path);
	slash = strrchr(directory, '/');
	if (slash && slash > directory) {
		*slash = '\0';
		rc = path_mkdirs(directory, 0700, err);
	} else {
		rc = 0;
	}
	free(directory);
	if (rc < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0
				       : error_errno(err, "creating %s", path);
	close(fd);
	return 0;
}

static int exec_sql(struct store *s, const char *text)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL);
}

/* Returns user_version, or -1. This is the first read of the file, so it
 * detects damage. */
static int read_version(struct store *s)
{
	sqlite3_stmt *st = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		version = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return version;
}

/* Retries while busy: sqlite itself does not wait when two programs switch to
 * WAL at once. */
static int enter_wal(struct store *s)
{
	struct stop limit = stop_cleanup(BUSY_MS);
	struct error ignored = { 0 };
	int rc;

	while ((rc = exec_sql(s, "PRAGMA page_size=" PAGE_BYTES
				 ";PRAGMA journal_mode=WAL")) == SQLITE_BUSY)
		if (stop_sleep(&limit, 5, &ignored) < 0)
			break;
	return rc;
}

/* Upgrades the database in a transaction: if several programs do this at once,
 * only one creates the tables. */
static int migrate_store(struct store *s, struct error *err)
{
	int version;
	int rc;

	if (enter_wal(s) != SQLITE_OK ||
	    exec_sql(s, store_texts[SQL_BEGIN]) != SQLITE_OK)
		return fill_error(s, err);
	version = read_version(s);
	rc = version < 0 ? SQLITE_ERROR : schema_migrate(s->db, version);
	if (rc == SQLITE_OK)
		rc = exec_sql(s, store_texts[SQL_COMMIT]);
	if (rc == SQLITE_OK)
		return 0;
	fill_error(s, err);
	(void)exec_sql(s, store_texts[SQL_ROLLBACK]);
	return -1;
}

const char *store_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}

static int read_owner(struct store *s, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_OWNER, err);

	if (!st)
		return -1;
	if (sqlite3_step(st) != SQLITE_ROW) {
		sqlite3_reset(st);
		return fill_error(s, err);
	}
	snprintf(s->owner, sizeof(s->owner), "%s", store_text(st, 0));
	sqlite3_reset(st);
	return 0;
}

/* *damaged is set if the file is not a database or cannot be read. */
static int try_open(struct store *s, const char *path, bool *damaged,
		    struct error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int version;
	int rc = 0;

	s->code = SQLITE_OK;
	/* Has no effect once the library is in use. Counting the memory costs a
	 * lock for each allocation, and nobody reads the count. */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK)
		return fill_error(s, err);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_LOOKASIDE, NULL,
				LOOKASIDE_SIZE, LOOKASIDE_COUNT);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (exec_sql(s, "PRAGMA synchronous=NORMAL;"
			"PRAGMA cache_size=-" CACHE_KIB) != SQLITE_OK)
		rc = fill_error(s, err);
	version = rc < 0 ? -1 : read_version(s);
	if (rc == 0 && version < 0)
		rc = fill_error(s, err);
	if (rc == 0 && version > schema_version())
		return error_set(err, ERR_CONFIG,
				 "database %s was written by a newer dcode",
				 path);
	if (rc == 0 && version < schema_version())
		rc = migrate_store(s, err);
	if (rc == 0)
		rc = read_owner(s, err);
	*damaged = rc < 0 && ((s->code & 0xFF) == SQLITE_NOTADB ||
			      (s->code & 0xFF) == SQLITE_CORRUPT);
	return rc;
}

static void close_database(struct store *s)
{
	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->statements[i]);
		s->statements[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

/* Renames the file with its -wal and -shm. A lock and a comparison make sure
 * that a second program does not move away the database that the first has just
 * created. */
static int move_aside(const char *path, void (*warn)(const char *line),
		      struct error *err)
{
	static const char *const parts[] = { "-wal", "-shm", "" };
	char *aside = xasprintf("%s.damaged-%" PRId64, path, clock_unix_ms());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat mine;
	struct stat now;
	int rc = 0;

	if (fd < 0 || io_flock(fd, LOCK_EX) < 0 || fstat(fd, &mine) < 0)
		rc = error_errno(err, "reading %s", path);
	else if (stat(path, &now) < 0 || now.st_ino != mine.st_ino ||
		 now.st_dev != mine.st_dev)
		goto out; /* another program has already moved it */
	for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(*parts); i++) {
		char *from = xasprintf("%s%s", path, parts[i]);
		char *to = xasprintf("%s%s", aside, parts[i]);

		if (rename(from, to) < 0 && errno != ENOENT)
			rc = error_errno(err, "moving %s aside", from);
		free(from);
		free(to);
	}
	if (rc == 0 && warn) {
		char *line = xasprintf(
			"the database %s is damaged. dcode moved it to %s and "
			"started a new one. Threads and sandboxes of the old "
			"one are no longer listed.",
			path, aside);

		warn(line);
		free(line);
	}
out:
	if (fd >= 0)
		close(fd);
	free(aside);
	return rc;
}

int store_ready(struct store *s, struct error *err)
{
	struct error failure = { 0 };

	if (s->db)
		return 0;
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		bool damaged = false;

		if (prepare_file(s->path, &failure) < 0)
			break;
		if (try_open(s, s->path, &damaged, &failure) == 0)
			return 0;
		close_database(s);
		if (!damaged || move_aside(s->path, s->warn, &failure) < 0)
			break;
	}
	close_database(s);
	*err = failure;
	return -1;
}

sqlite3_stmt *store_sql(struct store *s, enum statement which,
			struct error *err)
{
	sqlite3_stmt **st = &s->statements[which];

	s->used++;
	if (store_ready(s, err) < 0)
		return NULL;
	if (!*st && sqlite3_prepare_v3(s->db, store_texts[which], -1,
				       SQLITE_PREPARE_PERSISTENT, st,
				       NULL) != SQLITE_OK) {
		fill_error(s, err);
		return NULL;
	}
	return *st;
}

int store_run(struct store *s, sqlite3_stmt *st, struct error *err)
{
	int rc = sqlite3_step(st) == SQLITE_DONE ? 0 : fill_error(s, err);

	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return rc;
}

int store_run_plain(struct store *s, enum statement which, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, which, err);

	return st ? store_run(s, st, err) : -1;
}

int store_begin(struct store *s, struct error *err)
{
	if (s->depth == 0 && store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	s->depth++;
	return 0;
}

void store_rollback(struct store *s)
{
	struct error ignored = { 0 };

	s->depth = 0;
	if (!sqlite3_get_autocommit(s->db))
		(void)store_run_plain(s, SQL_ROLLBACK, &ignored);
}

int store_commit(struct store *s, struct error *err)
{
	if (s->depth == 0)
		return error_set(err, ERR_SYSTEM,
				 "not everything could be stored");
	if (s->depth == 1 && store_run_plain(s, SQL_COMMIT, err) < 0) {
		store_rollback(s);
		return -1;
	}
	s->depth--;
	return 0;
}

int store_finish(struct store *s, sqlite3_stmt *st, int rc, struct error *err)
{
	int result =
		rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fill_error(s, err);

	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return result;
}

void store_bind(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text ? text : "", -1, SQLITE_STATIC);
}

int store_run_durably(struct store *s, sqlite3_stmt *st, struct error *err)
{
	int rc;

	if (exec_sql(s, "PRAGMA synchronous=FULL") != SQLITE_OK) {
		sqlite3_reset(st);
		return fill_error(s, err);
	}
	rc = store_run(s, st, err);
	(void)exec_sql(
		/* if this fails, sqlite is only slower */
		s, "PRAGMA synchronous=NORMAL");
	return rc;
}

struct store *store_new(const char *path, void (*warn)(const char *line))
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->path = xstrdup(path);
	s->warn = warn;
	return s;
}

struct store *store_again(const struct store *s)
{
	struct store *again = store_new(s->path, s->warn);

	again->capacity = s->capacity;
	again->prunes = s->prunes;
	return again;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	close_database(s);
	free(s->path);
	free(s);
}

const char *store_owner(const struct store *s)
{
	return s->owner;
}

#define THREAD_COLUMNS                                                         \
	"no, id, title, model, provider, sandbox, label, cwd, branch,"         \
	" created, updated, messages, input, output, pid, started, place,"     \
	" imported, origin, (SELECT sum(s.cost) FROM spend s"                  \
	" WHERE s.thread=thread.no), (SELECT min(s.priced) FROM spend s"       \
	" WHERE s.thread=thread.no), agent, turns, headless"
#define LEDGER_COLUMNS                                                         \
	"label, provider, id, endpoint, state, created, ends, pid, started,"   \
	" place, note, kept, thread, objects, hosts, scope, network"

const char *const store_texts[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_START_DIR] =
		"SELECT value FROM meta WHERE key='start/'||?1||'/'||?2",
	[SQL_SET_START_DIR] = "INSERT OR REPLACE INTO meta(key, value)"
			      " VALUES('start/'||?1||'/'||?2, ?3)",
	[SQL_DROP_START_DIR] =
		"DELETE FROM meta WHERE key=(SELECT 'start/'||provider||'/'||id"
		" FROM ledger WHERE label=?1)",
	[SQL_OWNER] = "SELECT value FROM meta WHERE key='owner'",
	[SQL_SIZE] = "SELECT (c.page_count - f.freelist_count) * p.page_size"
		     " FROM pragma_page_count c, pragma_freelist_count f,"
		     " pragma_page_size p",
	[SQL_THREAD_ADD] = "INSERT INTO thread(id, created, model, sandbox,"
			   " cwd, provider, label, branch, title, pid, started,"
			   " place, updated, agent, headless) VALUES(?1, ?2,"
			   " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?2,"
			   " ?13, ?14)",
	[SQL_THREAD_IMPORT] = "INSERT INTO thread(id, created, updated, model,"
			      " sandbox, cwd, provider, title, origin,"
			      " imported)"
			      " VALUES(?1, ?2, ?3, '', ?4, ?5, ?6, ?7, ?8, 1)",
	[SQL_THREAD_SET] = "UPDATE thread SET model=?2, sandbox=?3, cwd=?4,"
			   " provider=?5, label=?6, branch=?7, agent=?8,"
			   " headless=min(headless, ?9) WHERE no=?1",
	[SQL_THREAD_BRANCH] = "UPDATE thread SET branch=?2 WHERE no=?1",
	[SQL_THREAD_PLACE] = "UPDATE thread SET provider=?2, sandbox=?3,"
			     " label=?4 WHERE id=?1",
	[SQL_THREAD_LIST] = "SELECT " THREAD_COLUMNS " FROM thread"
			    " WHERE (?1='' OR cwd=?1) AND (?2='' OR branch=?2)"
			    " AND (?5='' OR agent=?5 OR (agent='' AND"
			    " ?5='agent'))"
			    " AND (?6='' OR cwd=?6"
			    " OR substr(cwd,1,length(rtrim(?6,'/'))+1)="
			    " rtrim(?6,'/')||'/')"
			    " AND (?7=0 OR headless=(?7=2))"
			    " ORDER BY (?8<>'' AND cwd=?8) DESC,"
			    " CASE WHEN ?3 THEN created"
			    " ELSE updated END DESC, no DESC LIMIT ?4",
	[SQL_THREAD_FIND] = "SELECT " THREAD_COLUMNS " FROM thread"
			    " WHERE substr(id,1,length(?1))=lower(?1)"
			    " ORDER BY length(id), no DESC LIMIT 2",
	[SQL_THREAD_LATEST] = "SELECT " THREAD_COLUMNS " FROM thread"
			      " WHERE (?1='' OR cwd=?1)"
			      " AND (?2='' OR agent=?2 OR (agent='' AND"
			      " ?2='agent'))"
			      " ORDER BY updated DESC, no DESC LIMIT 1",
	[SQL_THREAD_TITLE] = "UPDATE thread SET title=?2 WHERE no=?1",
	[SQL_THREAD_OWNER] = "SELECT pid, started, place FROM thread"
			     " WHERE no=?1",
	[SQL_THREAD_LOCK] = "UPDATE thread SET pid=?2, started=?3, place=?4"
			    " WHERE no=?1",
	[SQL_THREAD_UNLOCK] = "UPDATE thread SET pid=0, started=0, place=''"
			      " WHERE no=?1 AND pid=?2 AND started=?3",
	[SQL_THREAD_DELETE] = "DELETE FROM thread WHERE no=?1",
	[SQL_MESSAGE_DELETE] = "DELETE FROM message WHERE thread=?1",
	[SQL_MESSAGE_COPY] = "INSERT INTO message(thread, created, input,"
			     " output, cache_read, cache_write, body)"
			     " SELECT ?1, created, input, output, cache_read,"
			     " cache_write, body FROM message WHERE thread=?2"
			     " ORDER BY no LIMIT ?3",
	[SQL_MESSAGE_EACH] = "SELECT no, created, input, output, cache_read,"
			     " cache_write, body FROM message WHERE thread=?1"
			     " ORDER BY no LIMIT -1 OFFSET ?2",
	/* the flags of a message stand before its parts */
	[SQL_MESSAGE_PROMPTS] =
		"SELECT count(*) FROM (SELECT substr(body, 1, instr(body,"
		" '\"parts\":')) AS head, body FROM message WHERE thread=?1)"
		" WHERE " IS_PROMPT(
			"body") " AND instr(head,"
				" '\"steering\":true')=0 AND instr(head,"
				" '\"summary\":true')=0",
	[SQL_MESSAGE_ADD] = "INSERT INTO message(thread, created, input,"
			    " output, cache_read, cache_write, body)"
			    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_DRAFT_SET] = "UPDATE message SET body=?2 WHERE no=?1",
	[SQL_DRAFT_UNCOUNT] =
		"UPDATE thread SET messages=messages-1,"
		" turns=turns-(SELECT " IS_PROMPT(
			"body") " FROM message WHERE no=?1) WHERE no="
				"(SELECT thread FROM message WHERE no=?1)",
	[SQL_DRAFT_DROP] = "DELETE FROM message WHERE no=?1",
	[SQL_COMPACTION_ADD] = "INSERT INTO compaction(thread, created, input,"
			       " output, cache_read, cache_write, body, after)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7,"
			       " (SELECT count(*) FROM message"
			       "  WHERE thread=?1))",
	[SQL_COMPACTION_CLEAR] = "UPDATE compaction SET body=''"
				 " WHERE thread=?1",
	[SQL_COMPACTION_COPY] = "INSERT INTO compaction(thread, created,"
				" after, input, output, cache_read,"
				" cache_write, body) SELECT ?1, created, after,"
				" input, output, cache_read, cache_write, body"
				" FROM compaction WHERE thread=?2 AND (?3<0"
				" OR (after<=?3 AND body<>'')) ORDER BY no",
	[SQL_COMPACTION_GET] = "SELECT after, body FROM compaction"
			       " WHERE thread=?1 ORDER BY no DESC LIMIT 1",
	[SQL_COMPACTION_LIST] = "SELECT after, created FROM compaction"
				" WHERE thread=?1 ORDER BY no",
	[SQL_LEDGER_ADD] = "INSERT INTO ledger(label, provider, endpoint,"
			   " state, created, ends, changed, pid, started,"
			   " place)"
			   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?5, ?7, ?8, ?9)",
	[SQL_LEDGER_CREATED] = "UPDATE ledger SET state=?2, changed=?3, id=?4"
			       " WHERE label=?1",
	[SQL_LEDGER_STATE] = "UPDATE ledger SET state=?2, changed=?3"
			     " WHERE label=?1",
	[SQL_LEDGER_GONE] = "UPDATE ledger SET state=iif(objects, ?4, ?2),"
			    " changed=?3 WHERE label=?1",
	[SQL_LEDGER_NOTE] = "UPDATE ledger SET note=?2 WHERE label=?1",
	[SQL_LEDGER_OBJECTS] = "UPDATE ledger SET objects=?2 WHERE label=?1",
	[SQL_LEDGER_HOST] = "UPDATE ledger SET hosts=hosts||?2||char(10)"
			    " WHERE label=?1",
	[SQL_LEDGER_SCOPE] = "UPDATE ledger SET scope=?2 WHERE label=?1",
	[SQL_LEDGER_NETWORK] = "UPDATE ledger SET network=?2 WHERE label=?1",
	[SQL_LEDGER_KEEP] = "UPDATE ledger SET state=?2, changed=?3, ends=?4,"
			    " kept=1, thread=coalesce(?5, thread)"
			    " WHERE label=?1",
	[SQL_LEDGER_KEPT] = "UPDATE ledger SET state=?2, changed=?3, ends=?4,"
			    " kept=1, pid=0, note='' WHERE label=?1",
	/* Only if unchanged since it was read: another process may be claiming
	 * it. */
	[SQL_LEDGER_CLAIM] = "UPDATE ledger SET state=?2, changed=?3,"
			     " ends=max(ends, ?4), pid=?5, started=?6,"
			     " place=?7, note='' WHERE label=?1 AND"
			     " state=?8 AND pid=?9",
	[SQL_LEDGER_CLAIM_REMOVAL] = "UPDATE ledger SET state=?2, changed=?3"
				     " WHERE label=?1 AND state=?4 AND"
				     " pid=?5",
	[SQL_SETUP_KEY] = "SELECT value FROM meta WHERE key='setup_key'",
	[SQL_SETUP_KEY_ADD] = "INSERT OR IGNORE INTO meta(key, value)"
			      " VALUES('setup_key', ?1)",
	[SQL_SNAPSHOT_ADD] = "INSERT OR IGNORE INTO setup_snapshot(name,"
			     " provider, endpoint, state, created, used, pid,"
			     " started, place)"
			     " VALUES(?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8)",
	/* ?6 and ?7: state and pid as this process has read them */
	[SQL_SNAPSHOT_CLAIM] = "UPDATE setup_snapshot SET state=?2, pid=?3,"
			       " started=?4, place=?5"
			       " WHERE name=?1 AND state=?6 AND pid=?7",
	[SQL_SNAPSHOT_SETTLE] = "UPDATE setup_snapshot SET state=?2, pid=0,"
				" id=?3, dir=?4, created=?5, used=?5"
				" WHERE name=?1",
	[SQL_SNAPSHOT_RELEASE] = "UPDATE setup_snapshot SET pid=0"
				 " WHERE name=?1",
	[SQL_SNAPSHOT_USED] = "UPDATE setup_snapshot SET used=?2"
			      " WHERE name=?1",
	[SQL_SNAPSHOT_DROP] = "DELETE FROM setup_snapshot WHERE name=?1",
	[SQL_SNAPSHOT_EACH] = "SELECT name, provider, endpoint, state, id, dir,"
			      " created, used, pid, started, place"
			      " FROM setup_snapshot ORDER BY used DESC, name",
	[SQL_LEDGER_EACH] = "SELECT " LEDGER_COLUMNS " FROM ledger"
			    " WHERE ?1 OR state<>?2 ORDER BY no DESC",
	/* Best match first: exact before prefix, existing before deleted,
	 * newest before older. */
	[SQL_LEDGER_FIND] = "SELECT " LEDGER_COLUMNS ","
			    " label=?1 OR label='dcode-'||?1 OR id=?1 AS whole"
			    " FROM ledger WHERE whole OR"
			    " (length(?1)>=4 AND substr(id,1,length(?1))=?1)"
			    " ORDER BY whole DESC, state=?2, no DESC",
	[SQL_ATTACHED_ADD] = "INSERT INTO attached(provider, endpoint, id,"
			     " name, pid, started, place)"
			     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_ATTACHED_TRIM] = "DELETE FROM attached WHERE no <="
			      " (SELECT max(no) FROM attached) - 500",
	[SQL_ATTACHED_FIND] = "SELECT provider, endpoint, id, pid, started,"
			      " place, id=?1 OR name=?1 AS whole"
			      " FROM attached WHERE whole OR (length(?1)>=4"
			      " AND substr(id,1,length(?1))=?1)"
			      " ORDER BY whole DESC, no DESC",
	[SQL_CONSENT_GET] = "SELECT allowed FROM consent"
			    " WHERE root=?1 AND provider=?2",
	[SQL_CONSENT_SET] = "INSERT OR REPLACE INTO consent(root, provider,"
			    " allowed) VALUES(?1, ?2, ?3)",
	[SQL_LABEL_EACH] = "SELECT l.label, l.provider, l.cwd, l.branch, t.id"
			   " FROM thread_label l JOIN thread t"
			   " ON t.no=l.thread WHERE (?1=0 OR l.thread=?1)"
			   " AND (?2='' OR l.label=?2) ORDER BY l.no DESC",
	[SQL_SPEND_ADD] = "INSERT INTO spend(thread, name, sandbox, priced,"
			  " input, output, cache_read, cache_write, calls, cut,"
			  " ms, cost, unclear) VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
			  " ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
			  " ON CONFLICT DO UPDATE SET"
			  " priced=min(priced, excluded.priced),"
			  " input=input+excluded.input,"
			  " output=output+excluded.output,"
			  " cache_read=cache_read+excluded.cache_read,"
			  " cache_write=cache_write+excluded.cache_write,"
			  " calls=calls+excluded.calls, cut=cut+excluded.cut,"
			  " ms=ms+excluded.ms, cost=cost+excluded.cost,"
			  " unclear=unclear+excluded.unclear",
	[SQL_LEDGER_PRICE] = "UPDATE ledger SET usd_s=?2 WHERE label=?1",
	[SQL_SPEND_EACH] = "SELECT name, sandbox, priced, input, output,"
			   " cache_read, cache_write, calls, cut, ms, cost,"
			   " unclear FROM spend WHERE thread=?1"
			   " ORDER BY sandbox, cost DESC, name",
	[SQL_JOB_ADD] = "INSERT INTO job(thread, provider, sandbox, job,"
			" command, begun, number) SELECT ?1, ?2, ?3, ?4, ?5,"
			" ?6, max(?7, 1 + coalesce(max(number), 0)) FROM job"
			" WHERE (?3<>'' AND provider=?2 AND sandbox=?3)"
			" OR thread=?1"
			" RETURNING no, number",
	[SQL_JOB_UPDATE] = "UPDATE job SET read=?2, started=?3, told=?4"
			   " WHERE no=?1",
	[SQL_JOB_EACH] = "SELECT j.no, j.thread, j.provider, j.sandbox, j.job,"
			 " j.command, j.number, j.read, j.started, j.told,"
			 " coalesce(t.pid, 0), t.started, t.place"
			 " FROM job j LEFT JOIN thread t ON t.id=j.thread"
			 " WHERE (?2<>'' AND j.provider=?1 AND j.sandbox=?2)"
			 " OR (j.thread=?3 AND NOT j.told) ORDER BY j.number",
	[SQL_JOB_TRIM] = "DELETE FROM job WHERE begun < ?2"
			 " OR (told AND begun < ?1)",
	[SQL_CONTACT_ADD] =
		"INSERT INTO contact(thread, provider, sandbox, call, host,"
		" port, verdict, command, up, down, times, first, last)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
		" ?13) ON CONFLICT DO UPDATE SET"
		" up=up+excluded.up, down=down+excluded.down,"
		" times=times+excluded.times, last=max(last, excluded.last)",
	/* the oldest rows of a thread, of which many may have the same time,
	 * and those of threads that were never stored */
	[SQL_CONTACT_TRIM] =
		"DELETE FROM contact WHERE (thread=?1 AND (last, first,"
		" provider, sandbox, call, command, host, port, verdict) <"
		" (SELECT last, first, provider, sandbox, call, command, host,"
		" port, verdict FROM contact WHERE thread=?1 ORDER BY 1 DESC,"
		" 2 DESC, 3 DESC, 4 DESC, 5 DESC, 6 DESC, 7 DESC, 8 DESC,"
		" 9 DESC LIMIT 1 OFFSET ?2))"
		" OR (last < ?3 AND thread NOT IN (SELECT id FROM thread))",
	[SQL_CONTACT_EACH] =
		"SELECT thread, provider, sandbox, call, host, port, verdict,"
		" command, up, down, times, first, last FROM contact"
		" WHERE (?1<>'' AND thread=?1) OR (?2<>'' AND sandbox=?2)"
		" ORDER BY first, last, host, port",
};

enum { STARTED_FIELD = 22 };

/* Reads the first line of a small file without its newline, or "-". */
static void first_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = io_read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, " \n")] = '\0';
	if (!out[0])
		snprintf(out, size, "-");
}

/* Returns the start time of a process. 0 if it does not exist or is a zombie: a
 * parent that does not wait for it can leave a zombie for ever. */
static int64_t read_start_time(int64_t pid)
{
	char path[64];
	char text[1024];
	struct str rest;
	struct str field;
	const char *after;
	int64_t value = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	after = strrchr(text, ')'); /* ends field 2, which may contain blanks */
	if (!after || after[1] != ' ' || strchr("ZX", after[2]))
		return 0;
	rest = str_of(after + 2);
	for (int i = 3; i <= STARTED_FIELD; i++)
		if (!str_split(&rest, ' ', &field))
			return 0;
	return str_to_int(field, &value) ? value : 0;
}

void process_self(struct process *p)
{
	char boot[48];
	char machine[48];
	char space[48];
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	space[n > 0 ? n : 0] = '\0';
	first_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	first_line("/etc/machine-id", machine, sizeof(machine));
	p->pid = getpid();
	p->started = read_start_time(p->pid);
	snprintf(p->place, sizeof(p->place), "%s %s %s", boot,
		 n > 0 ? space : "-", machine);
}

bool process_lives(const struct process *p, const struct process *self)
{
	struct str theirs = str_of(p->place);
	struct str ours = str_of(self->place);
	bool same[3] = { false }; /* boot, PID namespace, machine */

	for (int i = 0; i < 3; i++) {
		struct str a = { 0 };
		struct str b = { 0 };

		str_split(&theirs, ' ', &a);
		str_split(&ours, ' ', &b);
		same[i] = str_eq(a, b);
	}
	if (!same[0])
		return !same[2];
	if (!same[1])
		return true;
	if (kill((pid_t)p->pid, 0) < 0 && errno == ESRCH)
		return false;
	return read_start_time(p->pid) == p->started;
}
