/* meter_test.c - what a run costs, and that no cap is ever passed. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "model/money/account.h"
#include "model/money/money.h"
#include "unit.h"

enum { RUNS = 10000, MOST_CALLS = 60, CALL_S = 20, DELETE_S = 40 };

static int64_t now_ms;

static int64_t fake_clock(void)
{
	return now_ms;
}

static uint64_t dice = 88172645463325252U;

/* xorshift64: the same runs each time. */
static int64_t roll(int64_t most)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int64_t)(dice % (uint64_t)(most + 1));
}

static struct model_price random_price(void)
{
	return (struct model_price){ roll(20000000), roll(100000000),
				     roll(2000000), roll(25000000) };
}

/* A vendor, and what it bills: never less than it could. */
struct vendor {
	struct model_facts facts;
	int64_t sandbox_s; /* money for each second */
	int64_t model;     /* the invoice */
	int64_t tokens;    /* of the input of the last answered request */
	size_t bytes;      /* of that request */
};

static int64_t invoice(const struct vendor *v)
{
	return v->model + now_ms * v->sandbox_s / 1000;
}

/* Input that a request of so many bytes has: the text of the last one as it was
 * counted then, and at most a token for each byte since. */
static int64_t count_input(const struct vendor *v, size_t bytes)
{
	if (!v->tokens || bytes < v->bytes)
		return 1 + roll((int64_t)bytes - 1);
	return v->tokens + roll((int64_t)(bytes - v->bytes));
}

/* Divides input among its kinds, and answers within limit. */
static struct usage answer(const struct vendor *v, size_t bytes, int64_t limit)
{
	int64_t input = count_input(v, bytes);
	int64_t cached = roll(input);
	int64_t written = roll(input - cached);

	return (struct usage){ .input = input - cached - written,
			       .output = roll(3) ? roll(limit) : limit,
			       .cache_read = cached,
			       .cache_write = written };
}

enum outcome { ANSWERED, CUT_EARLY, CUT_LATE, OVERLOADED, SILENT, N_OUTCOMES };

/* One request and what comes of it; false when the cap does not pay for it. */
static bool exchange_once(struct vendor *v, struct account *a, struct buf *head,
			  size_t bytes)
{
	struct exchange x = { .sent = true, .response = { .status = 200 } };
	struct stop stop = { .deadline = INT64_MAX };
	struct error err = { 0 };
	struct usage u;
	enum outcome o;

	if (account_reserve(a, head, bytes, &stop, &err) < 0) {
		assert_int_equal(err.code, ERR_BUDGET);
		return false;
	}
	assert_int_equal(strtoll(head->ptr + a->limit_at, NULL, 10),
			 a->call.output);
	now_ms += roll(CALL_S * 1000);
	u = answer(v, bytes, a->call.output);
	o = (enum outcome)roll(N_OUTCOMES + 3);
	if (o == OVERLOADED) {
		x.response.status = 529;
	} else {
		v->model += model_cost(&v->facts, &u);
		x.response.status = o == SILENT ? 0 : 200;
	}
	if (o > SILENT || o == ANSWERED)
		x.draft.usage = u;
	else if (o == CUT_LATE) { /* as message_start tells it */
		x.draft.usage = u;
		x.draft.usage.output = roll(u.output);
	}
	err.code = ERR_NETWORK;
	account_settle(a, &x, o > SILENT || o == ANSWERED ? 0 : -1, &err);
	if (o > SILENT || o == ANSWERED) {
		v->tokens = u.input + u.cache_read + u.cache_write;
		v->bytes = bytes;
	}
	return true;
}

/* A run with tools in between, which end when the cap does. */
static int64_t simulate(int64_t cap, bool has_sandbox, int64_t *spent)
{
	static char text[] = "{\"max_tokens\":000000000000000,";
	struct vendor v = { .facts = { .priced = true,
				       .max_output = 500 + roll(60000) } };
	struct meter *m = meter_new(fake_clock);
	struct account a = { 0 };
	struct meter_total t;
	struct buf head = BUF_INIT(1 << 10);
	size_t bytes = 2000 + (size_t)roll(60000);
	int64_t left;

	now_ms = 0;
	v.facts.price = random_price();
	if (roll(1)) {
		v.facts.long_from = roll(100000);
		v.facts.long_price = random_price();
	}
	v.sandbox_s = has_sandbox ? roll(200000000) : 0;
	meter_set_cap(m, cap);
	a.meter = meter_model(m, "p:m", &v.facts);
	a.limit_at = strlen("{\"max_tokens\":");
	a.limit = v.facts.max_output;
	a.least = METER_LEAST;
	buf_adds(&head, text);
	if (has_sandbox && v.sandbox_s * (METER_END_S + CALL_S) <= cap)
		(void)meter_sandbox_begin(m, "box", v.sandbox_s, false);
	else
		v.sandbox_s = 0;
	for (int i = 0; i < MOST_CALLS; i++) {
		if (!exchange_once(&v, &a, &head, bytes))
			break;
		left = meter_time_left(m);
		now_ms += roll(left < 600000 ? left : 600000);
		bytes += (size_t)roll(20000);
		if (!roll(20)) { /* the prompt is forgotten, or compacted */
			bytes = 2000 + (size_t)roll((int64_t)bytes);
			a.tokens = v.tokens = 0;
		}
	}
	now_ms += roll(DELETE_S * 1000);
	meter_total(m, &t);
	assert_int_equal(t.held, 0);
	assert_true(invoice(&v) <= t.model + t.sandbox + t.unclear + 1);
	*spent = t.model + t.sandbox + t.unclear;
	buf_release(&head);
	meter_free(m);
	return invoice(&v);
}

static void test_no_cap_is_passed_in_10000_runs(void **state)
{
	int used = 0;

	(void)state;
	for (int i = 0; i < RUNS; i++) {
		int64_t cap = 1 + roll(5 * METER_DOLLAR);
		int64_t spent;
		int64_t billed = simulate(cap, roll(1), &spent);

		if (billed > cap)
			fail_msg("run %d: billed %lld of %lld", i,
				 (long long)billed, (long long)cap);
		used += billed > cap / 2;
	}
	/* it is the cap that ends them, not a lack of calls */
	assert_true(used > RUNS / 4);
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

static void test_a_cut_answer_stays_counted_in_full(void **state)
{
	struct meter *m = meter_new(fake_clock);
	struct meter_call call = { .input = 1000, .output = 2000 };
	struct error err = { 0 };
	struct meter_total t;
	struct meter_model *mm = meter_model(m, "p:m", &facts);

	(void)state;
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_CUT, NULL);
	meter_total(m, &t);
	assert_int_equal(t.model, 0);
	assert_int_equal(t.unclear, 1000 * 3750000LL + 2000 * 15000000LL);
	/* input that was told is known */
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_CUT,
		     &(struct usage){ .cache_read = 900, .output = 1 });
	meter_total(m, &t);
	assert_int_equal(t.model, 900 * 300000 + 15000000);
	assert_int_equal(t.unclear, 1000 * 3750000LL + 2000 * 15000000LL +
					    1999 * 15000000LL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_cap_is_passed_in_10000_runs),
		cmocka_unit_test(
			test_the_output_limit_is_lowered_to_what_the_cap_pays),
		cmocka_unit_test(
			test_two_requests_at_once_do_not_share_what_is_left),
		cmocka_unit_test(test_a_cut_answer_stays_counted_in_full),
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
