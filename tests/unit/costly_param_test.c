/* costly_param_test.c - parameters that a cap cannot count. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/money.h"
#include "unit.h"

static void test_what_multiplies_or_hides_a_cost_is_found(void **state)
{
	static const struct {
		const char *params, *shown;
		enum costly_kind kind;
	} rows[] = {
		{ "{\"n\":2}", "n = 2", COSTLY_ANSWERS },
		{ "{\"best_of\":3}", "best_of = 3", COSTLY_ANSWERS },
		{ "{\"n\":\"2\"}", "n = \"2\"", COSTLY_ANSWERS },
		{ "{\"generationConfig\":{\"candidateCount\":4}}",
		  "candidateCount = 4", COSTLY_ANSWERS },
		{ "{\"candidate_count\":4}", "candidate_count = 4",
		  COSTLY_ANSWERS },
		{ "{\"service_tier\":\"priority\"}",
		  "service_tier = \"priority\"", COSTLY_TIER },
		{ "{\"serviceTier\":{\"type\":\"priority\"}}",
		  "serviceTier = {\"type\":\"priority\"}", COSTLY_TIER },
		{ "{\"speed\":\"fast\"}", "speed = \"fast\"", COSTLY_TIER },
		{ "{\"performanceConfig\":{\"latency\":\"optimized\"}}",
		  "performanceConfig = {\"latency\":\"optimized\"}",
		  COSTLY_TIER },
		{ "{\"extra_body\":{\"plugins\":[{\"id\":\"web\"}]}}",
		  "plugins = [{\"id\":\"web\"}]", COSTLY_UNSEEN },
		{ "{\"previous_response_id\":\"resp_1\"}",
		  "previous_response_id = \"resp_1\"", COSTLY_UNSEEN },
		{ "{\"cachedContent\":\"cachedContents/1\"}",
		  "cachedContent = \"cachedContents/1\"", COSTLY_UNSEEN },
		{ "{\"modalities\":[\"text\",\"audio\"]}",
		  "modalities = [\"text\",\"audio\"]", COSTLY_UNSEEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct costly_param p;

		if (!costly_param_find(rows[i].params, &p))
			fail_msg("%s", rows[i].params);
		assert_string_equal(p.shown, rows[i].shown);
		assert_int_equal(p.kind, rows[i].kind);
	}
}

static void test_what_costs_the_list_price_is_left_alone(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"n\":1,\"best_of\":1,\"temperature\":0}",
		"{\"service_tier\":\"flex\"}",
		"{\"service_tier\":\"standard_only\"}",
		"{\"service_tier\":null,\"n\":null}",
		"{\"serviceTier\":{\"type\":\"default\"}}",
		"{\"generationConfig\":{\"candidateCount\":1}}",
		"{\"modalities\":[\"text\"]}",
		"{\"max_tokens\":9,\"reasoning\":{\"effort\":\"high\"}}",
		/* names of the user's own */
		"{\"metadata\":{\"n\":2,\"prompt\":\"x\"}}",
		"{\"response_format\":{\"json_schema\":{\"n\":{}}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct costly_param p;

		if (costly_param_find(rows[i], &p))
			fail_msg("%s: %s", rows[i], p.shown);
	}
	assert_false(costly_param_find(NULL, &(struct costly_param){ 0 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_multiplies_or_hides_a_cost_is_found),
		cmocka_unit_test(test_what_costs_the_list_price_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
