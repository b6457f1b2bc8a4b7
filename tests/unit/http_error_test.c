/* http_error_test.c - the server's words in every shape that we know. */
/* SPDX-License-Identifier: MIT */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
