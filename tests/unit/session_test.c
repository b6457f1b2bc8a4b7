/* session_test.c - threads and the ledger survive crashes and neighbours. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "session/ledger.h"
#include "session/session.h"
#include "session/sql.h"
#include "store_open.h"
#include "unit.h"

struct place {
	char dir[64];
	char path[128];
};

static int set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/dcode-unit-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/a/.state/dcode.db", p->dir);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct error err = { 0 };

	assert_int_equal(path_remove_tree(p->dir, &err), 0);
	free(p);
	return 0;
}

static struct store *opened(const struct place *p)
{
	struct store *s = NULL;
	struct error err = { 0 };

	if (store_open(&s, p->path, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

/* The first column of the first row, as a number. */
static int64_t ask(struct store *s, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &st, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	value = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return value;
}

static void append(struct session *s, const char *text)
{
	struct message m = { .role = ROLE_USER };
	struct usage u = { .input = 1, .output = 2 };
	struct error err = { 0 };

	message_add(&m, PART_TEXT)->text = xstrdup(text);
	if (session_append(s, &m, &u, &err) < 0)
		fail_msg("%s", err.message);
	message_release(&m);
}

static struct session *new_session(struct store *s)
{
	return session_new(s, &(struct session_info){ .model = "m",
						      .sandbox = "docker",
						      .cwd = "/x" });
}

static void append_one(struct store *s)
{
	struct session *one = new_session(s);

	append(one, "x");
	session_free(one);
}

static void modes_and_owner(void **state)
{
	const struct place *p = *state;
	struct store *s = opened(p);
	char owner[40];
	struct stat st;
	char *dir = xasprintf("%s/a/.state", p->dir);

	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(strlen(store_owner(s)), 36);
	snprintf(owner, sizeof(owner), "%s", store_owner(s));
	store_close(s);
	assert_int_equal(chmod(p->path, 0644), 0);
	s = opened(p);
	assert_string_equal(store_owner(s), owner);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	store_close(s);
	store_close(NULL);
	free(dir);
}

static void appends_in_order(void **state)
{
	struct store *s = opened(*state);
	struct session *a = new_session(s);
	struct session *b = new_session(s);

	assert_int_equal(ask(s, "SELECT count(*) FROM thread"), 0);
	append(a, "one \"quoted\"");
	append(b, "other");
	append(a, "two");
	assert_int_equal(strlen(session_id(a)), 36);
	assert_int_equal(ask(s, "SELECT count(*) FROM thread"), 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM message"), 3);
	assert_int_equal(ask(s, "SELECT body LIKE '%two%' FROM message WHERE"
				" thread=1 ORDER BY no DESC LIMIT 1"),
			 1);
	assert_int_equal(ask(s, "SELECT sum(output) FROM message"), 6);
	session_free(a);
	session_free(b);
	session_free(NULL);
	store_close(s);
}

/* What session_append() has returned for is there after SIGKILL. */
static void survives_kill(void **state)
{
	int fds[2];
	char byte;
	int64_t told = 0;
	pid_t child;
	struct store *s;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		struct session *mine = new_session(opened(*state));

		for (;;) {
			append(mine, "a message of the child");
			(void)!write(fds[1], "x", 1);
		}
	}
	close(fds[1]);
	while (told < 200 && read(fds[0], &byte, 1) == 1)
		told++;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	while (read(fds[0], &byte, 1) == 1)
		told++;
	close(fds[0]);
	assert_true(told >= 200);
	s = opened(*state);
	assert_in_range(ask(s, "SELECT count(*) FROM message"), told, told + 1);
	append_one(s);
	store_close(s);
}

static void many_processes(void **state)
{
	enum { CHILDREN = 4, MESSAGES = 50 };
	pid_t pids[CHILDREN];
	struct store *s;

	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (pids[i] == 0) { /* all of them create the database */
			struct store *mine = opened(*state);
			struct session *one = new_session(mine);
			struct error err = { 0 };
			char label[16];

			for (int n = 0; n < MESSAGES; n++)
				append(one, "text");
			if (ledger_intend(mine, "docker", "", 60, label, &err))
				_exit(1);
			session_free(one);
			store_close(mine);
			_exit(0);
		}
	}
	for (int i = 0; i < CHILDREN; i++) {
		int status = -1;

		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	s = opened(*state);
	assert_int_equal(ask(s, "SELECT count(*) FROM message"),
			 CHILDREN * MESSAGES);
	assert_int_equal(ask(s, "SELECT count(*) FROM thread"), CHILDREN);
	assert_int_equal(ask(s, "SELECT count(*) FROM ledger"), CHILDREN);
	assert_int_equal(ask(s, "SELECT count(*) FROM meta"), 1);
	store_close(s);
}

static int warnings;

static void count_warning(const char *line)
{
	assert_non_null(strstr(line, "damaged"));
	warnings++;
}

static void overwrite(const char *path, const char *with, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, with, strlen(with), at), strlen(with));
	close(fd);
}

static void damaged_is_moved_aside(void **state)
{
	const struct place *p = *state;
	struct error err = { 0 };
	struct store *s = opened(p);
	char *dir = xasprintf("%s/a/.state", p->dir);
	struct dirent *e;
	int aside = 0;
	DIR *d;

	append_one(s);
	store_close(s);
	warnings = 0;
	assert_int_equal(store_open(&s, p->path, count_warning, &err), 0);
	assert_int_equal(warnings, 0);
	store_close(s);
	overwrite(p->path, "this is no database at all", 0);
	assert_int_equal(store_open(&s, p->path, count_warning, &err), 0);
	assert_int_equal(err.code, ERR_NONE);
	assert_int_equal(warnings, 1);
	assert_int_equal(ask(s, "SELECT count(*) FROM message"), 0);
	append_one(s);
	store_close(s);
	d = opendir(dir);
	while ((e = readdir(d)))
		aside += strstr(e->d_name, ".damaged-") != NULL;
	closedir(d);
	assert_int_equal(aside, 1);
	free(dir);
}

static void newer_is_refused(void **state)
{
	const struct place *p = *state;
	struct error err = { 0 };
	struct store *s = opened(p);

	assert_int_equal(
		sqlite3_exec(s->db, "PRAGMA user_version=99", NULL, NULL, NULL),
		SQLITE_OK);
	store_close(s);
	s = NULL;
	assert_int_equal(store_open(&s, p->path, NULL, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_null(s);
}

struct seen {
	int n;
	char label[16];
	char id[80];
	enum ledger_state state;
	bool live;
	int64_t ends;
	char note[80];
};

static bool see(void *arg, const struct ledger_row *row)
{
	struct seen *seen = arg;

	seen->n++;
	snprintf(seen->label, sizeof(seen->label), "%s", row->label);
	snprintf(seen->id, sizeof(seen->id), "%s", row->id);
	snprintf(seen->note, sizeof(seen->note), "%s", row->note);
	seen->state = row->state;
	seen->live = row->owned_by_live;
	seen->ends = row->ends;
	return true;
}

static struct seen find(struct store *s, const char *name, enum err want)
{
	struct seen seen = { 0 };
	struct error err = { 0 };

	assert_int_equal(ledger_find(s, name, see, &seen, &err),
			 want == ERR_NONE ? 0 : -1);
	assert_int_equal(err.code, want);
	return seen;
}

static void ledger_states(void **state)
{
	struct store *s = opened(*state);
	struct error err = { 0 };
	struct seen seen = { 0 };
	char label[16];

	assert_int_equal(
		ledger_intend(s, "docker", "unix:///x", 3600, label, &err), 0);
	assert_int_equal(strlen(label), 14);
	assert_memory_equal(label, "dcode-", 6);
	seen = find(s, label, ERR_NONE);
	assert_int_equal(seen.state, LEDGER_INTENT);
	assert_true(seen.live);
	assert_true(seen.ends > clock_unix_ms() / 1000 + 3500);
	assert_int_equal(ledger_created(s, label, "0123456789abcdef", &err), 0);
	assert_int_equal(find(s, label + 6, ERR_NONE).state, LEDGER_LIVE);
	assert_int_equal(find(s, "0123456789abcdef", ERR_NONE).n, 1);
	assert_int_equal(find(s, "0123", ERR_NONE).n, 1);
	find(s, "012", ERR_NOT_FOUND);
	find(s, "4567", ERR_NOT_FOUND);
	find(s, "", ERR_NOT_FOUND);
	assert_int_equal(ledger_note(s, label, "why", &err), 0);
	assert_int_equal(ledger_removing(s, label, &err), 0);
	seen = find(s, "0123456789", ERR_NONE);
	assert_int_equal(seen.state, LEDGER_REMOVING);
	assert_string_equal(seen.note, "why");
	/* The row stays while the account has objects of the sandbox. */
	assert_int_equal(ledger_set_objects(s, label, true, &err), 0);
	assert_int_equal(ledger_gone(s, label, &err), 0);
	assert_int_equal(find(s, label, ERR_NONE).state, LEDGER_REMOVING);
	assert_int_equal(ledger_set_objects(s, label, false, &err), 0);
	assert_int_equal(ledger_gone(s, label, &err), 0);
	seen = (struct seen){ 0 };
	assert_int_equal(ledger_each(s, false, see, &seen, &err), 0);
	assert_int_equal(seen.n, 0);
	assert_int_equal(ledger_each(s, true, see, &seen, &err), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(ledger_gone(s, "dcode-nothere1", &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(ask(s, "PRAGMA synchronous"), 1);
	store_close(s);
}

static void prefixes_may_be_ambiguous(void **state)
{
	struct store *s = opened(*state);
	struct error err = { 0 };
	char a[16];
	char b[16];

	assert_int_equal(ledger_intend(s, "docker", "", 0, a, &err), 0);
	assert_int_equal(ledger_intend(s, "docker", "", 0, b, &err), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(ledger_created(s, a, "abcd1111", &err), 0);
	assert_int_equal(ledger_created(s, b, "abcd2222", &err), 0);
	find(s, "abcd", ERR_USAGE);
	assert_string_equal(find(s, "abcd1", ERR_NONE).label, a);
	assert_int_equal(ledger_created(s, b, "abcd1111-2", &err), 0);
	assert_string_equal(find(s, "abcd1111", ERR_NONE).label, a);
	assert_int_equal(ledger_gone(s, a, &err), 0);
	assert_string_equal(find(s, "abcd", ERR_NONE).label, b);
	assert_string_equal(find(s, "abcd1111", ERR_NONE).label, a);
	store_close(s);
}

static void dead_owner_is_seen(void **state)
{
	struct store *s;
	struct seen seen = { 0 };
	struct error err = { 0 };
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		struct error mine = { 0 };
		char label[16];

		_exit(ledger_intend(opened(*state), "docker", "", 60, label,
				    &mine) < 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	s = opened(*state);
	assert_int_equal(ledger_each(s, false, see, &seen, &err), 0);
	assert_int_equal(seen.n, 1);
	assert_false(seen.live);
	/* The same pid, used again by a process that started at another time:
	 * here, this one. */
	assert_int_equal(sqlite3_exec(s->db,
				      "UPDATE ledger SET pid=1, started=1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(ledger_each(s, false, see, &seen, &err), 0);
	assert_false(seen.live);
	/* Another boot of this machine, and another machine. */
	assert_int_equal(
		sqlite3_exec(s->db,
			     "UPDATE ledger SET place='other'||substr(place,"
			     "instr(place,' '))",
			     NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(ledger_each(s, false, see, &seen, &err), 0);
	assert_false(seen.live);
	assert_int_equal(sqlite3_exec(s->db, "UPDATE ledger SET place='a b c'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(ledger_each(s, false, see, &seen, &err), 0);
	assert_true(seen.live);
	store_close(s);
}

static void is_quick_and_small(void **state)
{
	enum { MESSAGES = 3000, OPENS = 50 };
	struct store *s = opened(*state);
	struct session *one = new_session(s);
	char text[1001] = { 0 };
	int64_t start;
	int64_t memory;

	memset(text, 'x', 1000);
	append(one, text);
	for (int i = 0; i < 100; i++)
		append(one, text);
	memory = sqlite3_memory_used();
	start = clock_ms();
	for (int i = 0; i < MESSAGES; i++)
		append(one, text);
	print_message("append of 1 kB: %.1f us\n",
		      (double)(clock_ms() - start) * 1000 / MESSAGES);
	print_message("sqlite memory: %" PRId64 " then %lld\n", memory,
		      (long long)sqlite3_memory_used());
	assert_true(sqlite3_memory_used() < 2 << 20);
	session_free(one);
	store_close(s);
	start = clock_ms();
	for (int i = 0; i < OPENS; i++)
		store_close(opened(*state));
	print_message("open and close: %.2f ms\n",
		      (double)(clock_ms() - start) / OPENS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modes_and_owner),        TEST(appends_in_order),
		TEST(survives_kill),          TEST(many_processes),
		TEST(damaged_is_moved_aside), TEST(newer_is_refused),
		TEST(ledger_states),          TEST(prefixes_may_be_ambiguous),
		TEST(dead_owner_is_seen),     TEST(is_quick_and_small),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
