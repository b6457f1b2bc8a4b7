/* schema_test.c - databases of older versions are brought up to date. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/path.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"
#include "store_open.h"
#include "unit.h"

/* As version 2 made it, with two threads. */
static const char version_2[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
	" WITHOUT ROWID;"
	"CREATE TABLE thread (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" created INTEGER NOT NULL, model TEXT NOT NULL, sandbox TEXT NOT NULL,"
	" cwd TEXT NOT NULL);"
	"CREATE TABLE message (no INTEGER PRIMARY KEY, thread INTEGER NOT NULL"
	" REFERENCES thread(no), created INTEGER NOT NULL, input INTEGER NOT"
	" NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,"
	" cache_write INTEGER NOT NULL, body TEXT NOT NULL);"
	"CREATE INDEX message_thread ON message(thread);"
	"CREATE TABLE ledger (no INTEGER PRIMARY KEY, label TEXT NOT NULL"
	" UNIQUE, provider TEXT NOT NULL, endpoint TEXT NOT NULL, id TEXT NOT"
	" NULL DEFAULT '', state INTEGER NOT NULL, created INTEGER NOT NULL,"
	" ends INTEGER NOT NULL, changed INTEGER NOT NULL, pid INTEGER NOT"
	" NULL, started INTEGER NOT NULL, place TEXT NOT NULL, note TEXT NOT"
	" NULL DEFAULT '');"
	"CREATE INDEX ledger_state ON ledger(state);"
	"CREATE TABLE attached (no INTEGER PRIMARY KEY, provider TEXT NOT NULL,"
	" endpoint TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, pid"
	" INTEGER NOT NULL, started INTEGER NOT NULL, place TEXT NOT NULL);"
	"INSERT INTO meta VALUES('owner', 'me');"
	"INSERT INTO thread VALUES(1, 'old-one', 5, 'm', '', '/x');"
	"INSERT INTO thread VALUES(2, 'old-two', 6, 'm', '', '/x');"
	"INSERT INTO message VALUES(1, 1, 7, 1, 2, 3, 4,"
	" '{\"role\":\"user\",\"parts\":[{\"kind\":\"text\","
	"\"text\":\"hello you\"}]}');"
	"INSERT INTO message VALUES(2, 1, 9, 1, 2, 3, 4, '{');"
	"INSERT INTO message VALUES(3, 2, 9, 1, 2, 3, 4, '{');"
	"PRAGMA user_version=2";

static void test_older_databases_get_titles_and_sums(void **state)
{
	char dir[] = "/tmp/dcode-unit-XXXXXX";
	char *path = path_join(mkdtemp(dir), "dcode.db");
	struct store *s = NULL;
	struct error err = { 0 };
	struct thread t;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, version_2, NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	if (store_open(&s, path, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(store_owner(s), "me");
	assert_int_equal(thread_find(s, "old-one", NULL, &t, &err), 0);
	assert_string_equal(t.title, "hello you");
	assert_int_equal(t.updated, 9);
	assert_int_equal(t.messages, 2);
	assert_int_equal(t.turns, 1);
	assert_false(t.headless);
	assert_int_equal(t.input, 16);
	assert_int_equal(t.output, 4);
	assert_int_equal(t.cost, -1); /* nobody counted then */
	thread_release(&t);
	assert_int_equal(thread_find(s, "old-two", NULL, &t, &err), 0);
	assert_string_equal(t.title, "");
	assert_int_equal(t.messages, 1);
	thread_release(&t);
	store_close(s);
	assert_int_equal(path_remove_tree(dir, &err), 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_older_databases_get_titles_and_sums),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
