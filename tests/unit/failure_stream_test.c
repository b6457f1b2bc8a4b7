/* failure_stream_test.c - what an error within a stream means. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "unit.h"

struct stream_row {
	const char *body; /* of the event */
	bool fatal;
	enum err code;
	const char *hint; /* a part, or NULL: none */
};

static const struct stream_row rows[] = {
	{ "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
	  "\"message\":\"Overloaded\"}}",
	  false, ERR_REMOTE, "The vendor is overloaded" },
	{ "{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\","
	  "\"message\":\"busy\"}}",
	  false, ERR_REMOTE, "The vendor is overloaded" },
	{ "{\"error\":{\"type\":\"serviceUnavailableException\"}}", false,
	  ERR_REMOTE, "The vendor is overloaded" },
	{ "{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}",
	  false, ERR_LIMIT, "limit of requests or tokens" },
	{ "{\"error\":{\"type\":\"throttlingException\"}}", false, ERR_LIMIT,
	  "limit of requests or tokens" },
	{ "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\","
	  "\"message\":\"model: claude-opsu-5\"}}",
	  true, ERR_NOT_FOUND, "Did you mean -M anthropic:claude-opus-5?" },
	{ "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\","
	  "\"code\":\"model_not_found\"}}",
	  true, ERR_NOT_FOUND, "Did you mean -M anthropic:claude-opus-5?" },
	{ "{\"error\":{\"code\":401,\"message\":\"no\"}}", true, ERR_AUTH,
	  "Set THE_KEY to a valid key" },
	{ "{\"error\":{\"type\":\"invalid_request_error\",\"message\":"
	  "\"prompt is too long: 2 tokens > 1 maximum\"}}",
	  true, ERR_LIMIT, "no longer fits" },
	{ "{\"error\":\"context length exceeded\"}", true, ERR_LIMIT,
	  "no longer fits" },
	{ "{\"error\":{\"code\":500,\"message\":\"maximum context length\"}}",
	  true, ERR_LIMIT, "no longer fits" },
	{ "{\"error\":{\"type\":\"server_error\",\"message\":\"oops\"}}", false,
	  ERR_REMOTE, "Send the message again later" },
	{ "{\"error\":{\"code\":400,\"type\":\"BadRequestError\","
	  "\"message\":\"temperature\"}}",
	  true, ERR_REMOTE, "The request is refused as it is" },
};

static void test_an_error_in_a_stream_has_the_advice_of_its_status(void **state)
{
	const struct model_choice c = { .provider = (char *)"anthropic",
					.model = (char *)"claude-opsu-5",
					.wire = (char *)"anthropic",
					.base_url = (char *)"https://host",
					.api_key = (char *)"k",
					.key_env = (char *)"THE_KEY" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *tree = json_parse(str_of(rows[i].body));
		struct error err = { 0 };
		struct draft d;

		draft_init(&d, NULL);
		d.choice = &c;
		assert_non_null(tree);
		assert_int_equal(failure_in_stream(&d, tree, &err), -1);
		if (d.fatal != rows[i].fatal || err.code != rows[i].code ||
		    !strstr(err.hint, rows[i].hint))
			fail_msg("%s: fatal %d, %s, %s", rows[i].body, d.fatal,
				 error_name(err.code), err.hint);
		cJSON_Delete(tree);
		draft_release(&d);
	}
}

/* In its own words; *again: whether a retry may help. */
static struct error quota(const char *details, bool *again)
{
	const struct model_choice c = { .provider = (char *)"google_genai",
					.model = (char *)"gemini-x",
					.base_url = (char *)"https://host" };
	struct http_response res = { .status = 429, .retry_after_ms = -1 };
	struct error err = { 0 };

	res.body = BUF_INIT(1 << 16);
	buf_addf(&res.body,
		 "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\","
		 "\"message\":\"check your plan and billing details\","
		 "\"details\":[%s]}}",
		 details);
	(void)failure_of_status(&c, &res, again, &err);
	buf_release(&res.body);
	return err;
}

#define DAY                                                                    \
	"{\"quotaId\":\"GenerateRequestsPerDayPerProjectPerModel-FreeTier\"}"
#define MINUTE                                                                 \
	"{\"quotaId\":\"GenerateRequestsPerMinutePerProjectPerModel-"          \
	"FreeTier\"}"
#define DELAY(s)                                                               \
	"{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\","             \
	"\"retryDelay\":\"" s "\"}"

static void test_a_quota_of_the_minute_is_waited_for(void **state)
{
	struct error err;
	bool again;

	(void)state;
	err = quota(MINUTE "," DAY "," DELAY("17.5s"), &again);
	assert_true(again);
	assert_non_null(strstr(err.hint, "requests or tokens"));
	/* its wait is short although the day's is used up */
	err = quota(DAY "," DELAY("17s"), &again);
	assert_false(again);
	assert_non_null(strstr(err.hint, "for today"));
	err = quota(MINUTE "," DAY "," DELAY("3600s"), &again);
	assert_false(again);
	err = quota(MINUTE "," DAY, &again);
	assert_false(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_error_in_a_stream_has_the_advice_of_its_status),
		cmocka_unit_test(test_a_quota_of_the_minute_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
