/* grants_test.c - a call that was allowed is allowed where it was, only. */
/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "cmd/session/grants.h"
#include "tool/tool.h"
#include "unit.h"

struct asked {
	struct approval a;
	cJSON *args;
};

static void ask(struct asked *q, const char *sandbox)
{
	*q = (struct asked){ .args = cJSON_CreateObject() };
	cJSON_AddStringToObject(q->args, "command", "ls");
	q->a = (struct approval){ .tool = tool_find("execute"),
				  .args = q->args,
				  .machine = "docker",
				  .sandbox = sandbox,
				  .workdir = "/workspace",
				  .mounted = "/home/u/one" };
}

static void test_a_call_is_allowed_in_the_sandbox_where_it_was(void **state)
{
	struct grants g = { 0 };
	struct asked one;
	struct asked other;

	(void)state;
	ask(&one, "box-1");
	ask(&other, "box-2");
	assert_false(grants_have(&g, &one.a));
	grants_add(&g, &one.a, NULL);
	assert_true(grants_have(&g, &one.a));
	assert_false(grants_have(&g, &other.a));
	grants_clear(&g);
	cJSON_Delete(one.args);
	cJSON_Delete(other.args);
}

static void test_a_stored_call_is_for_each_sandbox_of_its_kind(void **s)
{
	struct grants g = { 0 };
	struct asked any;
	struct asked one;

	(void)s;
	ask(&any, NULL); /* as it is written to the file */
	ask(&one, "box-1");
	grants_add(&g, &any.a, NULL);
	assert_true(grants_have(&g, &one.a));
	one.a.machine = "local";
	assert_false(grants_have(&g, &one.a));
	grants_clear(&g);
	cJSON_Delete(any.args);
	cJSON_Delete(one.args);
}

static void test_a_call_is_not_allowed_on_another_directory(void **s)
{
	struct grants g = { 0 };
	struct asked any;

	(void)s;
	ask(&any, NULL);
	grants_add(&g, &any.a, NULL);
	any.a.mounted = "/home/u/other"; /* at the same place inside */
	assert_false(grants_have(&g, &any.a));
	any.a.mounted = "/home/u/one";
	assert_true(grants_have(&g, &any.a));
	grants_clear(&g);
	cJSON_Delete(any.args);
}

static void test_a_run_inherits_what_the_session_allowed(void **state)
{
	struct grants before = { 0 };
	struct grants g = { 0 };
	struct asked one;
	struct asked two;

	(void)state;
	ask(&one, "box-1");
	ask(&two, "box-2");
	grants_add(&before, &one.a, NULL);
	grants_add(&before, &two.a, NULL);
	before.list[1].stored = true; /* it is read from the file again */
	grants_inherit(&g, &before);
	grants_clear(&before);
	assert_true(grants_have(&g, &one.a));
	assert_false(grants_have(&g, &two.a));
	grants_clear(&g);
	cJSON_Delete(one.args);
	cJSON_Delete(two.args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_call_is_allowed_in_the_sandbox_where_it_was),
		cmocka_unit_test(
			test_a_stored_call_is_for_each_sandbox_of_its_kind),
		cmocka_unit_test(
			test_a_call_is_not_allowed_on_another_directory),
		cmocka_unit_test(test_a_run_inherits_what_the_session_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
