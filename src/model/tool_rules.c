/* tool_rules.c - what each vendor takes of tools, as data. */
/* SPDX-License-Identifier: MIT */
/*
 * Sources, read 2026-11-26:
 * Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top
 * level" (makenotion/notion-mcp-server issue 340), property keys
 * ^[a-zA-Z0-9_.-]{1,64}$ (beautyfree/appstore-connect-mcp issue 2), schemas
 * are checked as JSON Schema 2020-12; 675 tools in a request are taken
 * (decocms/studio pull request 6874). Bedrock passes the same checks on for
 * Claude (aws-solutions-library-samples, accelerated-intelligent-document-
 * processing-on-aws issue 709).
 * OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/
 * 'enum'/'not' at the top level" (langchain-ai/langchainjs issue 9804), "array
 * schema missing items" (sigoden/aichat pull request 1049), at most 128 tools,
 * "array_above_max_length" (zed-industries/zed issue 32946), names of 64
 * (mastra-ai/mastra issue 6302), descriptions of 1024 (getsentry/sentry-mcp
 * issue 106). Groq: 128 tools (HunorLaczko/ha-groq-cloud-api issue 25).
 * Gemini: FunctionDeclaration of Vertex AI's reference: names begin with a
 * letter or "_", 64 characters; parameter names too, of letters, digits and
 * "_"; at most 512 declarations (google-gemini/gemini-cli issue 19083); a limit
 * of nesting (its issue 6031); "items: missing field" (boshyxd/robloxstudio-mcp
 * issue 72); "enum: only allowed for STRING type" (JetBrains/mcp-jetbrains
 * issue 71); the keywords of parametersJsonSchema: Schema and
 * GenerationConfig.responseJsonSchema of ai.google.dev/api.
 * Bedrock: ToolSpecification of the API reference: names of 64; Nova takes
 * type, properties and required on top only (Nova's user guide, "Tool use").
 */
#include "model/tool_rules.h"

#include <string.h>

static const char *const gemini_keywords[] = {
	"$ref",       "$defs",       "type",
	"format",     "title",       "enum",
	"items",      "prefixItems", "minItems",
	"anyOf",      "maxItems",    "minimum",
	"maximum",    "oneOf",       "required",
	"properties", "description", "additionalProperties",
	NULL,
};

#define CLAUDE                                                                 \
	.name = 64, .key = ".-", .key_max = 64, .bare_arrays = true,           \
	.refs = true, .type_lists = true, .any_enum = true, .untyped = true,   \
	.additional = true, .depth = 32

#define OPENAI                                                                 \
	.tools = 128, .name = 64, .description = 1024, .key = ".-",            \
	.key_max = 64, .refs = true, .type_lists = true, .any_enum = true,     \
	.untyped = true, .additional = true, .depth = 32

static const struct tool_rules rules[] = {
	{ .wire = "anthropic", CLAUDE },
	{ .wire = "bedrock", .model = "anthropic.", CLAUDE },
	{ .wire = "bedrock",
	  .name = 64,
	  .key = ".-",
	  .key_max = 64,
	  .top_plain = true,
	  .any_enum = true,
	  .untyped = true,
	  .additional = true,
	  .depth = 32 },
	{ .wire = "gemini",
	  .tools = 512,
	  .name = 64,
	  .name_letter = true,
	  .key = "",
	  .key_max = 64,
	  .key_letter = true,
	  .additional = true,
	  .depth = 16,
	  .keywords = gemini_keywords },
	{ .wire = "openai-responses", OPENAI },
	{ .wire = "openai-chat", .provider = "openai", OPENAI },
	{ .wire = "openai-chat", .provider = "azure_openai", OPENAI },
	/* Servers of all kinds, and gateways to all the vendors above. */
	{ .wire = "openai-chat",
	  .tools = 128,
	  .name = 64,
	  .key = ".-",
	  .key_max = 64,
	  .any_enum = true,
	  .untyped = true,
	  .additional = true,
	  .depth = 32 },
	/* A wire that has no row: what all of them take. */
	{ .tools = 128,
	  .name = 64,
	  .name_letter = true,
	  .key = "",
	  .key_max = 64,
	  .key_letter = true,
	  .depth = 16,
	  .keywords = gemini_keywords },
};

static bool is_for(const struct tool_rules *r, const struct model_choice *c)
{
	const char *provider = c->provider ? c->provider : "";
	const char *model = c->model ? c->model : "";

	return (!r->wire || (c->wire && strcmp(r->wire, c->wire) == 0)) &&
	       (!r->provider || strcmp(r->provider, provider) == 0) &&
	       (!r->model || strstr(model, r->model));
}

const struct tool_rules *tool_rules_find(const struct model_choice *c)
{
	size_t i = 0;

	while (!is_for(&rules[i], c))
		i++;
	return &rules[i];
}
