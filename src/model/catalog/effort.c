/* effort.c - how much a model thinks, in the words of each wire. */
/* SPDX-License-Identifier: MIT */
/* platform.claude.com/docs, "Effort" and "Extended thinking": output_config
 * .effort; Claude 4.6 to 4.8 think only with thinking.type "adaptive"; older
 * ones by thinking.budget_tokens, less than max_tokens. ai.google.dev, "Gemini
 * thinking": thinkingLevel, for 2.5 thinkingBudget (0: off). OpenAI:
 * reasoning.effort, in Chat Completions reasoning_effort. Bedrock takes the
 * vendor's members in additionalModelRequestFields. Read 2026-11-23. */
#include "model/catalog/effort.h"

#include <string.h>

#include "base/json.h"

/* The budgets are ours: within what every such model takes. */
static const struct {
	const char *name;
	unsigned level;
	int budget; /* tokens */
} rows[] = {
	{ "none", EFFORT_NONE, 0 },     { "minimal", EFFORT_MINIMAL, 1024 },
	{ "low", EFFORT_LOW, 4096 },    { "medium", EFFORT_MEDIUM, 12288 },
	{ "high", EFFORT_HIGH, 24576 }, { "xhigh", EFFORT_XHIGH, 0 },
	{ "max", EFFORT_MAX, 0 },
};
enum { LEVELS = sizeof(rows) / sizeof(rows[0]) };

unsigned effort_level(const char *name)
{
	for (size_t i = 0; i < LEVELS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].level;
	return 0;
}

void effort_names(unsigned levels, struct buf *out)
{
	size_t last = LEVELS;
	bool first = true;

	for (size_t i = 0; i < LEVELS; i++)
		if (levels & rows[i].level)
			last = i;
	for (size_t i = 0; i <= last && i < LEVELS; i++) {
		if (!(levels & rows[i].level))
			continue;
		if (!first)
			buf_adds(out, i == last ? " or " : ", ");
		buf_adds(out, rows[i].name);
		first = false;
	}
}

int effort_unknown(const char *setting, const char *value, struct error *err)
{
	struct buf names = BUF_INIT(128);

	effort_names(~0U, &names);
	error_set(err, ERR_USAGE, "%s must be %s, not '%.80s'", setting,
		  names.ptr, value);
	buf_release(&names);
	return -1;
}

/* True when the user's own parameters say something of thinking. */
static bool decides(const cJSON *params)
{
	static const char *const members[] = {
		"reasoning_effort", "reasoning",       "thinking",
		"output_config",    "thinking_level",  "thinking_budget",
		"thinkingConfig",   "thinking_config", "enable_thinking",
		"reasoningConfig",
	};
	static const char *const groups[] = {
		"extra_body",
		"model_kwargs",
		"generationConfig",
		"generation_config",
		"additionalModelRequestFields",
		"additional_model_request_fields",
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (json_get(params, members[i]))
			return true;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		const cJSON *group = json_get(params, groups[i]);

		if (group && decides(group))
			return true;
	}
	return false;
}

static void add_claude(const struct model_facts *facts, size_t i, cJSON *params)
{
	cJSON *thinking;

	if (facts->efforts & (EFFORT_BUDGET | EFFORT_ADAPTIVE)) {
		thinking = cJSON_AddObjectToObject(params, "thinking");
		if (facts->efforts & EFFORT_ADAPTIVE) {
			cJSON_AddStringToObject(thinking, "type", "adaptive");
		} else {
			cJSON_AddStringToObject(thinking, "type", "enabled");
			cJSON_AddNumberToObject(thinking, "budget_tokens",
						rows[i].budget);
			return;
		}
	}
	cJSON_AddStringToObject(
		cJSON_AddObjectToObject(params, "output_config"), "effort",
		rows[i].name);
}

static void add_chat(const struct model_choice *c, size_t i, cJSON *params)
{
	/* api-docs.deepseek.com, "Thinking mode" */
	if (strcmp(c->provider, "deepseek") == 0 &&
	    rows[i].level == EFFORT_NONE)
		cJSON_AddStringToObject(
			cJSON_AddObjectToObject(params, "thinking"), "type",
			"disabled");
	else
		cJSON_AddStringToObject(params, "reasoning_effort",
					rows[i].name);
}

static void add_level(const struct model_choice *c,
		      const struct model_facts *facts, size_t i, cJSON *params)
{
	bool claude = strstr(c->model, "claude") != NULL;

	if (strcmp(c->wire, "anthropic") == 0 ||
	    (strcmp(c->wire, "bedrock") == 0 && claude))
		add_claude(facts, i, params);
	else if (strcmp(c->wire, "gemini") == 0 &&
		 (facts->efforts & EFFORT_BUDGET))
		cJSON_AddNumberToObject(params, "thinking_budget",
					rows[i].budget);
	else
		add_chat(c, i, params);
}

static int refuse(const struct model_choice *c, const struct model_facts *facts,
		  const char *name, struct error *err)
{
	struct buf names = BUF_INIT(128);

	if (!facts->efforts) {
		error_set(err, ERR_CONFIG, "%s:%s has no reasoning effort",
			  c->provider, c->model);
		return error_hint(
			err, "Leave --effort out, or type /effort default.");
	}
	effort_names(facts->efforts, &names);
	error_set(err, ERR_CONFIG,
		  "%s:%s does not support the reasoning effort %s", c->provider,
		  c->model, name);
	error_hint(err, "it takes %s", names.ptr);
	buf_release(&names);
	return -1;
}

int effort_apply(const struct model_choice *c, const struct model_facts *facts,
		 unsigned level, cJSON *params, struct error *err)
{
	/* of what nobody knows the server decides */
	bool known = facts->efforts || !facts->assumed;
	size_t i = 0;

	while (i < LEVELS && rows[i].level != level)
		i++;
	if (i == LEVELS || decides(params))
		return 0;
	if (known && !(facts->efforts & level))
		return refuse(c, facts, rows[i].name, err);
	add_level(c, facts, i, params);
	return 0;
}
