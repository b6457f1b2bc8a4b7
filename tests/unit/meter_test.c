/* meter_test.c - what a run costs, and what it may still cost. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "model/exchange.h"
#include "model/money.h"
#include "unit.h"

static int64_t now_ms;

static int64_t fake_clock(void)
{
	return now_ms;
}

static const struct model_facts facts = {
	.priced = true,
	.max_output = 64000,
	.context = 200000,
	.price = { 3000000, 15000000, 300000, 3750000 },
};

static void test_the_output_limit_is_lowered_to_what_the_cap_pays(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call call = { .input = 1000,
				   .output = 64000,
				   .least = METER_LEAST };
	struct error err = { 0 };
	struct meter_model *mm;

	(void)state;
	meter_set_cap(m, METER_DOLLAR / 10);
	mm = meter_model(m, "p:m", &facts);
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	/* $0.10 less 1,000 tokens at the price of a cache write */
	assert_int_equal(call.output, (100000000000 - 3750000000) / 15000000);
	meter_settle(mm, &call, METER_REFUSED, NULL);
	meter_set_cap(m, METER_DOLLAR / 100);
	call = (struct meter_call){ .input = 1000,
				    .output = 64000,
				    .least = METER_LEAST };
	assert_int_equal(meter_reserve(mm, &call, &err), -1);
	assert_int_equal(err.code, ERR_BUDGET);
	meter_free(m);
}

static void test_two_requests_at_once_do_not_share_what_is_left(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call one = { .input = 1000,
				  .output = 2000,
				  .least = METER_LEAST };
	struct meter_call two = one;
	struct error err = { 0 };
	struct meter_model *mm;

	(void)state;
	meter_set_cap(m, METER_DOLLAR / 20);
	mm = meter_model(m, "p:m", &facts);
	assert_int_equal(meter_reserve(mm, &one, &err), 0);
	assert_int_equal(meter_reserve(mm, &two, &err), -1);
	meter_settle(mm, &one, METER_DONE,
		     &(struct usage){ .input = 10, .output = 10 });
	assert_int_equal(meter_reserve(mm, &two, &err), 0);
	meter_free(m);
}

static void test_a_cut_answer_is_bounded_by_bytes_and_by_time(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call call = { .input = 1000, .output = 20000 };
	struct error err = { 0 };
	struct meter_total t;
	struct meter_model *mm = meter_model(m, "p:m", &facts);
	int64_t sum = 1000 * 3750000LL + 500 * 15000000LL;

	(void)state;
	/* at once: what it writes until the vendor notices */
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_CUT, NULL);
	meter_total(m, &t);
	assert_int_equal(t.model, 0);
	assert_int_equal(t.unclear, sum);
	/* input that was told is known; 3 s of thinking that nobody saw */
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	now_ms += 3000;
	meter_settle(mm, &call, METER_CUT,
		     &(struct usage){ .cache_read = 900, .output = 1 });
	meter_total(m, &t);
	sum += 1999 * 15000000LL;
	assert_int_equal(t.model, 900 * 300000 + 15000000);
	assert_int_equal(t.unclear, sum);
	/* more bytes than that, of a fast one */
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	call.arrived = 7000;
	meter_settle(mm, &call, METER_CUT, &(struct usage){ .input = 9 });
	meter_total(m, &t);
	sum += 7000 * 15000000LL;
	assert_int_equal(t.unclear, sum);
	/* never more than its limit */
	call.arrived = 0;
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	now_ms += 3600000;
	meter_settle(mm, &call, METER_CUT, &(struct usage){ .input = 9 });
	meter_total(m, &t);
	assert_int_equal(t.unclear, sum + 20000 * 15000000LL);
	assert_int_equal(t.cut, 4);
	meter_free(m);
}

static void test_absurd_usage_does_not_overflow(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call call = { .input = INT64_MAX, .output = INT64_MAX };
	struct error err = { 0 };
	struct meter_total t;
	struct meter_model *mm = meter_model(m, "p:m", &facts);

	(void)state;
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_DONE,
		     &(struct usage){ INT64_MAX, INT64_MAX, -5, INT64_MAX,
				      INT64_MAX });
	meter_total(m, &t);
	assert_true(t.model > 0 && t.unclear >= 0);
	meter_free(m);
}

static void test_absurd_prices_do_not_overflow(void **state)
{
	static const struct model_facts dear = {
		.price = { 1000000000000, 1000000000000, 1000000000000,
			   1000000000000 },
		.priced = true,
	};
	const struct usage much = { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
				    0 };
	struct meter *m = meter_new(fake_clock);
	struct meter_model *mm = meter_model(m, "p:m", &dear);
	struct meter_call call = { .input = 1, .output = 1 };
	struct error err = { 0 };
	struct meter_total t;

	(void)state;
	now_ms = 1;
	(void)meter_sandbox_begin(m, "box", METER_DOLLAR, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(meter_reserve(mm, &call, &err), 0);
		meter_settle(mm, &call, METER_DONE, &much);
	}
	now_ms = 1001;
	meter_warn_at(m, METER_DOLLAR);
	assert_int_equal(meter_passed(m), METER_DOLLAR);
	meter_set_cap(m, METER_DOLLAR);
	assert_int_equal(meter_reserve(mm, &call, &err), -1);
	assert_int_equal(err.code, ERR_BUDGET);
	meter_total(m, &t);
	assert_true(t.model > METER_DOLLAR && t.model + t.sandbox > t.model);
	meter_free(m);
}

static void test_a_threshold_is_told_once(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call call = { .input = 1000, .output = 2000 };
	struct meter_model *mm = meter_model(m, "p:m", &facts);
	struct error err = { 0 };

	(void)state;
	meter_warn_at(m, METER_DOLLAR / 100);
	meter_warn_at(m, METER_DOLLAR / 50);
	meter_warn_at(m, METER_DOLLAR);
	assert_int_equal(meter_passed(m), 0);
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_DONE,
		     &(struct usage){ .input = 1000, .output = 2000 });
	assert_int_equal(meter_passed(m), METER_DOLLAR / 50);
	assert_int_equal(meter_passed(m), 0);
	meter_free(m);
}

static int add_cost(void *arg, const struct meter_line *added)
{
	*(int64_t *)arg += added->cost;
	return 0;
}

static void test_what_is_added_is_told_once(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_total t;
	int64_t sum = 0;
	int box;

	(void)state;
	now_ms = 1000;
	box = meter_sandbox_begin(m, "box", 14000001, false);
	for (int i = 0; i < 50; i++) {
		now_ms += 777;
		(void)meter_each_new(m, add_cost, &sum);
	}
	meter_sandbox_end(m, box);
	now_ms += 100000;
	(void)meter_each_new(m, add_cost, &sum);
	meter_total(m, &t);
	assert_int_equal(t.sandbox_ms, 50 * 777);
	assert_int_equal(sum, t.sandbox);
	meter_free(m);
}

static void test_a_cap_stays_below_the_machines(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_total t;

	(void)state;
	meter_set_cap(m, 5 * METER_DOLLAR);
	meter_limit_cap(m, 2 * METER_DOLLAR);
	meter_total(m, &t);
	assert_int_equal(t.cap, 2 * METER_DOLLAR);
	meter_set_cap(m, 3 * METER_DOLLAR);
	meter_total(m, &t);
	assert_int_equal(t.cap, 2 * METER_DOLLAR);
	meter_set_cap(m, METER_DOLLAR);
	meter_total(m, &t);
	assert_int_equal(t.cap, METER_DOLLAR);
	meter_set_cap(m, 0); /* no cap is one above any */
	meter_total(m, &t);
	assert_int_equal(t.cap, 2 * METER_DOLLAR);
	assert_int_equal(t.most, 2 * METER_DOLLAR);
	meter_free(m);
}

static void test_work_ends_in_time_for_a_question(void **state)
{
	struct meter *m = meter_new(fake_clock);
	int box;

	(void)state;
	now_ms = 0;
	assert_true(meter_time_left(m) == INT64_MAX);
	meter_set_cap(m, METER_DOLLAR);
	assert_true(meter_time_to_end(m) == INT64_MAX);
	box = meter_sandbox_begin(m, "box", METER_DOLLAR / 200, false);
	assert_int_equal(meter_time_to_end(m), 155000);
	assert_int_equal(meter_time_left(m), 155000);
	meter_keep_time(m, 60000);
	assert_int_equal(meter_time_to_end(m), 155000);
	assert_int_equal(meter_time_left(m), 95000);
	now_ms = 100000;
	assert_int_equal(meter_time_to_end(m), 55000);
	assert_int_equal(meter_time_left(m), 0);
	now_ms = 300000;
	assert_int_equal(meter_time_to_end(m), 0);
	meter_sandbox_end(m, box);
	assert_true(meter_time_to_end(m) == INT64_MAX);
	meter_free(m);
}

static void test_only_the_cap_is_named_for_a_timeout(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct stop ever = stop_on(NULL);
	struct error err = { .code = ERR_TIMEOUT };

	(void)state;
	now_ms = 0;
	meter_set_cap(m, METER_DOLLAR);
	(void)meter_sandbox_begin(m, "box", METER_DOLLAR / 200, false);
	assert_int_equal(meter_name_cap(m, &ever, -1, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT); /* a server's, long before */
	now_ms = 155000;
	assert_int_equal(meter_name_cap(m, &ever, -1, &err), -1);
	assert_int_equal(err.code, ERR_BUDGET);
	err.code = ERR_NETWORK;
	assert_int_equal(meter_name_cap(m, &ever, -1, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_int_equal(meter_name_cap(NULL, &ever, 1, &err), 1);
	meter_free(m);
}

static void test_amounts_are_read_and_shown(void **state)
{
	static const struct {
		const char *text, *shortly, *exact, *json;
	} good[] = {
		{ "5", "$5.00", "$5.00", "5" },
		{ "0.5", "$0.50", "$0.50", "0.5" },
		{ "$12.40", "$12.40", "$12.40", "12.4" },
		{ ".004", "<$0.01", "$0.0040", "0.004" },
		{ "0.0425", "$0.04", "$0.0425", "0.0425" },
		{ "0.000000000001", "<$0.01", "<$0.0001", "0.000000000001" },
		{ "1000000", "$1000000.00", "$1000000.00", "1000000" },
	};
	static const char *const bad[] = {
		"",          "0",       "-1",  ".",
		"1.2.3",     "1e3",     "inf", "5 USD",
		"1000000.1", "1000001", "nan", "0.0000000000001",
	};
	char room[MONEY_SIZE];
	int64_t amount;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(money_read(str_of(good[i].text), &amount));
		assert_string_equal(money_short(amount, room), good[i].shortly);
		assert_string_equal(money_exact(amount, room), good[i].exact);
		assert_string_equal(money_json(amount, room), good[i].json);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (money_read(str_of(bad[i]), &amount))
			fail_msg("%s", bad[i]);
	assert_string_equal(money_short(0, room), "$0.00");
	assert_string_equal(money_json(0, room), "0");
}

static void test_a_part_has_a_cap_of_its_own_and_counts_in_both(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_model *mm = meter_model(m, "p:m", &facts);
	struct meter_model *part = meter_part(mm, METER_DOLLAR / 100);
	const struct usage used = { .input = 100, .output = 500 };
	struct meter_call call = { .input = 100,
				   .output = 64000,
				   .least = 100 };
	struct error err = { 0 };
	struct meter_total total;

	(void)state;
	assert_true(meter_limits(part));
	assert_false(meter_limits(mm));
	assert_int_equal(meter_reserve(part, &call, &err), 0);
	assert_true(call.output < 700); /* of $0.01 */
	meter_settle(part, &call, METER_DONE, &used);
	meter_total(m, &total);
	assert_int_equal(total.held, 0);
	assert_int_equal(total.model, INT64_C(7800000000));
	call.output = 64000;
	call.least = 200;
	assert_int_equal(meter_reserve(part, &call, &err), -1);
	assert_int_equal(err.code, ERR_BUDGET);
	/* the control: the account itself has no cap */
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	assert_int_equal(call.output, 64000);
	meter_settle(mm, &call, METER_REFUSED, NULL);
	meter_part_free(part);
	meter_free(m);
}

static void test_no_request_takes_the_share_of_others(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_model *mm = meter_model(m, "p:m", &facts);
	struct meter_call calls[10];
	struct error err = { 0 };

	(void)state;
	meter_set_cap(m, METER_DOLLAR / 2);
	meter_share(m, 9);
	for (size_t i = 0; i < 10; i++) {
		calls[i] = (struct meter_call){ .input = 100,
						.output = 64000,
						.least = METER_LEAST };
		assert_int_equal(meter_reserve(mm, &calls[i], &err), 0);
		assert_true(calls[i].output >= METER_LEAST);
	}
	for (size_t i = 0; i < 10; i++)
		meter_settle(mm, &calls[i], METER_REFUSED, NULL);
	/* the control: alone, one takes all */
	meter_share(m, -9);
	calls[0].output = 64000;
	assert_int_equal(meter_reserve(mm, &calls[0], &err), 0);
	calls[1].output = 64000;
	assert_int_equal(meter_reserve(mm, &calls[1], &err), -1);
	assert_int_equal(err.exact, CASE_BUDGET_HELD);
	meter_settle(mm, &calls[0], METER_REFUSED, NULL);
	calls[1].input = 100000000; /* costs more than the cap */
	assert_int_equal(meter_reserve(mm, &calls[1], &err), -1);
	assert_int_equal(err.exact, CASE_NONE);
	meter_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_request_takes_the_share_of_others),
		cmocka_unit_test(
			test_a_part_has_a_cap_of_its_own_and_counts_in_both),
		cmocka_unit_test(
			test_the_output_limit_is_lowered_to_what_the_cap_pays),
		cmocka_unit_test(
			test_two_requests_at_once_do_not_share_what_is_left),
		cmocka_unit_test(
			test_a_cut_answer_is_bounded_by_bytes_and_by_time),
		cmocka_unit_test(test_absurd_usage_does_not_overflow),
		cmocka_unit_test(test_absurd_prices_do_not_overflow),
		cmocka_unit_test(test_a_threshold_is_told_once),
		cmocka_unit_test(test_what_is_added_is_told_once),
		cmocka_unit_test(test_a_cap_stays_below_the_machines),
		cmocka_unit_test(test_work_ends_in_time_for_a_question),
		cmocka_unit_test(test_only_the_cap_is_named_for_a_timeout),
		cmocka_unit_test(test_amounts_are_read_and_shown),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
