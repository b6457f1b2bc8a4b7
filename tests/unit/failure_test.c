/* failure_test.c - what a vendor's refusal means, without a server. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "model/failure.h"
#include "unit.h"

static struct error refusal(const char *provider, const char *model,
			    const char *wire, int status, const char *body)
{
	struct model_choice c = { .provider = (char *)provider,
				  .model = (char *)model,
				  .wire = (char *)wire,
				  .base_url = (char *)"https://host/v1",
				  .api_key = (char *)"k",
				  .key_env = (char *)"THE_KEY",
				  .key_from = (char *)"THE_KEY of .env" };
	struct http_response res = { .status = status, .retry_after_ms = -1 };
	struct error err = { 0 };
	bool again;

	if (strcmp(wire, "bedrock") == 0)
		c.api_key = NULL;
	res.body = BUF_INIT(1 << 16);
	buf_adds(&res.body, body);
	assert_int_equal(failure_of_status(&c, &res, &again, &err), -1);
	assert_false(again);
	buf_release(&res.body);
	return err;
}

static void test_the_nearest_model_is_suggested(void **state)
{
	static const char said[] =
		"{\"error\":{\"code\":\"model_not_found\",\"message\":\"no\"}}";
	struct error err;

	(void)state;
	err = refusal("anthropic", "claude-opsu-5", "anthropic", 404, said);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "-M anthropic:claude-opus-5?"));
	err = refusal("openai", "claude-opus-5", "openai-chat", 404, said);
	assert_null(strstr(err.hint, "did you mean"));
	assert_non_null(strstr(err.hint, "https://host/v1"));
	/* A name that the catalog has: the key may not use it. */
	err = refusal("anthropic", "claude-opus-5", "anthropic", 404, said);
	assert_null(strstr(err.hint, "did you mean"));
}

static void test_a_refused_key_is_named_with_its_place(void **state)
{
	struct error err;

	(void)state;
	err = refusal("a", "m", "openai-chat", 401, "{\"message\":\"bad\"}");
	assert_string_equal(err.message,
			    "THE_KEY of .env was refused: a: HTTP 401: bad");
	err = refusal("a", "m", "openai-chat", 403, "{\"message\":\"no\"}");
	assert_string_equal(err.message,
			    "THE_KEY of .env has no access: a: HTTP 403: no");
	err = refusal("google", "m", "gemini", 400,
		      "{\"error\":{\"status\":\"INVALID_ARGUMENT\",\"details\":"
		      "[{\"reason\":\"API_KEY_INVALID\"}]}}");
	assert_int_equal(err.code, ERR_AUTH);
	err = refusal("bedrock", "m", "bedrock", 403,
		      "{\"message\":\"You don't have access to the model\"}");
	assert_non_null(strstr(err.hint, "aws sso login"));
}

static void test_no_money_is_no_rate_limit(void **state)
{
	static const char *const bodies[] = {
		"{\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"Your credit balance is too low to access the API\"}}",
		"{\"error\":{\"type\":\"billing_error\",\"message\":\"x\"}}",
		"{\"error\":{\"code\":\"insufficient_quota\"}}",
	};
	static const int statuses[] = { 400, 403, 429 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct error err =
			refusal("a", "m", "anthropic", statuses[i], bodies[i]);

		assert_int_equal(err.code, ERR_LIMIT);
		assert_non_null(strstr(err.hint, "billing"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_nearest_model_is_suggested),
		cmocka_unit_test(test_a_refused_key_is_named_with_its_place),
		cmocka_unit_test(test_no_money_is_no_rate_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
