/* window_test.c - how full a window is, and what a server says of it. */
/* SPDX-License-Identifier: MIT */
#include "agent/window.h"
#include "unit.h"

static void test_added_bytes_count_dearly_until_they_are_reported(void **state)
{
	const struct model_facts facts = { .context = 32000 };
	const struct usage used = { .input = 1000, .cache_read = 9000 };
	struct window w;

	(void)state;
	window_init(&w, &facts, WINDOW_AT);
	assert_int_equal(w.limit, 27200);
	assert_int_equal(window_at_most(&w, 20000), 10000);
	window_report(&w, &used, 40000);
	assert_int_equal(window_at_most(&w, 40000), 10000);
	assert_int_equal(window_at_most(&w, 44000), 12000);
	assert_int_equal(window_about(&w, 44000), 11000);
	window_forget(&w);
	assert_int_equal(window_about(&w, 20000), 5000);
	window_init(&w, &facts, 17000);
	assert_int_equal(w.limit, 17000);
	assert_true(w.most < 20000);
}

static void test_a_refusal_teaches_that_the_window_is_smaller(void **state)
{
	const struct model_facts facts = { .context = 200000 };
	const struct usage used = { .input = 30000 };
	struct window w;

	(void)state;
	window_init(&w, &facts, WINDOW_AT);
	window_report(&w, &used, 120000);
	window_refused(&w, 140000, 24000);
	assert_int_equal(w.size, 35000);
	assert_true(w.limit < 35000);
}

static void test_no_refusal_leaves_a_window_without_room(void **state)
{
	static const size_t heads[] = { 0, 500, 20000, 39999 };
	const struct model_facts facts[] = { { .context = 200000 },
					     { .context = 128000,
					       .assumed = true },
					     { .context = 0 } };
	const struct usage used = { .input = 10000 };
	struct window w;

	(void)state;
	for (size_t i = 0; i < 3 * 4 * 2; i++) {
		size_t head = heads[i % 4];

		window_init(&w, &facts[i / 4 % 3], WINDOW_AT);
		if (i >= 12)
			window_report(&w, &used, 40000);
		window_refused(&w, 40000, head);
		assert_true(!w.size || window_about(&w, head + 100) <= w.most);
	}
	/* one that leaves room is learned */
	window_init(&w, &facts[0], WINDOW_AT);
	window_refused(&w, 400000, 20000);
	assert_int_equal(window_about(&w, 400000), 200000);
	window_refused(&w, 200000, 20000);
	assert_int_equal(w.size, 100000);
}

static struct window assumed_window(void)
{
	const struct model_facts facts = { .context = 128000, .assumed = true };
	struct window w;

	window_init(&w, &facts, WINDOW_AT);
	return w;
}

static void test_a_servers_size_takes_the_place_of_the_assumption(void **state)
{
	struct window w = assumed_window();

	(void)state;
	assert_true(window_learn(&w, 32000, 4000, 24000));
	assert_false(w.assumed);
	assert_int_equal(w.size, 32000);
	assert_int_equal(w.limit, 32000 * WINDOW_AT / 100);
	/* the server may have been started anew meanwhile */
	assert_true(window_learn(&w, 64000, 0, 24000));
	assert_int_equal(w.size, 64000);
	/* a refusal is stronger than what it says */
	window_refused(&w, 100000, 24000);
	assert_false(window_learn(&w, 64000, 0, 24000));
}

static void test_a_size_that_would_end_the_talk_is_not_taken(void **state)
{
	static const int64_t sizes[] = { INT64_MIN, 0,         100,
					 7999,      100 << 20, INT64_MAX };
	const struct usage used = { .input = 40000 };
	const struct model_facts known = { .context = 200000 };
	struct window w = assumed_window();

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_false(window_learn(&w, sizes[i], 0, 24000));
	/* system text and tools alone do not fit in it */
	assert_false(window_learn(&w, 9000, 0, 40000));
	window_report(&w, &used, 160000);
	assert_false(window_learn(&w, 32000, 0, 24000));
	assert_true(window_learn(&w, 64000, 0, 24000));
	window_init(&w, &known, WINDOW_AT);
	assert_false(window_learn(&w, 64000, 0, 24000));
}

static void test_used_tokens_that_cannot_be_are_not_believed(void **state)
{
	static const struct usage reports[] = {
		{ .input = 100001 },
		{ .input = INT64_MAX, .cache_read = INT64_MAX },
		{ .input = 10, .cache_write = (int64_t)1 << 62 },
		{ .input = 1 },
	};
	const struct usage fine = { .input = 30000 };
	struct window w = assumed_window();

	(void)state;
	window_report(&w, &fine, 100000);
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		window_report(&w, &reports[i], 100000);
		assert_int_equal(w.reported, 30000);
		assert_false(window_is_full(&w, 100000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_added_bytes_count_dearly_until_they_are_reported),
		cmocka_unit_test(
			test_a_refusal_teaches_that_the_window_is_smaller),
		cmocka_unit_test(test_no_refusal_leaves_a_window_without_room),
		cmocka_unit_test(
			test_a_servers_size_takes_the_place_of_the_assumption),
		cmocka_unit_test(
			test_a_size_that_would_end_the_talk_is_not_taken),
		cmocka_unit_test(
			test_used_tokens_that_cannot_be_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
