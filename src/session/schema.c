/* schema.c - the tables, as numbered migrations that are never edited. */
/* SPDX-License-Identifier: MIT */
#include "base/ids.h"
#include "session/session_impl.h"

/* PRAGMA user_version is the number of these that were applied. */
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

	/* Appended only: within a thread, no gives the order. */
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
	" started INTEGER NOT NULL," /* of pid: proc_pid_stat(5) 22 */
	" place TEXT NOT NULL,"      /* struct process */
	" note TEXT NOT NULL DEFAULT ''"
	");"
	"CREATE INDEX ledger_state ON ledger(state);",

	/* A row each time that a sandbox of somebody else was used. */
	"CREATE TABLE attached ("
	" no INTEGER PRIMARY KEY,"
	" provider TEXT NOT NULL,"
	" endpoint TEXT NOT NULL,"
	" id TEXT NOT NULL,"
	" name TEXT NOT NULL," /* what the user called it */
	" pid INTEGER NOT NULL,"
	" started INTEGER NOT NULL,"
	" place TEXT NOT NULL"
	");",

	/* sandbox is the id, label the ledger's name of one that dcode made for
	 * the thread. pid, started, place: who is using it (struct process).
	 */
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

	/* Sandboxes that outlive the process that made them. */
	("ALTER TABLE ledger ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE ledger ADD COLUMN thread TEXT NOT NULL DEFAULT '';"),

	/* Of an imported thread: the id that it had where it was exported. */
	"ALTER TABLE thread ADD COLUMN origin TEXT NOT NULL DEFAULT '';",

	/* Whether the tree at root may go to sandboxes of provider. */
	"CREATE TABLE consent ("
	" root TEXT NOT NULL,"
	" provider TEXT NOT NULL,"
	" allowed INTEGER NOT NULL,"
	" PRIMARY KEY (root, provider)"
	") WITHOUT ROWID;",

	/* Every sandbox that dcode made for a thread; the highest no is that
	 * of the last one. Work is kept by its label. */
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

	/* What a thread has cost, at the prices of its time: a row for each
	 * model and sandbox (struct meter_line). A copy begins without. */
	("CREATE TABLE spend ("
	 " thread INTEGER NOT NULL REFERENCES thread(no),"
	 " name TEXT NOT NULL," /* "anthropic:claude-opus-5", "e2b" */
	 " sandbox INTEGER NOT NULL,"
	 " priced INTEGER NOT NULL," /* 0: some of it has no price */
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

	/* What a model goes on with in place of the first messages of a thread,
	 * which stay; the highest no counts, older ones lose their body. */
	("CREATE TABLE compaction ("
	 " no INTEGER PRIMARY KEY,"
	 " thread INTEGER NOT NULL REFERENCES thread(no),"
	 " created INTEGER NOT NULL," /* Unix ms */
	 " after INTEGER NOT NULL,"   /* so many messages */
	 " input INTEGER NOT NULL,"   /* tokens of making it: struct usage */
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

	/* usd_s: trillionths of a US dollar a second, of a sandbox that is kept
	 * running; -1: not known. When such a row changes while nobody uses it
	 * (pid), the time since, until its end at the longest, counts for its
	 * thread. 2 and 5: LEDGER_LIVE, LEDGER_STOPPING. */
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

	/* Whose memory it began with, and goes on with. */
	"ALTER TABLE thread ADD COLUMN agent TEXT NOT NULL DEFAULT '';",

	/* Commands in the background: struct job_row. */
	("CREATE TABLE job ("
	 " no INTEGER PRIMARY KEY,"
	 " thread TEXT NOT NULL," /* its id; it may not be stored yet */
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
};

enum { VERSION = sizeof(migrations) / sizeof(migrations[0]) };

int schema_version(void)
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

/* Inside a transaction of the caller's, so that it happens whole or not. */
int schema_migrate(sqlite3 *db, int version)
{
	int rc = SQLITE_OK;

	for (int i = version; i < VERSION && rc == SQLITE_OK; i++)
		rc = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
	return rc == SQLITE_OK ? set_owner(db) : rc;
}
