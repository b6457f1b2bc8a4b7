/* docker_top_test.c - which processes of a container belong to a command. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "providers/docker/kill.c"

/* As Docker 20.10 answers: the first process and what it waits for, an exec
 * that runs, what it started and left behind, what an earlier command left
 * behind, another exec with a child. */
static const char docker[] =
	"{\"Titles\":[\"PID\",\"PPID\",\"STAT\",\"ELAPSED\",\"COMMAND\"],"
	"\"Processes\":[[\"100\",\"90\",\"Ss\",\"01:40\",\"/bin/sh\"],"
	"[\"101\",\"100\",\"S\",\"01:40\",\"sleep 600\"],"
	"[\"150\",\"100\",\"S\",\"00:50\",\"server\"],"
	"[\"151\",\"150\",\"S\",\"00:01\",\"server worker\"],"
	"[\"200\",\"90\",\"Ss\",\"00:09\",\"sh -c x\"],"
	"[\"201\",\"200\",\"S\",\"00:09\",\"child\"],"
	"[\"202\",\"100\",\"S\",\"00:09\",\"daemon\\u001b[2J\"],"
	"[\"203\",\"202\",\"S\",\"00:08\",\"grandchild\"],"
	"[\"204\",\"100\",\"Z\",\"00:08\",\"[gone] <defunct>\"],"
	"[\"205\",\"100\",\"Zl\",\"00:08\",\"[no leader]\"],"
	"[\"206\",\"90\",\"Ss\",\"00:07\",\"sh -c other\"],"
	"[\"207\",\"206\",\"S\",\"00:07\",\"other\"],"
	"[\"50\",\"100\",\"S\",\"00:02\",\"numbers began anew\"]]}";

static void parse(const char *text, struct top *top)
{
	struct error err = { 0 };

	if (top_parse(top, json_parse(str_of(text)), &err) < 0)
		fail_msg("%s", err.message);
}

static bool belongs(const struct top *top, int64_t pid,
		    const struct top_call *call)
{
	for (size_t i = 0; i < top->n; i++)
		if (top->list[i].pid == pid)
			return top_belongs(top, i, call);
	fail_msg("no process %lld", (long long)pid);
	return false;
}

static void test_a_call_has_its_tree_and_what_it_left_behind(void **state)
{
	static const int64_t yes[] = { 200, 201, 202, 203, 205, 50 };
	static const int64_t no[] = { 100, 101, 150, 151, 204, 206, 207 };
	struct top_call call = { .init = 100, .root = 200, .age_ms = 9500 };
	struct top top;

	(void)state;
	parse(docker, &top);
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(belongs(&top, yes[i], &call));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(belongs(&top, no[i], &call));
	call.init_reaps = true; /* then a zombie that stays has threads */
	assert_true(belongs(&top, 204, &call));
	call.killer = 206;
	assert_true(belongs(&top, 207, &call));
	/* Without root only what is surely younger. */
	call.root = 0;
	call.age_ms = 5000;
	assert_true(belongs(&top, 50, &call));
	assert_false(belongs(&top, 202, &call));
	top_release(&top);
}

static void test_names_are_clean_and_few(void **state)
{
	struct top_call call = { .init = 100, .root = 200, .age_ms = 9500 };
	struct buf names = BUF_INIT(1000);
	struct top top;

	(void)state;
	parse(docker, &top);
	assert_int_equal(top_names(&top, &call, false, &names), 6);
	assert_string_equal(names.ptr,
			    "50 numbers began anew, 200 sh -c x, 201 child, "
			    "202 daemon, 203 grandchild and 1 more");
	buf_clear(&names);
	assert_int_equal(top_names(&top, &call, true, &names), 1);
	assert_string_equal(names.ptr, "150 server");
	buf_release(&names);
	top_release(&top);
}

/* Podman's numbers are those of the container; ages are Go's durations. */
static void test_podman(void **state)
{
	struct top_call call = { .init = 900, .root = 930, .age_ms = 4000 };
	struct top top;

	(void)state;
	parse("{\"Titles\":[\"HPID\",\"PID\",\"PPID\",\"STATE\",\"ELAPSED\","
	      "\"COMMAND\"],\"Processes\":["
	      "[\"900\",\"1\",\"0\",\"S\",\"1h2m3.5s\",\"sh\"],"
	      "[\"910\",\"6\",\"1\",\"S\",\"1h2m3.5s\",\"sleep\"],"
	      "[\"930\",\"7\",\"0\",\"S\",\"4.07466687s\",\"sh -c x\"],"
	      "[\"935\",\"9\",\"1\",\"S\",\"812.5ms\",\"left\"]]}",
	      &top);
	assert_int_equal(top.list[0].age_ms, 3723500);
	assert_int_equal(top.list[3].age_ms, 812);
	assert_false(belongs(&top, 6, &call));
	assert_true(belongs(&top, 7, &call));
	assert_true(belongs(&top, 9, &call));
	top_release(&top);
}

static void test_answers_that_make_no_sense(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"Titles\":[],\"Processes\":[[\"1\"]]}",
		"{\"Titles\":[\"PID\",\"PPID\"],\"Processes\":[]}",
		"{\"Titles\":[\"PID\",\"PPID\"],\"Processes\":null}",
		"{\"Titles\":[\"PID\",\"PPID\"],\"Processes\":[[\"1\",\"x\"]]}",
		"{\"Titles\":[\"PID\",\"PPID\"],\"Processes\":[[1,0]]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct error err = { 0 };
		struct top top;

		assert_int_equal(
			top_parse(&top, json_parse(str_of(texts[i])), &err),
			-1);
		assert_int_equal(err.code, ERR_PROTOCOL);
	}
}

/* A chain of processes that is its own ancestor, or longer than any. */
static void test_trees_that_do_not_end(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct top_call call = { .init = 1, .root = 5, .age_ms = 1000 };
	struct top top;

	(void)state;
	buf_adds(&text, "{\"Titles\":[\"PID\",\"PPID\"],\"Processes\":["
			"[\"10\",\"11\"],[\"11\",\"10\"],[\"12\",\"12\"]");
	for (int i = 100; i < 1000; i++)
		buf_addf(&text, ",[\"%d\",\"%d\"]", i, i + 1);
	buf_adds(&text, "]}");
	parse(text.ptr, &top);
	for (size_t i = 0; i < top.n; i++)
		(void)top_belongs(&top, i, &call);
	assert_true(belongs(&top, 100, &call));
	top_release(&top);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_call_has_its_tree_and_what_it_left_behind),
		cmocka_unit_test(test_names_are_clean_and_few),
		cmocka_unit_test(test_podman),
		cmocka_unit_test(test_answers_that_make_no_sense),
		cmocka_unit_test(test_trees_that_do_not_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
