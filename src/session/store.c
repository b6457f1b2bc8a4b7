/* store.c - opens the database, heals it, and keeps its statements. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "session/session_impl.h"

enum {
	BUSY_MS = 5000,    /* another dcode is writing */
	OPEN_ATTEMPTS = 3, /* a damaged file is replaced once or twice */
};

#define CACHE_KIB "64" /* pages sqlite keeps in memory: a session appends */

/* Whether files beside the database can be locked. sqlite calls it busy where
 * they cannot (ENOLCK of a network file system). The database itself is not
 * touched: closing it here would drop sqlite's own locks. */
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

/* What the system said, 0 for nothing. sqlite drops it for a full disk. */
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

/* Fills err from the connection; -1. */
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
	if (why == ENOSPC)
		error_hint(err, "Free some space on its disk (df -h).");
	else if (why == EDQUOT || why == EFBIG)
		error_hint(err, "Delete files, or have the limit raised (quota "
				"-s, ulimit -f).");
	else if (why == ENOLCK || why == ENOSYS || why == EOPNOTSUPP)
		error_hint(err, "Its file system has no locks: make "
				"~/.deepagents a link to a local disk.");
	else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		error_hint(err, "Another dcode keeps it locked. Try again.");
	return -1;
}

sqlite3_stmt *store_sql(struct store *s, enum statement which,
			struct error *err)
{
	sqlite3_stmt **st = &s->statements[which];

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

void store_rollback(struct store *s)
{
	struct error ignored = { 0 };

	s->depth = 0;
	if (!sqlite3_get_autocommit(s->db))
		(void)store_run_plain(s, SQL_ROLLBACK, &ignored);
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

static int exec(struct store *s, const char *text)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL);
}

int store_run_durably(struct store *s, sqlite3_stmt *st, struct error *err)
{
	int rc;

	if (exec(s, "PRAGMA synchronous=FULL") != SQLITE_OK) {
		sqlite3_reset(st);
		return fill_error(s, err);
	}
	rc = store_run(s, st, err);
	(void)exec(s, "PRAGMA synchronous=NORMAL"); /* else only slower */
	return rc;
}

const char *store_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}

/* user_version, or -1. The first read of the file: damage shows here. */
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

/* sqlite does not wait by itself when two programs switch to WAL at once. */
static int enter_wal(struct store *s)
{
	struct stop limit = stop_cleanup(BUSY_MS);
	struct error ignored = { 0 };
	int rc;

	while ((rc = exec(s, "PRAGMA journal_mode=WAL")) == SQLITE_BUSY)
		if (stop_sleep(&limit, 5, &ignored) < 0)
			break;
	return rc;
}

/* Of several programs that do this at once, one makes the tables. */
static int migrate(struct store *s, struct error *err)
{
	int version;
	int rc;

	if (enter_wal(s) != SQLITE_OK ||
	    exec(s, store_texts[SQL_BEGIN]) != SQLITE_OK)
		return fill_error(s, err);
	version = read_version(s);
	rc = version < 0 ? SQLITE_ERROR : schema_migrate(s->db, version);
	if (rc == SQLITE_OK)
		rc = exec(s, store_texts[SQL_COMMIT]);
	if (rc == SQLITE_OK)
		return 0;
	fill_error(s, err);
	(void)exec(s, store_texts[SQL_ROLLBACK]);
	return -1;
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

/* 0600 whatever the umask. Never opens a file that exists: closing it would
 * drop the locks of another connection of this process (fcntl(2)). */
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

/* *damaged: what is there is no database, or one that cannot be read. */
static int try_open(struct store *s, const char *path, bool *damaged,
		    struct error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int version;
	int rc = 0;

	s->code = SQLITE_OK;
	if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK)
		return fill_error(s, err);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (exec(s, "PRAGMA synchronous=NORMAL;"
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
		rc = migrate(s, err);
	if (rc == 0)
		rc = read_owner(s, err);
	*damaged = rc < 0 && ((s->code & 0xFF) == SQLITE_NOTADB ||
			      (s->code & 0xFF) == SQLITE_CORRUPT);
	return rc;
}

static void shut(struct store *s)
{
	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->statements[i]);
		s->statements[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

/* Renames file, -wal and -shm. The lock and the comparison keep a second
 * program from moving away what the first has just begun anew. */
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
		goto out; /* somebody else has done it */
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
			"the database %s is damaged; it was moved to %s, and a "
			"new one was started. Threads and sandboxes of the old "
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
		shut(s);
		if (!damaged || move_aside(s->path, s->warn, &failure) < 0)
			break;
	}
	shut(s);
	*err = failure;
	return -1;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	shut(s);
	free(s->path);
	free(s);
}

const char *store_owner(const struct store *s)
{
	return s->owner;
}
