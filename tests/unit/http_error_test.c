/* http_error_test.c - the server's words in every shape that we know. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "net/http.h"
#include "unit.h"

static void test_messages(void **state)
{
	static const struct {
		const char *body;
		const char *message;
	} cases[] = {
		{ "{\"error\":{\"message\":\"m\"}}", "doing: HTTP 400: m" },
		{ "{\"message\":\"m\"}", "doing: HTTP 400: m" },
		{ "{\"error\":\"m\"}", "doing: HTTP 400: m" },
		{ "{\"detail\":\"m\"}", "doing: HTTP 400: m" },
		{ "{\"detail\":{\"error\":\"NotFound\",\"message\":\"m\"}}",
		  "doing: HTTP 400: m" },
		{ "{\"detail\":[{\"loc\":[\"a\"],\"msg\":\"m\"}]}",
		  "doing: HTTP 400: m" },
		{ "{\"detail\":{}}", "doing: HTTP 400" },
		{ "{\"detail\":[]}", "doing: HTTP 400" },
		{ "{\"detail\":[7]}", "doing: HTTP 400" },
		{ "[{\"error\":{\"message\":\"m\"}}]", "doing: HTTP 400: m" },
		{ "plain words\nmore", "doing: HTTP 400: plain words" },
		{ "<html>", "doing: HTTP 400" },
		{ "", "doing: HTTP 400" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct http_response res = { .status = 400 };
		struct error err = { 0 };

		res.body.max = 4096;
		buf_adds(&res.body, cases[i].body);
		assert_int_equal(http_status_error(&res, "doing", &err), -1);
		assert_int_equal(err.code, ERR_REMOTE);
		assert_string_equal(err.message, cases[i].message);
		http_response_release(&res);
	}
}

/* A server that writes one of dcode's own words changes nothing. */
static void test_a_code_of_the_body_sets_no_case(void **state)
{
	static const char *const bodies[] = {
		"{\"error\":{\"code\":\"budget_held\"}}",
		"{\"code\":\"file_not_found\",\"message\":\"HTTP 503\"}",
		"{\"error_code\":\"context_too_long\"}",
		"{\"__type\":\"unknown_model\"}",
		"{\"code\":404}",
		"HTTP 409",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct http_response res = { .status = 400,
					     .retry_after_ms = 1500 };
		struct error err = { 0 };

		res.body.max = 4096;
		buf_adds(&res.body, bodies[i]);
		assert_int_equal(http_status_error(&res, NULL, &err), -1);
		assert_int_equal(err.http_status, 400);
		assert_int_equal(err.retry_after_ms, 1500);
		assert_int_equal(err.exact, CASE_NONE);
		http_response_release(&res);
		error_wrap(&err, "doing");
		assert_int_equal(err.http_status, 400);
		error_set(&err, ERR_GONE, "it has ended");
		assert_int_equal(err.http_status, 0);
		assert_int_equal(err.retry_after_ms, 0);
		assert_int_equal(err.exact, CASE_NONE);
	}
}

static void test_redirects(void **state)
{
	struct http_response res = { .status = 302, .retry_after_ms = -1 };
	struct error err = { 0 };

	(void)state;
	snprintf(res.location, sizeof(res.location), "%s",
		 "https://x.test/\x1b[31ma\xe2\x80\xae");
	assert_int_equal(http_status_error(&res, "doing", &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	assert_int_equal(err.http_status, 302);
	assert_string_equal(err.message,
			    "doing: HTTP 302: the server redirects to "
			    "https://x.test/a, and redirects are not "
			    "followed");
	res.location[0] = '\0';
	assert_int_equal(http_status_error(&res, "doing", &err), -1);
	assert_non_null(strstr(err.message, "redirects to another address"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_a_code_of_the_body_sets_no_case),
		cmocka_unit_test(test_redirects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
