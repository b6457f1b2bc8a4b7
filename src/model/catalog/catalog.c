/* catalog.c - what is known of a model: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
#include "model/catalog/catalog.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/catalog/catalog_rows.h"
#include "model/catalog/profile.h"
#include "model/model_config.h"

enum {
	ASSUMED_WINDOW = 128000,
	MAX_NAME = 128,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "-20250929", "-2024-08-06", "-001", "@20251001", "@default", "-latest": but
 * "-5" is another model. */
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

static void scale(struct model_price *p, int percent)
{
	p->input = p->input * percent / 100;
	p->output = p->output * percent / 100;
	p->cache_read = p->cache_read * percent / 100;
	p->cache_write = p->cache_write * percent / 100;
}

/* "us.anthropic.claude-opus-4-6-v1", "...-20250929-v1:0": the vendor's rows.
 * What is not sent to "global." costs a tenth more (platform.claude.com/docs,
 * "Pricing", third-party platforms; read 2026-11-23). */
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
		scale(&facts->price, 110);
		scale(&facts->long_price, 110);
	}
	return true;
}

/* The vendor that stands in front of a router's name of a model. Routers write
 * "claude-opus-4.8" where the vendor writes "claude-opus-4-8". Prices are the
 * vendor's, as OpenRouter passes them on (models.dev 2026-07-02). */
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

bool model_facts(const struct settings *set, const char *provider,
		 const char *model, struct model_facts *facts)
{
	struct model_facts known;
	struct error ignored = { 0 }; /* model_choose() has reported it */

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

/* Counts are a server's, prices the user's: the largest number stays that. */
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
