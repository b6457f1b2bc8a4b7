/* compaction_test.c - what a model goes on with after a compaction. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/compact.c"
#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "session/history.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"
#include "store_open.h"
#include "unit.h"

struct place {
	char dir[64];
	struct store *store;
	struct session *session;
};

static int set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	const struct session_info info = { .model = "anthropic:m" };
	struct error err = { 0 };
	char *path;

	ids_init();
	snprintf(p->dir, sizeof(p->dir), "/tmp/dcode-unit-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	path = path_join(p->dir, "dcode.db");
	assert_int_equal(store_open(&p->store, path, NULL, &err), 0);
	free(path);
	p->session = session_new(p->store, &info);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct error err = { 0 };

	session_free(p->session);
	store_close(p->store);
	assert_int_equal(path_remove_tree(p->dir, &err), 0);
	free(p);
	return 0;
}

static struct message text_message(enum role role, const char *text)
{
	struct message m = { .role = role };

	message_add(&m, PART_TEXT)->text = xstrdup(text);
	return m;
}

static void append(struct session *s, enum role role, const char *text)
{
	struct message m = text_message(role, text);
	struct error err = { 0 };

	assert_int_equal(session_append(s, &m, NULL, &err), 0);
	message_release(&m);
}

static void compact(struct session *s, const char *summary)
{
	struct conversation c = { .results = 7 };
	struct message m = text_message(ROLE_USER, summary);
	struct buf body = BUF_INIT(1 << 20);
	const struct usage used = { .input = 100, .output = 10 };
	struct error err = { 0 };

	m.summary = true;
	history_add(&c, &m);
	history_to_json(&c, &body);
	assert_int_equal(session_compact(s, buf_str(&body), &used, &err), 0);
	buf_release(&body);
	history_release(&c);
}

static void load(struct session *s, struct conversation *c)
{
	struct error err = { 0 };
	int64_t no;
	struct store *store = session_store(s, &no);

	assert_int_equal(history_load(c, store, no, &err), 0);
}

static void has(const struct conversation *c, size_t at, const char *text)
{
	assert_true(at < c->n);
	assert_string_equal(c->list[at].parts[0].text, text);
}

static bool count(void *arg, struct thread_message *m)
{
	assert_false(m->damaged);
	++*(int *)arg;
	return true;
}

static void test_a_model_goes_on_with_the_last_compaction(void **state)
{
	struct place *p = *state;
	struct conversation c = { 0 };
	struct error err = { 0 };
	int64_t no;
	int n = 0;

	append(p->session, ROLE_USER, "one");
	append(p->session, ROLE_ASSISTANT, "two");
	load(p->session, &c);
	assert_int_equal(c.after, 0);
	assert_int_equal(c.n, 2);
	history_release(&c);
	compact(p->session, "first summary");
	append(p->session, ROLE_ASSISTANT, "three");
	compact(p->session, "second summary");
	append(p->session, ROLE_ASSISTANT, "four");
	load(p->session, &c);
	assert_int_equal(c.n, 2);
	assert_true(c.list[0].summary);
	has(&c, 0, "second summary");
	has(&c, 1, "four");
	assert_int_equal(c.after, 3);
	assert_int_equal(c.stored, 4);
	assert_int_equal(c.results, 7);
	history_release(&c);
	(void)session_store(p->session, &no);
	assert_int_equal(thread_each_message(p->store, no, count, &n, &err), 0);
	assert_int_equal(n, 4);
}

static void test_making_it_counts_for_the_thread(void **state)
{
	struct place *p = *state;
	struct thread t = { 0 };
	struct error err = { 0 };

	append(p->session, ROLE_USER, "one");
	compact(p->session, "summary");
	assert_int_equal(
		thread_find(p->store, session_id(p->session), NULL, &t, &err),
		0);
	assert_int_equal(t.input, 100);
	assert_int_equal(t.output, 10);
	assert_int_equal(t.messages, 1);
	thread_release(&t);
}

static void test_a_copy_goes_on_the_same_way(void **state)
{
	struct place *p = *state;
	const struct session_info info = { .model = "anthropic:m" };
	struct conversation c = { 0 };
	struct thread t = { 0 };
	struct error err = { 0 };
	struct session *copy;

	append(p->session, ROLE_USER, "one");
	compact(p->session, "summary");
	assert_int_equal(
		thread_find(p->store, session_id(p->session), NULL, &t, &err),
		0);
	copy = session_copy(p->store, &t, &info);
	append(copy, ROLE_USER, "more");
	load(copy, &c);
	has(&c, 0, "summary");
	has(&c, 1, "more");
	history_release(&c);
	session_free(copy);
	thread_release(&t);
}

static void test_a_damaged_one_leaves_all_messages(void **state)
{
	struct place *p = *state;
	struct conversation c = { 0 };

	append(p->session, ROLE_USER, "one");
	compact(p->session, "summary");
	assert_int_equal(sqlite3_exec(p->store->db,
				      "UPDATE compaction SET body='{\"x'", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	load(p->session, &c);
	assert_int_equal(c.n, 1);
	has(&c, 0, "one");
	assert_int_equal(c.after, 0);
	history_release(&c);
}

static void test_a_text_is_cut_in_its_middle_and_says_so(void **state)
{
	struct buf out = BUF_INIT(1 << 20);
	char text[4001];

	(void)state;
	for (size_t i = 0; i < 4000; i += 2)
		memcpy(text + i, "\xC3\xB6", 3);
	history_text_shorten(str_of(text), 301, &out);
	assert_true(str_is_utf8(buf_str(&out)));
	assert_true(out.len < 420);
	assert_non_null(strstr(out.ptr, "bytes are left out"));
	assert_non_null(strstr(out.ptr, "read_history shows the whole"));
	buf_clear(&out);
	history_text_shorten_summary(str_of(text), 301, &out);
	assert_non_null(strstr(out.ptr, "bytes of the summary are left out"));
	assert_null(strstr(out.ptr, "read_history"));
	buf_clear(&out);
	history_text_shorten(STR("short"), 301, &out);
	assert_string_equal(out.ptr, "short");
	buf_release(&out);
}

static void add_call(struct message *m, const char *name, const char *args)
{
	struct part *call = message_add(m, PART_TOOL_CALL);

	call->name = xstrdup(name);
	call->id = xstrdup("id");
	call->args = xstrdup(args);
}

static void add_result(struct conversation *c, const char *name, bool failed)
{
	struct message m = { .role = ROLE_TOOL };
	struct part *p = message_add(&m, PART_TOOL_RESULT);

	p->name = xstrdup(name);
	p->id = xstrdup("id");
	p->text = xstrdup("done");
	p->failed = failed;
	history_add(c, &m);
}

static void test_the_list_of_tasks_is_kept_byte_for_byte(void **state)
{
	static const char list[] = "{\"todos\": [ {\"content\":\"\\u00d6l\"}]}";
	struct conversation c = { 0 };
	struct message call = { .role = ROLE_ASSISTANT };
	struct message first = { .role = ROLE_USER };
	struct message second = { .role = ROLE_USER };

	(void)state;
	add_call(&call, "write_todos", list);
	assert_false(history_text_trim(&call, 1));
	history_add(&c, &call);
	add_result(&c, "write_todos", false);
	add_summary(&first, STR("s"));
	add_todos(&first, &c, 2);
	assert_int_equal(first.n, 2);
	assert_non_null(strstr(first.parts[1].text, list));
	history_release(&c);
	first.summary = true;
	history_add(&c, &first);
	add_summary(&second, STR("t"));
	add_todos(&second, &c, 1);
	assert_int_equal(second.n, 2);
	assert_string_equal(second.parts[1].text, c.list[0].parts[1].text);
	message_release(&second);
	history_release(&c);
}

static void test_what_the_user_adds_to_a_request_is_kept_with_it(void **state)
{
	static const struct {
		enum role role;
		bool steering;
	} list[] = { { ROLE_USER, false },      { ROLE_ASSISTANT, false },
		     { ROLE_USER, true },       { ROLE_USER, false },
		     { ROLE_ASSISTANT, false }, { ROLE_USER, true },
		     { ROLE_ASSISTANT, false } };
	enum { N = sizeof(list) / sizeof(*list) };
	struct conversation c = { 0 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		struct message m = text_message(list[i].role, "text");

		m.steering = list[i].steering;
		history_add(&c, &m);
	}
	assert_int_equal(find_request(&c), 3);
	assert_int_equal(find_kept(&c, 0, N), 3);
	assert_int_equal(find_kept(&c, 4, N), 5);
	assert_int_equal(find_kept(&c, 6, N), N);
	assert_int_equal(find_kept(&c, 0, 2), 2);
	history_release(&c);
}

static void test_a_list_of_tasks_that_was_refused_is_not_kept(void **state)
{
	static const char list[] = "{\"todos\":[]}";
	struct conversation c = { 0 };
	struct message first = { .role = ROLE_USER };

	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		struct message call = { .role = ROLE_ASSISTANT };

		add_call(&call, "write_todos", refused ? "{\"x\":1}" : list);
		history_add(&c, &call);
		add_result(&c, "write_todos", refused);
	}
	add_todos(&first, &c, c.n);
	assert_int_equal(first.n, 1);
	assert_non_null(strstr(first.parts[0].text, list));
	message_release(&first);
	add_todos(&first, &c, 0); /* all of them stay */
	assert_int_equal(first.n, 0);
	history_release(&c);
}

static void test_a_copy_that_has_not_gone_on_is_compacted(void **state)
{
	struct place *p = *state;
	const struct session_info info = { .model = "anthropic:m" };
	struct compaction_marks marks = { 0 };
	struct conversation c = { 0 };
	struct thread t = { 0 };
	struct error err = { 0 };
	struct session *copy;
	int64_t no;
	int n = 0;

	append(p->session, ROLE_USER, "one");
	append(p->session, ROLE_ASSISTANT, "two");
	assert_int_equal(
		thread_find(p->store, session_id(p->session), NULL, &t, &err),
		0);
	copy = session_copy(p->store, &t, &info);
	load(copy, &c);
	assert_int_equal(c.n, 2);
	history_release(&c);
	compact(copy, "summary");
	assert_true(session_is_stored(copy));
	load(copy, &c);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.after, 2);
	has(&c, 0, "summary");
	history_release(&c);
	(void)session_store(copy, &no);
	assert_true(no != t.no);
	assert_int_equal(thread_each_message(p->store, no, count, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(compaction_list(p->store, t.no, &marks, &err), 0);
	assert_int_equal(marks.n, 0); /* the one it was made of stays */
	session_free(copy);
	thread_release(&t);
}

static void test_each_compaction_has_its_place_among_the_messages(void **state)
{
	struct place *p = *state;
	struct compaction_marks marks = { 0 };
	struct error err = { 0 };
	struct buf json = BUF_INIT(1 << 10);
	int64_t no;

	append(p->session, ROLE_USER, "one");
	append(p->session, ROLE_ASSISTANT, "two");
	compact(p->session, "first");
	append(p->session, ROLE_USER, "three");
	compact(p->session, "second");
	compact(p->session, "third");
	(void)session_store(p->session, &no);
	assert_int_equal(compaction_list(p->store, no, &marks, &err), 0);
	assert_int_equal(marks.n, 3);
	assert_null(compaction_next(&marks, 1));
	assert_int_equal(compaction_next(&marks, 2)->after, 2);
	assert_null(compaction_next(&marks, 2));
	assert_int_equal(compaction_next(&marks, 3)->after, 3);
	assert_int_equal(compaction_next(&marks, 3)->after, 3);
	assert_null(compaction_next(&marks, 9));
	compaction_marks_json(&marks, &json);
	assert_non_null(strstr(json.ptr, "{\"after\":3,\"created\":1"));
	buf_release(&json);
	compaction_marks_release(&marks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_model_goes_on_with_the_last_compaction),
		TEST(test_making_it_counts_for_the_thread),
		TEST(test_a_copy_goes_on_the_same_way),
		TEST(test_a_damaged_one_leaves_all_messages),
		cmocka_unit_test(test_a_text_is_cut_in_its_middle_and_says_so),
		cmocka_unit_test(test_the_list_of_tasks_is_kept_byte_for_byte),
		cmocka_unit_test(
			test_what_the_user_adds_to_a_request_is_kept_with_it),
		cmocka_unit_test(
			test_a_list_of_tasks_that_was_refused_is_not_kept),
		TEST(test_a_copy_that_has_not_gone_on_is_compacted),
		TEST(test_each_compaction_has_its_place_among_the_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
