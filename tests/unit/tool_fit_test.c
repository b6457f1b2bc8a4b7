/* tool_fit_test.c - schemas that no JSON library of a test's server writes. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/tool_fit.h"
#include "model/tool_schema.h"
#include "unit.h"

static const char *const wires[] = { "anthropic", "gemini", "openai-chat",
				     "openai-responses", "bedrock" };
enum { WIRES = sizeof(wires) / sizeof(wires[0]) };

/* Each has a member twice, or one that is dropped before the description that
 * is to name it. */
static const char *const schemas[] = {
	"{\"properties\":5,\"properties\":[{\"a\":1}]}",
	"{\"properties\":{\"a b\":{\"properties\":1,\"properties\":[{}]}}}",
	"{\"anyOf\":[{\"properties\":[{\"a\":1}]}]}",
	"{\"allOf\":[{\"properties\":[{\"a\":1}],\"properties\":{}}]}",
	"{\"properties\":{\"a\":{\"pattern\":\"x\",\"description\":\"y\"}}}",
	"{\"not\":{},\"not\":{},\"description\":\"y\",\"description\":1}",
};

static void odd_schemas_are_converted(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++)
		for (size_t w = 0; w < WIRES; w++) {
			struct model_choice choice = {
				.wire = (char *)wires[w],
				.provider = (char *)"p",
				.model = (char *)"m",
			};
			struct tool_spec spec = { .name = "t",
						  .description = "d",
						  .schema = schemas[i] };
			struct tool_fit fit;

			assert_int_equal(
				tool_fit(tool_rules_find(&choice), &spec, &fit),
				0);
			assert_non_null(strstr(fit.schema, "\"object\""));
			tool_fit_release(&fit);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_schemas_are_converted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
