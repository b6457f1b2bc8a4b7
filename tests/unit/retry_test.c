/* retry_test.c - which failures repeat, and how long to wait before. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ids.h"
#include "net/retry.h"

static void test_worthy(void **state)
{
	static const int yes[] = { 408, 425, 429, 500, 502, 503, 504, 529 };
	static const int no[] = { 200, 400, 401, 403, 404, 409, 501, 505 };
	struct http_response res = { .retry_after_ms = -1 };
	struct error err = { .code = ERR_NETWORK };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		res.status = yes[i];
		assert_true(retry_worthy(0, &res, &err));
		res.status = no[i];
		assert_false(retry_worthy(0, &res, &err));
	}
	assert_true(retry_worthy(-1, &res, &err));
	err.code = ERR_CANCELLED;
	assert_false(retry_worthy(-1, &res, &err));
	res = (struct http_response){ .status = 429, .body = BUF_INIT(100) };
	buf_adds(&res.body, "{\"code\":\"insufficient_quota\"}");
	assert_false(retry_worthy(0, &res, &err));
	buf_release(&res.body);
}

/* By the codes alone, whatever the text says. */
static void test_codes(void **state)
{
	static const struct {
		struct error err;
		bool transient, refused;
	} rows[] = {
		{ { .code = ERR_NETWORK }, true, false },
		{ { .code = ERR_REMOTE, .http_status = 503 }, true, false },
		{ { .code = ERR_LIMIT, .http_status = 429 }, true, true },
		{ { .code = ERR_REMOTE,
		    .http_status = 400,
		    .message = "HTTP 503" },
		  false,
		  true },
		{ { .code = ERR_REMOTE, .http_status = 409 }, false, false },
		{ { .code = ERR_REMOTE, .http_status = 302 }, false, false },
		{ { .code = ERR_AUTH, .http_status = 401 }, false, true },
		{ { .code = ERR_REMOTE, .grpc_status = 14 }, true, false },
		{ { .code = ERR_REMOTE, .grpc_status = 3 }, false, true },
		{ { .code = ERR_REMOTE, .grpc_status = 15 }, false, false },
		{ { .code = ERR_NETWORK, .exhausted = true }, false, false },
		{ { .code = ERR_CANCELLED }, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(retry_is_transient(&rows[i].err),
				 rows[i].transient);
		assert_int_equal(retry_was_refused(&rows[i].err),
				 rows[i].refused);
	}
}

/* A wait beyond the deadline, or of more than ten minutes, is not begun. */
static void test_long_waits(void **state)
{
	const struct stop stops[] = { stop_cleanup(2000),
				      { .deadline = INT64_MAX } };
	static const int64_t asked[] = { 5000, 700000 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct retry r = { .max = 3 };
		struct error err = { .code = ERR_LIMIT,
				     .http_status = 429,
				     .retry_after_ms = asked[i],
				     .message = "busy" };
		int64_t began = clock_ms();

		assert_false(retry_after(&r, &stops[i], &err));
		assert_true(err.exhausted && clock_ms() - began < 1000);
		assert_int_equal(err.code, ERR_LIMIT);
		assert_non_null(strstr(err.message, "asks to wait"));
	}
}

static const struct {
	const char *body;
	int64_t ms;
} wishes[] = {
	{ "Please try again in 17s.", 17000 },
	{ "Try AGAIN IN 1.5 seconds", 1500 },
	{ "try again in 250ms", 250 },
	{ "try again in 2m", 120000 },
	{ "try again in 1m30.5s. Visit", 90500 },
	{ "Limit 30, used again in it. Please retry in 0.2505s", 250 },
	{ "retry after 3 minutes", 180000 },
	{ "try again in 1h2m", 3720000 },
	{ "try again in a while", -1 },
	{ "try again in 17", -1 },
	{ "in 17s", -1 },
	{ "", -1 },
};

static void test_wish(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++) {
		struct http_response res = { .status = 429,
					     .retry_after_ms = -1,
					     .body = BUF_INIT(200) };

		buf_adds(&res.body, wishes[i].body);
		assert_int_equal(retry_wish(&res), wishes[i].ms);
		res.retry_after_ms = 4000;
		assert_int_equal(retry_wish(&res), 4000);
		buf_release(&res.body);
	}
}

static void the_wait_that_is_announced_is_the_one_that_comes(void **state)
{
	struct http_response res = { .status = 500, .retry_after_ms = -1 };
	struct error err = { 0 };
	struct retry r = { .max = 2, .base_ms = 200 };
	struct stop stop = stop_cleanup(60000);

	(void)state;
	for (int i = 0; i < 2; i++) {
		int64_t ms = retry_next_ms(&r, &res);
		int64_t begun = clock_ms();

		assert_in_range(ms, 100 << i, 200 << i);
		assert_int_equal(retry_next_ms(&r, &res), ms);
		assert_true(retry_wait(&r, &res, &stop, &err));
		assert_in_range(clock_ms() - begun, ms, ms + 3000);
	}
	res.retry_after_ms = 5000;
	assert_in_range(retry_next_ms(&r, &res), 5000, 5250);
}

static void test_wait(void **state)
{
	struct http_response res = { .status = 500, .retry_after_ms = -1 };
	struct error err = { .code = ERR_REMOTE };
	struct retry r = { .max = 3, .base_ms = 20 };
	struct stop stop = stop_cleanup(5000);
	int64_t begun = clock_ms();

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(retry_wait(&r, &res, &stop, &err));
	assert_false(retry_wait(&r, &res, &stop, &err));
	assert_int_equal(err.code, ERR_REMOTE);
	assert_in_range(clock_ms() - begun, 70, 400); /* 10+20+40 at least */
	r.attempt = 0;
	res.retry_after_ms = 601000;
	assert_false(retry_wait(&r, &res, &stop, &err));
	assert_int_equal(err.code, ERR_REMOTE);
	res.retry_after_ms = 60000;
	stop = stop_cleanup(50);
	assert_false(retry_wait(&r, &res, &stop, &err));
	assert_int_equal(err.code, ERR_TIMEOUT);
}

static int start(void **state)
{
	(void)state;
	ids_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worthy),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_long_waits),
		cmocka_unit_test(test_wish),
		cmocka_unit_test(
			the_wait_that_is_announced_is_the_one_that_comes),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
