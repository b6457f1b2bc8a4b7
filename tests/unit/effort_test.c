/* effort_test.c - how much a model thinks, in the words of each wire. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/params.h"
#include "model/wire.h"

struct row {
	const char *provider, *model, *wire, *level;
	const char *params; /* the user's, or NULL */
	const char *want;   /* the parameters as they are sent */
};

#define HAIKU "eu.anthropic.claude-haiku-4-5-20251001-v1:0"

static const struct row rows[] = {
	{ "anthropic", "claude-opus-5-5", "anthropic", "max", NULL,
	  "{\"output_config\":{\"effort\":\"max\"}}" },
	{ "anthropic", "claude-opus-4-7", "anthropic", "low", NULL,
	  "{\"thinking\":{\"type\":\"adaptive\"},"
	  "\"output_config\":{\"effort\":\"low\"}}" },
	{ "anthropic", "claude-sonnet-4-5-20250929", "anthropic", "high", NULL,
	  "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":24576}}" },
	{ "bedrock", HAIKU, "bedrock", "high", NULL,
	  "{\"additionalModelRequestFields\":{\"thinking\":{\"type\":"
	  "\"enabled\",\"budget_tokens\":24576}}}" },
	{ "bedrock", "global.anthropic.claude-sonnet-5", "bedrock", "xhigh",
	  NULL,
	  "{\"additionalModelRequestFields\":{\"output_config\":{\"effort\":"
	  "\"xhigh\"}}}" },
	{ "openai", "gpt-5.6-terra", "openai-responses", "none", NULL,
	  "{\"reasoning\":{\"effort\":\"none\"}}" },
	{ "openai", "gpt-5.6-terra", "openai-chat", "max", NULL,
	  "{\"reasoning_effort\":\"max\"}" },
	{ "deepseek", "deepseek-v4-pro", "openai-chat", "none", NULL,
	  "{\"thinking\":{\"type\":\"disabled\"}}" },
	{ "google_genai", "gemini-3.8-flash", "gemini", "low", NULL,
	  "{\"generationConfig\":{\"thinkingConfig\":{\"thinkingLevel\":"
	  "\"LOW\",\"includeThoughts\":true}}}" },
	{ "google_genai", "gemini-2.5-flash", "gemini", "none", NULL,
	  "{\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":0}}"
	  "}" },
	/* of an unknown model the server decides */
	{ "own", "m", "openai-chat", "xhigh", NULL,
	  "{\"reasoning_effort\":\"xhigh\"}" },
	/* the user's own parameters win */
	{ "openai", "gpt-5.5", "openai-chat", "high",
	  "{\"extra_body\":{\"reasoning\":{\"effort\":\"low\"}}}",
	  "{\"reasoning\":{\"effort\":\"low\"}}" },
	{ "anthropic", "claude-opus-5", "anthropic", "high",
	  "{\"thinking\":{\"type\":\"disabled\"}}",
	  "{\"thinking\":{\"type\":\"disabled\"}}" },
};

static int apply(const struct row *r, cJSON **params, struct error *err)
{
	struct model_choice c = { .provider = (char *)r->provider,
				  .model = (char *)r->model,
				  .wire = (char *)r->wire };
	struct params_options options = { 0 };
	struct model_facts facts;
	int rc;

	(void)model_facts(NULL, r->provider, r->model, &facts);
	*params = json_parse(str_of(r->params ? r->params : "{}"));
	rc = effort_apply(&c, &facts, effort_level(r->level), *params, err);
	params_clean(wire_find(r->wire), &c, *params, &options);
	return rc;
}

static void test_each_wire_is_asked_in_its_own_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf text = BUF_INIT(1 << 12);
		struct error err = { 0 };
		cJSON *params;

		assert_int_equal(apply(&rows[i], &params, &err), 0);
		json_print(&text, params);
		if (strcmp(text.ptr, rows[i].want) != 0)
			print_error("row %zu\n", i);
		assert_string_equal(text.ptr, rows[i].want);
		buf_release(&text);
		cJSON_Delete(params);
	}
}

static void test_a_level_that_the_model_does_not_take_is_refused(void **state)
{
	static const struct row refused[] = {
		{ "openai", "gpt-4.1", "openai-responses", "high", NULL,
		  "openai:gpt-4.1 does not support --effort" },
		{ "anthropic", "claude-haiku-4-5", "anthropic", "max", NULL,
		  "does not support the reasoning effort max" },
		{ "google_genai", "gemini-2.5-pro", "gemini", "none", NULL,
		  "does not support the reasoning effort none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct error err = { 0 };
		cJSON *params;

		assert_int_equal(apply(&refused[i], &params, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_non_null(strstr(err.message, refused[i].want));
		assert_true(err.hint[0]);
		cJSON_Delete(params);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_wire_is_asked_in_its_own_words),
		cmocka_unit_test(
			test_a_level_that_the_model_does_not_take_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
