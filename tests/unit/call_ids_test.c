/* call_ids_test.c - the set of ids of a conversation's calls. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "model/draft.h"
#include "unit.h"

static void an_id_is_new_once(void **state)
{
	struct call_ids ids = { 0 };

	(void)state;
	assert_false(call_ids_has(&ids, "toolu_1"));
	assert_true(call_ids_add(&ids, "toolu_1"));
	assert_false(call_ids_add(&ids, "toolu_1"));
	assert_true(call_ids_has(&ids, "toolu_1"));
	assert_false(call_ids_has(&ids, "toolu_2"));
	assert_int_equal(ids.n, 1);
	call_ids_release(&ids);
	assert_false(call_ids_has(&ids, "toolu_1"));
}

/* Requests have "_" where an id has a character that vendors refuse. */
static void ids_that_are_sent_alike_are_one(void **state)
{
	struct call_ids ids = { 0 };

	(void)state;
	assert_true(call_ids_add(&ids, "call.1:2"));
	assert_true(call_ids_has(&ids, "call_1_2"));
	assert_false(call_ids_has(&ids, "call-1-2"));
	call_ids_release(&ids);
}

static void thousands_of_ids_are_found_again(void **state)
{
	struct call_ids ids = { 0 };
	char id[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(id, sizeof(id), "toolu_%d", i);
		assert_true(call_ids_add(&ids, id));
	}
	for (int i = 0; i < 20000; i++) {
		snprintf(id, sizeof(id), "toolu_%d", i);
		assert_int_equal(call_ids_has(&ids, id), i < 10000);
	}
	call_ids_release(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_new_once),
		cmocka_unit_test(ids_that_are_sent_alike_are_one),
		cmocka_unit_test(thousands_of_ids_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
