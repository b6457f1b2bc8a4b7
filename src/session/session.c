/* session.c - one thread: every message is appended, none is changed. */
/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/stop.h"
#include "session/session_impl.h"

enum {
	BODY_MAX = 256 << 20,  /* bytes of one stored message */
	BODY_KEPT = 256 << 10, /* bytes of buffer kept for the next one */
};

struct session {
	struct store *store; /* borrowed */
	char id[37];
	char *model;
	char *sandbox;
	char *cwd;
	sqlite3_int64 no; /* 0: not in the database yet */
	struct buf body;
};

struct session *session_new(struct store *s, const struct session_info *info)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->store = s;
	ids_uuid7(session->id);
	session->model = xstrdup(info->model);
	session->sandbox = xstrdup(info->sandbox);
	session->cwd = xstrdup(info->cwd);
	session->body = BUF_INIT(BODY_MAX);
	return session;
}

const char *session_id(const struct session *s)
{
	return s->id;
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text ? text : "", -1, SQLITE_STATIC);
}

static int add_thread(struct session *s, struct error *err)
{
	sqlite3_stmt *st = store_sql(s->store, SQL_THREAD_ADD, err);

	if (!st)
		return -1;
	bind_text(st, 1, s->id);
	sqlite3_bind_int64(st, 2, clock_unix_ms());
	bind_text(st, 3, s->model);
	bind_text(st, 4, s->sandbox);
	bind_text(st, 5, s->cwd);
	if (store_run(s->store, st, err) < 0)
		return -1;
	s->no = sqlite3_last_insert_rowid(s->store->db);
	return 0;
}

static int add_message(struct session *s, const struct usage *u,
		       struct error *err)
{
	static const struct usage none;
	sqlite3_stmt *st = store_sql(s->store, SQL_MESSAGE_ADD, err);

	if (!st)
		return -1;
	if (!u)
		u = &none;
	sqlite3_bind_int64(st, 1, s->no);
	sqlite3_bind_int64(st, 2, clock_unix_ms());
	sqlite3_bind_int64(st, 3, u->input);
	sqlite3_bind_int64(st, 4, u->output);
	sqlite3_bind_int64(st, 5, u->cache_read);
	sqlite3_bind_int64(st, 6, u->cache_write);
	sqlite3_bind_text64(st, 7, s->body.ptr, s->body.len, SQLITE_STATIC,
			    SQLITE_UTF8);
	return store_run(s->store, st, err);
}

static int run_plain(struct store *s, enum statement which, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, which, err);

	return st ? store_run(s, st, err) : -1;
}

/* The thread appears together with its first message, or not at all. */
static int add_first(struct session *s, const struct usage *u,
		     struct error *err)
{
	struct error ignored = { 0 };

	if (run_plain(s->store, SQL_BEGIN, err) < 0)
		return -1;
	if (add_thread(s, err) == 0 && add_message(s, u, err) == 0 &&
	    run_plain(s->store, SQL_COMMIT, err) == 0)
		return 0;
	s->no = 0;
	if (!sqlite3_get_autocommit(s->store->db))
		(void)run_plain(s->store, SQL_ROLLBACK, &ignored);
	return -1;
}

int session_append(struct session *s, const struct message *m,
		   const struct usage *u, struct error *err)
{
	int rc;

	buf_clear(&s->body);
	message_to_json(m, &s->body);
	rc = buf_check(&s->body, "message", err);
	if (rc == 0)
		rc = s->no ? add_message(s, u, err) : add_first(s, u, err);
	if (s->body.cap > BODY_KEPT)
		buf_release(&s->body);
	return rc;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	free(s->model);
	free(s->sandbox);
	free(s->cwd);
	buf_release(&s->body);
	free(s);
}
