/* thread_test.c - stored threads are found, read, changed and deleted. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/stop.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"
#include "store_open.h"
#include "unit.h"

static void append(struct session *s, enum role role, const char *text)
{
	const struct usage u = { .input = 10, .output = 2, .cache_read = 5 };
	struct message m = { .role = role };
	struct error err = { 0 };

	message_add(&m, PART_TEXT)->text = xstrdup(text);
	if (session_append(s, &m, &u, &err) < 0)
		fail_msg("%s", err.message);
	message_release(&m);
}

/* A thread of one message in cwd; id is filled. */
static void add(struct store *s, const char *cwd, const char *text, char id[37])
{
	const struct session_info info = { .model = "v:m",
					   .cwd = cwd,
					   .provider = "docker",
					   .sandbox = "c0ffee",
					   .label = "dcode-abcd2345" };
	struct session *one = session_new(s, &info);

	append(one, ROLE_USER, text);
	snprintf(id, 37, "%s", session_id(one));
	session_free(one);
}

static void run_sql(struct store *s, const char *sql)
{
	assert_int_equal(sqlite3_exec(s->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

struct names {
	char text[8192];
	size_t n;
};

static bool see(void *arg, struct thread *t)
{
	struct names *names = arg;

	strncat(names->text, t->title,
		sizeof(names->text) - strlen(names->text) - 2);
	strncat(names->text, " ", 2);
	names->n++;
	return true;
}

static void see_pruned(void *arg, const struct thread *t)
{
	struct thread copy = *t;

	(void)see(arg, &copy);
}

static void list(struct store *s, const struct thread_filter *f,
		 struct names *names)
{
	struct error err = { 0 };

	*names = (struct names){ 0 };
	assert_int_equal(thread_each(s, f, see, names, &err), 0);
}

static void test_a_row_holds_what_the_list_shows(void **state)
{
	const struct store_place *p = *state;
	struct thread t;
	struct error err = { 0 };
	char id[37];

	add(p->store, "/x", "  fix \x1b[31m the\ttests\nplease ", id);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_string_equal(t.id, id);
	assert_string_equal(t.title, "fix the tests please");
	assert_string_equal(t.model, "v:m");
	assert_string_equal(t.provider, "docker");
	assert_string_equal(t.sandbox, "c0ffee");
	assert_string_equal(t.label, "dcode-abcd2345");
	assert_string_equal(t.cwd, "/x");
	assert_int_equal(t.messages, 1);
	assert_int_equal(t.input, 15);
	assert_int_equal(t.output, 2);
	assert_int_equal(t.pid, 0);
	assert_false(t.imported);
	assert_true(clock_unix_ms() - t.updated < 60000);
	assert_true(t.created <= t.updated);
	thread_release(&t);
}

static void test_lists_filter_and_order(void **state)
{
	const struct store_place *p = *state;
	struct names names;
	char id[37];

	add(p->store, "/x", "one", id);
	add(p->store, "/y", "two", id);
	add(p->store, "/x", "three", id);
	run_sql(p->store, "UPDATE thread SET created=no, updated=10-no;"
			  "UPDATE thread SET branch='main' WHERE no=1");
	list(p->store, &(struct thread_filter){ 0 }, &names);
	assert_string_equal(names.text, "one two three ");
	list(p->store, &(struct thread_filter){ .by_created = true }, &names);
	assert_string_equal(names.text, "three two one ");
	list(p->store, &(struct thread_filter){ .cwd = "/x" }, &names);
	assert_string_equal(names.text, "one three ");
	list(p->store, &(struct thread_filter){ .branch = "main" }, &names);
	assert_string_equal(names.text, "one ");
	list(p->store, &(struct thread_filter){ .limit = 2 }, &names);
	assert_string_equal(names.text, "one two ");
	list(p->store, &(struct thread_filter){ .cwd = "/" }, &names);
	assert_int_equal(names.n, 0);
}

static void test_a_list_can_take_what_is_below_a_directory(void **state)
{
	const struct store_place *p = *state;
	struct names names;
	char id[37];

	add(p->store, "/x", "one", id);
	add(p->store, "/x/y", "two", id);
	add(p->store, "/xy", "three", id);
	run_sql(p->store, "UPDATE thread SET updated=10-no");
	list(p->store, &(struct thread_filter){ .below = "/x" }, &names);
	assert_string_equal(names.text, "one two ");
	list(p->store, &(struct thread_filter){ .below = "/x/y" }, &names);
	assert_string_equal(names.text, "two ");
	list(p->store, &(struct thread_filter){ .below = "/" }, &names);
	assert_string_equal(names.text, "one two three ");
}

static void test_threads_are_found_by_prefix_and_by_latest(void **state)
{
	const struct store_place *p = *state;
	struct error err = { 0 };
	struct thread t;
	char one[37];
	char two[37];

	assert_int_equal(thread_find(p->store, "latest", NULL, &t, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	add(p->store, "/x", "one", one);
	add(p->store, "/y", "two", two);
	run_sql(p->store, "UPDATE thread SET id='0abc1111-one' WHERE no=1;"
			  "UPDATE thread SET id='0abc2222-two' WHERE no=2;"
			  "UPDATE thread SET updated=10-no");
	assert_int_equal(thread_find(p->store, "0ABC2", NULL, &t, &err), 0);
	assert_string_equal(t.title, "two");
	thread_release(&t);
	assert_int_equal(thread_find(p->store, NULL, NULL, &t, &err), 0);
	assert_string_equal(t.title, "one");
	thread_release(&t);
	assert_int_equal(thread_find(p->store, "latest", "/y", &t, &err), 0);
	assert_string_equal(t.title, "two");
	thread_release(&t);
	assert_int_equal(thread_find(p->store, "0abc", NULL, &t, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(thread_find(p->store, "0", NULL, &t, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(thread_find(p->store, "latest", "/z", &t, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_an_unknown_id_names_near_ones(void **state)
{
	const struct store_place *p = *state;
	struct error err = { 0 };
	struct thread t;
	char id[37];

	add(p->store, "/x", "one", id);
	run_sql(p->store, "UPDATE thread SET id='0abc1111-one'");
	assert_int_equal(thread_find(p->store, "0abd1", NULL, &t, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "0abc1111-one"));
	err = (struct error){ 0 };
	assert_int_equal(thread_find(p->store, "zzzzzzzz", NULL, &t, &err), -1);
	assert_null(strstr(err.hint, "0abc1111-one"));
	assert_int_equal(thread_find(p->store, "xyz", NULL, &t, &err), -1);
	assert_null(strstr(err.hint, "0abc1111-one")); /* a short word */
	assert_int_equal(thread_find(p->store, "0ab", NULL, &t, &err), -1);
	assert_non_null(strstr(err.hint, "Did you mean 0abc1111-one?"));
	assert_int_equal(thread_find(p->store, "%", NULL, &t, &err), -1);
	assert_int_equal(thread_find(p->store, "____", NULL, &t, &err), -1);
}

static bool read_text(void *arg, struct thread_message *m)
{
	struct buf *out = arg;
	char *text = message_text(&m->message);

	buf_adds(out, m->damaged ? "(damaged)" : text);
	buf_addc(out, ' ');
	free(text);
	return true;
}

static char *read_all(struct store *s, const char *id)
{
	struct buf out = BUF_INIT(1 << 16);
	struct error err = { 0 };
	struct thread t;

	assert_int_equal(thread_find(s, id, NULL, &t, &err), 0);
	assert_int_equal(thread_each_message(s, t.no, read_text, &out, &err),
			 0);
	thread_release(&t);
	return buf_detach(&out);
}

static void test_messages_come_in_order_and_damaged_ones_are_told(void **state)
{
	const struct store_place *p = *state;
	const struct session_info info = { .model = "v:m", .cwd = "/x" };
	struct session *one = session_new(p->store, &info);
	char *text;

	append(one, ROLE_USER, "a");
	append(one, ROLE_ASSISTANT, "b");
	append(one, ROLE_USER, "c");
	run_sql(p->store, "UPDATE message SET body='{' WHERE no=2");
	text = read_all(p->store, session_id(one));
	assert_string_equal(text, "a (damaged) c ");
	free(text);
	session_free(one);
}

static void test_a_resumed_thread_goes_on_and_a_copy_begins_alike(void **state)
{
	const struct store_place *p = *state;
	const struct session_info info = { .model = "v:other", .cwd = "/z" };
	struct session *again = NULL;
	struct session *copy;
	struct error err = { 0 };
	struct thread t;
	char id[37];
	char *text;
	int64_t pid;

	add(p->store, "/x", "one", id);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_int_equal(
		session_resume(&again, p->store, &t, &info, &pid, &err), 0);
	append(again, ROLE_ASSISTANT, "two");
	copy = session_copy(p->store, &t, &info);
	assert_false(session_is_stored(copy));
	append(copy, ROLE_USER, "three");
	assert_true(session_is_stored(copy));
	text = read_all(p->store, id);
	assert_string_equal(text, "one two ");
	free(text);
	text = read_all(p->store, session_id(copy));
	assert_string_equal(text, "one two three ");
	free(text);
	thread_release(&t);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_string_equal(t.model, "v:other");
	assert_string_equal(t.cwd, "/z");
	assert_string_equal(t.label, "");
	assert_string_equal(t.title, "one");
	assert_int_equal(t.pid, getpid());
	session_free(again);
	session_free(copy);
	thread_release(&t);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_int_equal(t.pid, 0);
	thread_release(&t);
}

/* Another process that uses the thread until it is killed. */
static pid_t hold(const struct store_place *p, const char *id)
{
	const struct session_info info = { .model = "m", .cwd = "/x" };
	struct session *one = NULL;
	struct store *s = NULL;
	struct error err = { 0 };
	struct thread t;
	int64_t by;
	int fds[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (store_open(&s, p->path, NULL, &err) == 0 &&
		    thread_find(s, id, NULL, &t, &err) == 0 &&
		    session_resume(&one, s, &t, &info, &by, &err) == 0)
			(void)!write(fds[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void test_a_thread_belongs_to_one_living_process(void **state)
{
	const struct store_place *p = *state;
	const struct session_info info = { .model = "m", .cwd = "/x" };
	const struct thread_prune prune = { .keep = 0 };
	struct session *mine = NULL;
	struct names names = { 0 };
	struct error err = { 0 };
	struct thread t;
	char id[37];
	int64_t by = 0;
	pid_t pid;

	add(p->store, "/x", "one", id);
	pid = hold(p, id);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_int_equal(t.pid, pid);
	assert_int_equal(session_resume(&mine, p->store, &t, &info, &by, &err),
			 -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(by, pid);
	assert_int_equal(thread_delete(p->store, &t, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(
		thread_prune(p->store, &prune, see_pruned, &names, &err), 0);
	assert_int_equal(names.n, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(session_resume(&mine, p->store, &t, &info, &by, &err),
			 0);
	session_free(mine);
	assert_int_equal(thread_delete(p->store, &t, &err), 0);
	assert_int_equal(thread_delete(p->store, &t, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	thread_release(&t);
	list(p->store, &(struct thread_filter){ 0 }, &names);
	assert_int_equal(names.n, 0);
}

static void test_renaming_makes_one_clean_line(void **state)
{
	const struct store_place *p = *state;
	struct error err = { 0 };
	struct thread t;
	char id[37];

	add(p->store, "/x", "one", id);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_int_equal(thread_rename(p->store, &t, "a\n\x1b]0;x\x07 b", &err),
			 0);
	thread_release(&t);
	assert_int_equal(thread_find(p->store, id, NULL, &t, &err), 0);
	assert_string_equal(t.title, "a b");
	assert_int_equal(thread_delete(p->store, &t, &err), 0);
	assert_int_equal(thread_rename(p->store, &t, "c", &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	thread_release(&t);
}

static void test_pruning_goes_by_age_and_by_number(void **state)
{
	const struct store_place *p = *state;
	struct thread_prune prune = { .before = 8,
				      .keep = -1,
				      .dry_run = true };
	struct names names = { 0 };
	struct error err = { 0 };
	char id[37];

	add(p->store, "/x", "one", id);
	add(p->store, "/x", "two", id);
	add(p->store, "/x", "three", id);
	run_sql(p->store, "UPDATE thread SET updated=10-no");
	assert_int_equal(
		thread_prune(p->store, &prune, see_pruned, &names, &err), 0);
	assert_string_equal(names.text, "three ");
	list(p->store, &(struct thread_filter){ 0 }, &names);
	assert_int_equal(names.n, 3);
	prune.dry_run = false;
	assert_int_equal(
		thread_prune(p->store, &prune, see_pruned, &names, &err), 0);
	list(p->store, &(struct thread_filter){ 0 }, &names);
	assert_string_equal(names.text, "one two ");
	prune = (struct thread_prune){ .keep = 1 };
	assert_int_equal(
		thread_prune(p->store, &prune, see_pruned, &names, &err), 0);
	list(p->store, &(struct thread_filter){ 0 }, &names);
	assert_string_equal(names.text, "one ");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_row_holds_what_the_list_shows),
		TEST(test_lists_filter_and_order),
		TEST(test_a_list_can_take_what_is_below_a_directory),
		TEST(test_threads_are_found_by_prefix_and_by_latest),
		TEST(test_an_unknown_id_names_near_ones),
		TEST(test_messages_come_in_order_and_damaged_ones_are_told),
		TEST(test_a_resumed_thread_goes_on_and_a_copy_begins_alike),
		TEST(test_a_thread_belongs_to_one_living_process),
		TEST(test_renaming_makes_one_clean_line),
		TEST(test_pruning_goes_by_age_and_by_number),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
