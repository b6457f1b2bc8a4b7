/* turn_test.c - tests of the line at the end of a turn. */
/* SPDX-License-Identifier: MIT */
#include "ui/progress/turn.h"
#include "unit.h"

/* Asserts the line of a turn that took ms, after a question of waited ms. */
static void expect_end(int64_t ms, int64_t waited, size_t calls,
		       const char *line)
{
	struct buf out = BUF_INIT(1 << 10);
	struct turn t = { 0 };

	turn_begin(&t, NULL, 1000);
	t.waited = waited;
	t.calls = calls;
	turn_add_end(&t, NULL, 1000 + waited + ms, "Done in", true, &out);
	assert_string_equal(out.ptr, line);
	buf_release(&out);
}

static void a_turn_that_was_one_question_has_a_time(void **state)
{
	(void)state;
	expect_end(12000, 0, 3, "Done in 12 s, 3 calls");
	expect_end(500, 5000, 1, "Done in 0.5 s, 1 call");
	expect_end(99, 0, 0, "Done in 0.0 s");
	expect_end(40, 5000, 1, "Done in 0.0 s, 1 call");
	expect_end(40, 5000, 0, "Done in 0.0 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_that_was_one_question_has_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
