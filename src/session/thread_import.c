/* thread_import.c - stores a thread that was read from a file. */
/* SPDX-License-Identifier: MIT */
#include "session/thread_import.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/stop.h"
#include "session/session_impl.h"
#include "session/thread.h"

enum { BODY_MAX = 64 << 20 }; /* bytes of one stored message */

/* An id is 36 characters of hex and dashes; anything else is not noted. */
static const char *clean_origin(const char *id)
{
	if (!id || strlen(id) != 36 ||
	    strspn(id, "0123456789abcdef-") != strlen(id))
		return "";
	return id;
}

/* A date to come would keep the thread the latest until then. */
static int64_t past(const struct thread_import *in, int64_t created)
{
	return created > 0 && created < in->now ? created : in->now;
}

static int add_thread(struct thread_import *in, const struct thread_file *head,
		      const char *cwd, struct error *err)
{
	sqlite3_stmt *st = store_sql(in->store, SQL_THREAD_IMPORT, err);
	char *title;
	int rc;

	if (!st)
		return -1;
	title = thread_title(head->title ? head->title : "");
	store_bind(st, 1, in->id);
	sqlite3_bind_int64(st, 2, past(in, head->created));
	sqlite3_bind_int64(st, 3, in->now);
	store_bind(st, 4, head->sandbox);
	store_bind(st, 5, cwd);
	store_bind(st, 6, head->provider);
	store_bind(st, 7, title);
	store_bind(st, 8, clean_origin(head->id));
	rc = store_run(in->store, st, err);
	free(title);
	in->no = sqlite3_last_insert_rowid(in->store->db);
	return rc;
}

int thread_import_begin(struct thread_import *in, struct store *s,
			const struct thread_file *head, const char *cwd,
			size_t bytes, struct error *err)
{
	*in = (struct thread_import){ .store = s, .now = clock_unix_ms() };
	ids_uuid7(in->id);
	/* Before the transaction: making room has its own. */
	if (store_check_capacity(s, bytes, err) < 0 ||
	    store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	if (add_thread(in, head, cwd, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

int thread_import_add(struct thread_import *in, const struct message *m,
		      int64_t created, struct error *err)
{
	sqlite3_stmt *st = store_sql(in->store, SQL_MESSAGE_ADD, err);
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	if (!st)
		return -1;
	message_to_json(m, &body);
	rc = buf_check(&body, "a message", err);
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, in->no);
		sqlite3_bind_int64(st, 2, past(in, created));
		for (int usage = 3; usage <= 6; usage++)
			sqlite3_bind_int64(st, usage, 0);
		sqlite3_bind_text64(st, 7, body.ptr, body.len, SQLITE_STATIC,
				    SQLITE_UTF8);
		rc = store_run(in->store, st, err);
	}
	buf_release(&body);
	return rc;
}

int thread_import_end(struct thread_import *in, bool whole, struct error *err)
{
	if (whole && store_run_plain(in->store, SQL_COMMIT, err) == 0)
		return 0;
	store_rollback(in->store);
	return whole ? -1 : 0;
}
