/* todos_test.c - write_todos, and the list that a conversation holds. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "markup.h"
#include "tool/todos.h"
#include "tool_bench.h"
#include "ui/summary.h"
#include "unit.h"

#define ITEM(content, status)                                                  \
	"{\"content\":\"" content "\",\"status\":\"" status "\"}"
#define LIST(items) "{\"todos\":[" items "]}"
#define TWO LIST(ITEM("read", "completed") "," ITEM("it's", "in_progress"))

static void test_a_list_is_told_back(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "write_todos", TWO, false,
	       "Updated todo list to [{'content': 'read', 'status': "
	       "'completed'}, {'content': \"it's\", 'status': 'in_progress'}]");
	expect(&b, "write_todos", "{\"todos\":[]}", false,
	       "Updated todo list to []");
	assert_int_equal(b.fake.calls, 0); /* nothing in the sandbox */
	bench_release(&b);
}

static void refused(struct bench *b, const char *args, const char *why)
{
	assert_non_null(strstr(call(b, "write_todos", args), why));
	assert_true(b->failed);
}

static void test_a_wrong_list_is_refused(void **state)
{
	struct buf big = BUF_INIT(1 << 20);
	struct bench b;

	(void)state;
	bench_init(&b);
	refused(&b, "{}", " todos: Field required\n");
	refused(&b, "{\"todos\":\"x\"}", "should be a valid list");
	refused(&b, "{\"todos\":[3]}", " todos.0: Input should be an object");
	refused(&b, LIST(ITEM("a", "done")),
		" todos.0.status: Input should be 'pending', 'in_progress' or "
		"'completed'\n");
	refused(&b, LIST(ITEM("a", "pending") "," ITEM(" ", "pending")),
		" todos.1.content: it must not be blank\n");
	refused(&b, "{\"todos\":[{\"status\":\"pending\"}]}",
		" todos.0.content: Input should be a valid string\n");
	buf_adds(&big, "{\"todos\":[");
	for (int i = 0; i <= TODOS_MOST; i++)
		buf_addf(&big, "%s" ITEM("a", "pending"), i ? "," : "");
	buf_adds(&big, "]}");
	refused(&b, big.ptr, " todos: at most 100 items");
	buf_clear(&big);
	buf_adds(&big, "{\"todos\":[{\"status\":\"pending\",\"content\":\"");
	for (int i = 0; i <= TODOS_CONTENT_CHARS; i++)
		buf_addc(&big, 'a');
	buf_adds(&big, "\"}]}");
	refused(&b, big.ptr, " todos.0.content: at most 500 characters");
	buf_release(&big);
	bench_release(&b);
}

static void add(struct message *m, enum part_kind kind, const char *id,
		const char *args, bool failed)
{
	struct part *p = message_add(m, kind);

	p->id = xstrdup(id);
	p->name = xstrdup("write_todos");
	p->args = xstrdup(args);
	p->failed = failed;
}

static void test_the_newest_call_that_succeeded_counts(void **state)
{
	struct message list[5] = { { .role = ROLE_ASSISTANT },
				   { .role = ROLE_TOOL },
				   { .role = ROLE_ASSISTANT },
				   { .role = ROLE_TOOL },
				   { .role = ROLE_USER } };
	const struct part *found;

	(void)state;
	add(&list[0], PART_TOOL_CALL, "a", TWO, false);
	add(&list[1], PART_TOOL_RESULT, "a", NULL, false);
	add(&list[2], PART_TOOL_CALL, "a", "{}", false); /* the id again */
	add(&list[3], PART_TOOL_RESULT, "a", NULL, true);
	assert_null(todos_latest(list, 0));
	assert_null(todos_latest(list, 1)); /* no result yet */
	found = todos_latest(list, 5);
	assert_ptr_equal(found, &list[0].parts[0]);
	list[3].parts[0].failed = false;
	assert_ptr_equal(todos_latest(list, 5), &list[2].parts[0]);
	for (int i = 0; i < 5; i++)
		message_release(&list[i]);
}

static struct part call_of(const char *args)
{
	return (struct part){ .kind = PART_TOOL_CALL,
			      .id = (char *)"c",
			      .name = (char *)"write_todos",
			      .args = (char *)args };
}

static void test_a_call_is_read_into_a_list(void **state)
{
	struct part good = call_of(TWO);
	struct part bad = call_of("{\"todos\":4}");
	struct todos t = { 0 };
	struct buf text = BUF_INIT(1000);

	(void)state;
	assert_true(todos_read(&t, &good));
	assert_false(todos_read(&t, &bad));
	assert_int_equal(t.n, 2); /* as it was */
	todo_view_count(&t, &text);
	assert_string_equal(text.ptr, "1 of 2 done");
	buf_clear(&text);
	todo_view_text(&t, &text);
	assert_string_equal(text.ptr, "[x] read\n[>] it's\n");
	good.name = (char *)"ls";
	assert_false(todos_read(&t, &good));
	todos_release(&t);
	buf_release(&text);
}

static void shows(const char *args, bool ascii, const char *want)
{
	struct theme theme = { .ascii = ascii };
	struct part call = call_of(args);
	struct rows rows = { 0 };
	char *shown;

	assert_true(todo_view_rows(&call, &theme, 30, &rows));
	shown = markup(&rows);
	assert_string_equal(shown, want);
	free(shown);
	rows_release(&rows);
}

static void test_a_screen_shows_each_step_with_its_sign(void **state)
{
	(void)state;
	shows(LIST(ITEM("read", "completed") "," ITEM(
		      "write a text that needs two rows",
		      "in_progress") "," ITEM("te\\u0007st", "pending")),
	      false,
	      "{muted|    \u2611 read}\n"
	      "{bold|    \u25b8 write a text that needs}\n"
	      "      {bold|two rows}\n"
	      "    \u2610 test\n");
	shows(LIST(ITEM("read", "completed") "," ITEM("run", "pending")), true,
	      "{muted|    [x] read}\n    [ ] run\n");
}

static void test_a_long_list_shows_the_steps_at_work(void **state)
{
	struct buf args = BUF_INIT(1 << 16);
	struct theme theme = { .ascii = true };
	struct rows rows = { 0 };
	struct part call;
	char *shown;

	(void)state;
	buf_adds(&args, "{\"todos\":[");
	for (int i = 0; i < 30; i++)
		buf_addf(&args, "%s{\"content\":\"s%d\",\"status\":\"%s\"}",
			 i ? "," : "", i, i < 10 ? "completed" : "pending");
	buf_adds(&args, "]}");
	call = call_of(args.ptr);
	assert_true(todo_view_rows(&call, &theme, 40, &rows));
	assert_int_equal(rows.n, TODO_VIEW_ROWS + 2);
	shown = markup(&rows);
	assert_non_null(strstr(shown, "    9 before"));
	assert_non_null(strstr(shown, "    [x] s9"));
	assert_non_null(strstr(shown, "    [ ] s20\n"));
	assert_non_null(strstr(shown, "    9 more"));
	free(shown);
	rows_release(&rows);
	buf_release(&args);
}

static void test_the_live_row_names_the_step_at_work(void **state)
{
	struct theme theme = { .ascii = true };
	struct part call = call_of(TWO);
	struct part done = call_of(LIST(ITEM("a", "completed")));
	struct agent_event ev = { .kind = EVENT_TOOL_RESULT, .call = &call };
	struct rows rows = { 0 };
	struct todos t = { 0 };
	char *shown;

	(void)state;
	todo_view_follow(&t, &ev);
	todo_view_live(&t, &theme, 40, &rows);
	shown = markup(&rows);
	assert_string_equal(shown, "{muted|[>] 1 of 2 done: it's}\n");
	free(shown);
	rows_clear(&rows);
	ev.call = &done;
	ev.failed = true;
	todo_view_follow(&t, &ev);
	assert_int_equal(t.n, 2);
	ev.failed = false;
	todo_view_follow(&t, &ev);
	todo_view_live(&t, &theme, 40, &rows);
	assert_int_equal(rows.n, 0);
	rows_release(&rows);
	todos_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_is_told_back),
		cmocka_unit_test(test_a_wrong_list_is_refused),
		cmocka_unit_test(test_the_newest_call_that_succeeded_counts),
		cmocka_unit_test(test_a_call_is_read_into_a_list),
		cmocka_unit_test(test_a_screen_shows_each_step_with_its_sign),
		cmocka_unit_test(test_a_long_list_shows_the_steps_at_work),
		cmocka_unit_test(test_the_live_row_names_the_step_at_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
