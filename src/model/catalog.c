/* catalog.c - facts about models: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at model_facts(): facts come from the built-in table in
 * catalog_rows.c, and the `profile` in config.toml overrides them. A model that
 * is in neither is allowed: dcode then assumes the size of its window, knows no
 * price and leaves everything else to the server. The last part writes the
 * reasoning effort into a request's parameters: the facts say in which form the
 * vendor expects it. */
#include "model/catalog.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/presets.h"

enum kind { TOKENS, ABILITY, LACK, DOLLARS };

static const struct {
	const char *key;
	enum kind kind;
	/* TOKENS: offset in struct model_facts. DOLLARS: offset in struct
	 * model_price. ABILITY: the bit that the value true sets. LACK: the bit
	 * that the value false sets. */
	size_t offset;
} profile_rows[] = {
	{ "max_input_tokens", TOKENS, offsetof(struct model_facts, context) },
	{ "max_output_tokens", TOKENS,
	  offsetof(struct model_facts, max_output) },
	{ "image_inputs", ABILITY, MODEL_TAKES_IMAGES },
	{ "pdf_inputs", ABILITY, MODEL_TAKES_PDF },
	{ "reasoning_output", ABILITY, MODEL_THINKS },
	{ "tool_calling", LACK, MODEL_LACKS_TOOLS },
	{ "input_price", DOLLARS, offsetof(struct model_price, input) },
	{ "output_price", DOLLARS, offsetof(struct model_price, output) },
	{ "cache_read_price", DOLLARS,
	  offsetof(struct model_price, cache_read) },
	{ "cache_write_price", DOLLARS,
	  offsetof(struct model_price, cache_write) },
};

enum { MOST_TOKENS = 1 << 30, MOST_DOLLARS = 1000000 };

static int refuse_profile(const struct toml_value *v, const char *key,
			  const char *what, struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "config.toml:%d:%d: profile.%s must be %s", v->line,
			 v->column, key, what);
}

static int read_tokens(int64_t *to, const struct toml_value *v, const char *key,
		       struct error *err)
{
	if (v->kind != TOML_INT || v->integer < 1 || v->integer > MOST_TOKENS)
		return refuse_profile(v, key, "a number of tokens", err);
	*to = v->integer;
	return 0;
}

static int read_dollars(int64_t *to, const struct toml_value *v,
			const char *key, struct error *err)
{
	double dollars = v->kind == TOML_INT ? (double)v->integer : v->real;

	if ((v->kind != TOML_INT && v->kind != TOML_FLOAT) ||
	    !(dollars >= 0 && dollars <= MOST_DOLLARS))
		return refuse_profile(v, key, "US dollars for a million tokens",
				      err);
	*to = (int64_t)(dollars * 1e6 + 0.5);
	return 0;
}

/* Reads one member of a profile (profile_rows[i]) into facts or price. */
static int read_row(struct model_facts *facts, struct model_price *price,
		    const struct toml_value *v, size_t i, struct error *err)
{
	char *base =
		profile_rows[i].kind == DOLLARS ? (char *)price : (char *)facts;
	int64_t *number = (int64_t *)(void *)(base + profile_rows[i].offset);

	if (profile_rows[i].kind == TOKENS)
		return read_tokens(number, v, profile_rows[i].key, err);
	if (profile_rows[i].kind == DOLLARS)
		return read_dollars(number, v, profile_rows[i].key, err);
	if (v->kind != TOML_BOOL)
		return refuse_profile(v, profile_rows[i].key, "true or false",
				      err);
	if ((v->integer != 0) == (profile_rows[i].kind == ABILITY))
		facts->takes |= (unsigned)profile_rows[i].offset;
	else
		facts->takes &= ~(unsigned)profile_rows[i].offset;
	if (profile_rows[i].offset == MODEL_THINKS && !v->integer)
		facts->efforts = 0;
	return 0;
}

/* Applies the known keys of a profile table. */
static int read_table(struct model_facts *facts, struct model_price *price,
		      const struct toml_value *table, struct error *err)
{
	for (size_t i = 0; i < sizeof(profile_rows) / sizeof(profile_rows[0]);
	     i++) {
		const struct toml_value *v =
			toml_get(table, profile_rows[i].key);

		if (v && read_row(facts, price, v, i, err) < 0)
			return -1;
		if (v && i == 0)
			facts->assumed = false;
	}
	return 0;
}

/* Applies the profile's prices. If the model's price is not known, it is set
 * only if the profile has both input and output. Without a price in the
 * profile, cached tokens then cost as much as input. */
static void set_price(struct model_facts *facts, const struct model_price *p)
{
	bool input = p->input >= 0;
	bool output = p->output >= 0;

	if (!input && !output && p->cache_read < 0 && p->cache_write < 0)
		return;
	if (!facts->priced && !(input && output))
		return;
	if (input) {
		facts->price.input = p->input;
		facts->price.cache_read = p->input;
		facts->price.cache_write = p->input;
	}
	if (output)
		facts->price.output = p->output;
	if (p->cache_read >= 0)
		facts->price.cache_read = p->cache_read;
	if (p->cache_write >= 0)
		facts->price.cache_write = p->cache_write;
	facts->priced = true;
	facts->own_price = input && output;
	facts->long_from = 0;
}

int profile_apply(struct model_facts *facts, const struct toml_value *provider,
		  const char *model, struct error *err)
{
	const struct toml_value *profile =
		provider ? toml_get(provider, "profile") : NULL;
	struct model_price price = { -1, -1, -1, -1 };
	const struct toml_value *own;

	if (!profile)
		return 0;
	if (profile->kind != TOML_TABLE)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: profile must be a table",
				 profile->line, profile->column);
	own = toml_get(profile, model);
	if (read_table(facts, &price, profile, err) < 0 ||
	    (own && own->kind == TOML_TABLE &&
	     read_table(facts, &price, own, err) < 0))
		return -1;
	set_price(facts, &price);
	return 0;
}

enum {
	ASSUMED_WINDOW = 128000, /* tokens */
	MAX_NAME = 128,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* True if rest, what follows the model's name, is a version of the same model:
 * "-20250929", "-2024-08-06", "-001", "@20251001", "@default", "-latest". A
 * short number such as "-5" is not: it names another model. */
static bool is_version(const char *rest)
{
	size_t n = 1;

	if (!rest[0])
		return true;
	if (strcmp(rest, "-latest") == 0 || strcmp(rest, "@default") == 0)
		return true;
	if (rest[0] != '-' && rest[0] != '@')
		return false;
	while (is_digit(rest[n]))
		n++;
	if (n < 4)
		return false;
	return !rest[n + strspn(rest + n, "-0123456789")];
}

/* Returns the row of the model. An exact match comes before one with a version
 * suffix. NULL if there is none. */
static const struct catalog_row *find_row(const char *provider,
					  const char *model)
{
	const struct catalog_row *found = NULL;

	for (const struct catalog_vendor *v = catalog_vendors; v->provider; v++)
		if (strcmp(v->provider, provider) == 0)
			for (found = v->rows; found->model; found++)
				if (strcmp(found->model, model) == 0)
					return found;
	for (const struct catalog_vendor *v = catalog_vendors; v->provider; v++)
		if (strcmp(v->provider, provider) == 0)
			for (found = v->rows; found->model; found++) {
				size_t n = strlen(found->model);

				if (strncmp(found->model, model, n) == 0 &&
				    is_version(model + n))
					return found;
			}
	return NULL;
}

static void scale_price(struct model_price *p, int percent)
{
	p->input = p->input * percent / 100;
	p->output = p->output * percent / 100;
	p->cache_read = p->cache_read * percent / 100;
	p->cache_write = p->cache_write * percent / 100;
}

/* Finds a Bedrock id ("us.anthropic.claude-opus-4-6-v1", "...-20250929-v1:0")
 * in the rows of Claude's vendor. Regional endpoints cost 10 % more than
 * "global." ones (platform.claude.com/docs, "Pricing", third-party platforms;
 * read 2026-11-23). */
static bool find_bedrock(const char *model, struct model_facts *facts)
{
	const char *claude = strstr(model, "anthropic.claude-");
	char name[MAX_NAME];
	const struct catalog_row *row;
	char *v;

	if (!claude)
		return false;
	(void)snprintf(name, sizeof(name), "%s", claude + strlen("anthropic."));
	for (v = strstr(name, "-v"); v; v = strstr(v + 1, "-v"))
		if (is_digit(v[2]) && !v[2 + strspn(v + 2, "0123456789:")]) {
			*v = '\0';
			break;
		}
	row = find_row("anthropic", name);
	if (!row)
		return false;
	*facts = row->facts;
	if (!str_starts(str_of(model), "global.")) {
		scale_price(&facts->price, 110);
		scale_price(&facts->long_price, 110);
	}
	return true;
}

/* Finds the name that a router uses: the vendor's name, "/" and the model's.
 * Routers write "claude-opus-4.8" for the vendor's "claude-opus-4-8".
 * OpenRouter charges the vendor's prices (models.dev 2026-07-02). */
static bool find_routed(const char *model, struct model_facts *facts)
{
	static const struct {
		const char *prefix, *provider;
	} vendors[] = {
		{ "anthropic/", "anthropic" }, { "openai/", "openai" },
		{ "google/", "google_genai" }, { "x-ai/", "xai" },
		{ "mistralai/", "mistralai" },
	};
	char name[MAX_NAME];
	const struct catalog_row *row;

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		size_t n = strlen(vendors[i].prefix);

		if (strncmp(model, vendors[i].prefix, n) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%s", model + n);
		if (i == 0)
			for (char *dot = name; (dot = strchr(dot, '.'));)
				*dot = '-';
		row = find_row(vendors[i].provider, name);
		if (!row)
			return false;
		*facts = row->facts;
		return true;
	}
	return false;
}

/* Finds the model in the built-in table. Providers that offer another vendor's
 * models use that vendor's rows. */
static bool find_built_in(const char *provider, const char *model,
			  struct model_facts *facts)
{
	const struct catalog_row *row = find_row(provider, model);

	if (!row && strcmp(provider, "azure_openai") == 0)
		row = find_row("openai", model);
	if (!row && strcmp(provider, "openai_codex") == 0)
		row = find_row("openai", model);
	if (!row && strcmp(provider, "google_vertexai") == 0)
		row = find_row(strncmp(model, "claude", 6) ? "google_genai"
							   : "anthropic",
			       model);
	if (row) {
		*facts = row->facts;
		return true;
	}
	if (strcmp(provider, "bedrock") == 0)
		return find_bedrock(model, facts);
	if (strcmp(provider, "openrouter") == 0 ||
	    strcmp(provider, "litellm") == 0)
		return find_routed(model, facts);
	return false;
}

/* If the profile has an error, none of it is applied. */
bool model_facts(const struct settings *set, const char *provider,
		 const char *model, struct model_facts *facts)
{
	struct model_facts known;
	/* model_choose() has reported this error */
	struct error ignored = { 0 };

	if (!find_built_in(provider, model, &known))
		known = (struct model_facts){ .context = ASSUMED_WINDOW,
					      .assumed = true };
	*facts = known;
	if (set && profile_apply(facts, model_config(set, provider), model,
				 &ignored) < 0)
		*facts = known;
	return !facts->assumed;
}

void model_facts_each(const char *provider,
		      void (*each)(void *arg, const char *provider,
				   const char *model,
				   const struct model_facts *facts),
		      void *arg)
{
	for (const struct catalog_vendor *v = catalog_vendors; v->provider; v++)
		if (!provider || strcmp(v->provider, provider) == 0)
			for (const struct catalog_row *r = v->rows; r->model;
			     r++)
				each(arg, v->provider, r->model, &r->facts);
}

/* Returns sum + tokens * price, at most INT64_MAX: the counts come from a
 * server, and prices may come from the user. */
static int64_t add_cost(int64_t sum, int64_t tokens, int64_t price)
{
	if (tokens <= 0 || price <= 0)
		return sum;
	return tokens > (INT64_MAX - sum) / price ? INT64_MAX
						  : sum + tokens * price;
}

int64_t model_cost(const struct model_facts *facts, const struct usage *usage)
{
	int64_t in = usage->input + usage->cache_read + usage->cache_write;
	const struct model_price *p = facts->long_from && in > facts->long_from
					      ? &facts->long_price
					      : &facts->price;

	return add_cost(add_cost(add_cost(add_cost(0, usage->input, p->input),
					  usage->output, p->output),
				 usage->cache_read, p->cache_read),
			usage->cache_write, p->cache_write);
}

/* How vendors expect the effort; sources, read 2026-11-23.
 * platform.claude.com/docs, "Effort" and "Extended thinking":
 * output_config.effort. Claude 4.6 to 4.8 think only with thinking.type
 * "adaptive"; older models think with thinking.budget_tokens, which must be
 * less than max_tokens. ai.google.dev, "Gemini thinking": thinkingLevel, for
 * 2.5 thinkingBudget (0: off). OpenAI: reasoning.effort, in Chat Completions
 * reasoning_effort. Bedrock expects the vendor's members in
 * additionalModelRequestFields. */

/* The budgets are dcode's choice; every model with EFFORT_BUDGET accepts
 * them. */
static const struct {
	const char *name;
	unsigned level;
	int budget; /* tokens */
} effort_rows[] = {
	{ "none", EFFORT_NONE, 0 },     { "minimal", EFFORT_MINIMAL, 1024 },
	{ "low", EFFORT_LOW, 4096 },    { "medium", EFFORT_MEDIUM, 12288 },
	{ "high", EFFORT_HIGH, 24576 }, { "xhigh", EFFORT_XHIGH, 0 },
	{ "max", EFFORT_MAX, 0 },
};

enum { LEVELS = sizeof(effort_rows) / sizeof(effort_rows[0]) };

unsigned effort_level(const char *name)
{
	for (size_t i = 0; i < LEVELS; i++)
		if (strcmp(effort_rows[i].name, name) == 0)
			return effort_rows[i].level;
	return 0;
}

void effort_names(unsigned levels, struct buf *out)
{
	size_t last = LEVELS;
	bool first = true;

	for (size_t i = 0; i < LEVELS; i++)
		if (levels & effort_rows[i].level)
			last = i;
	for (size_t i = 0; i <= last && i < LEVELS; i++) {
		if (!(levels & effort_rows[i].level))
			continue;
		if (!first)
			buf_adds(out, i == last ? " or " : ", ");
		buf_adds(out, effort_rows[i].name);
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

/* True if the user's own parameters control thinking. */
static bool sets_thinking(const cJSON *params)
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

		if (group && sets_thinking(group))
			return true;
	}
	return false;
}

/* Adds the effort for a Claude model. Older models get a thinking budget
 * instead. Models that need it also get thinking.type "adaptive". */
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
						effort_rows[i].budget);
			return;
		}
	}
	cJSON_AddStringToObject(
		cJSON_AddObjectToObject(params, "output_config"), "effort",
		effort_rows[i].name);
}

static void add_chat(const struct model_choice *c, size_t i, cJSON *params)
{
	/* api-docs.deepseek.com, "Thinking mode" */
	if (strcmp(c->provider, "deepseek") == 0 &&
	    effort_rows[i].level == EFFORT_NONE)
		cJSON_AddStringToObject(
			cJSON_AddObjectToObject(params, "thinking"), "type",
			"disabled");
	else
		cJSON_AddStringToObject(params, "reasoning_effort",
					effort_rows[i].name);
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
					effort_rows[i].budget);
	else
		add_chat(c, i, params);
}

/* Makes the error for a level that the model does not support. It lists the
 * supported levels. */
static int refuse_effort(const struct model_choice *c,
			 const struct model_facts *facts, const char *name,
			 struct error *err)
{
	struct buf names = BUF_INIT(128);

	if (!facts->efforts) {
		error_set(err, ERR_CONFIG, "%s:%s does not support --effort",
			  c->provider, c->model);
		return error_hint(
			err, "Leave --effort out, or type /effort default.");
	}
	effort_names(facts->efforts, &names);
	error_set(err, ERR_CONFIG,
		  "%s:%s does not support the reasoning effort %s", c->provider,
		  c->model, name);
	error_hint(err, "It supports %s.", names.ptr);
	buf_release(&names);
	return -1;
}

int effort_apply(const struct model_choice *c, const struct model_facts *facts,
		 unsigned level, cJSON *params, struct error *err)
{
	/* If the catalog does not have the model, the server decides whether it
	 * supports the level. */
	bool known = facts->efforts || !facts->assumed;
	size_t i = 0;

	while (i < LEVELS && effort_rows[i].level != level)
		i++;
	if (i == LEVELS || sets_thinking(params))
		return 0;
	if (known && !(facts->efforts & level))
		return refuse_effort(c, facts, effort_rows[i].name, err);
	add_level(c, facts, i, params);
	return 0;
}
