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
	assert_null(strstr(err.hint, "Did you mean"));
	assert_non_null(strstr(err.hint, "https://host/v1"));
	/* A name that the catalog has: the key may not use it. */
	err = refusal("anthropic", "claude-opus-5", "anthropic", 404, said);
	assert_null(strstr(err.hint, "Did you mean"));
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
		("{\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		 "\"Your credit balance is too low to access the API\"}}"),
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

static void test_refusals_of_files_are_known(void **state)
{
	static const char *const bodies[] = {
		"Could not process image",
		"messages.0.content.1.image.source.base64.data: too large",
		"messages.4.content.0.document.source.base64: The PDF "
		"specified was not valid.",
		"A maximum of 100 PDF pages may be provided.",
		"This model doesn't support the image content block",
		"You uploaded an unsupported image.",
		"Invalid content type. image_url is only supported by certain "
		"models.",
		"{\"code\":\"invalid_image_format\"}",
		"Unable to process input image.",
		"Provided image is not valid",
		"Unsupported MIME type: image/bmp",
		"Request contains an invalid argument.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct error err =
			refusal("a", "m", "openai-chat", 400, bodies[i]);

		if (err.exact != CASE_FILE_REFUSED)
			fail_msg("%s", bodies[i]);
	}
}

/* A word of these in passing would leave the user's files out, and ask the same
 * question again. */
static void test_other_refusals_that_name_files_are_none_of_them(void **state)
{
	static const char *const bodies[] = {
		"tools.3.input_schema: see the documentation for details",
		"Invalid schema for function 'render_image': no type",
		"function name 'read_pdf' is too long",
		"metadata.document_id: must be a string",
		"temperature: invalid argument, see our document on sampling",
		"the container image of this deployment is being replaced",
		("messages.2: `tool_use` ids without `tool_result` after "
		 "read_file(image.png)"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct error err =
			refusal("a", "m", "anthropic", 400, bodies[i]);

		if (err.exact == CASE_FILE_REFUSED)
			fail_msg("%s", bodies[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_nearest_model_is_suggested),
		cmocka_unit_test(test_a_refused_key_is_named_with_its_place),
		cmocka_unit_test(test_no_money_is_no_rate_limit),
		cmocka_unit_test(test_refusals_of_files_are_known),
		cmocka_unit_test(
			test_other_refusals_that_name_files_are_none_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
