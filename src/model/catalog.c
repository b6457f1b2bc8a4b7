/* catalog.c - facts about models: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at model_facts(): facts come from the built-in table,
 * catalog[], and the `profile` in config.toml overrides them. A model that is
 * in neither is allowed: dcode then assumes the size of its window, knows no
 * price and leaves everything else to the server. The last part writes the
 * reasoning effort into a request's parameters: the facts say in which form the
 * vendor expects it. short_name_find() finds the model that "opus" stands for.
 *
 * The comment above each group of rows names the source and the day on which it
 * was read. Prices are for ordinary requests, without batch discounts or
 * priority surcharges. Numbers without a source are left out. Of each family
 * the newest model comes first: short names and the default models depend on
 * it.
 */
#include "model/catalog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/*
 * A short name is some parts of a model's name in their order, such as "opus",
 * "gemini-flash" or "opus-4.8" (parts are separated by "-" and "."). It
 * stands for the first model with these parts in the built-in table, where the
 * newest model of a family comes first. A model whose name ends in the last
 * part has priority: "sonnet-5" is claude-sonnet-5, not claude-sonnet-5-5. The
 * first part alone ("claude", "gpt") and the provider's name stand for the
 * vendor's default.
 */

/* The built-in table of models. */

/* Converts dollars per million tokens to trillionths of a dollar per token. */
#define USD(x) ((int64_t)((x)*1e6 + 0.5))
#define PRICE(in, out, read, write)                                            \
	{                                                                      \
		USD(in), USD(out), USD(read), USD(write)                       \
	}
#define LIMITS(window, output, abilities, levels)                              \
	.context = (window), .max_output = (output), .priced = true,           \
	.takes = (abilities), .efforts = (levels)
/* Prices in dollars per million tokens: input, output, cache read, cache write.
 * If a vendor has no separate price for cached tokens, they cost as much as
 * input. */
#define ROW(name, window, output, abilities, levels, ...)                      \
	{                                                                      \
		name,                                                          \
		{                                                              \
			LIMITS(window, output, abilities, levels),             \
				.price = PRICE(__VA_ARGS__)                    \
		}                                                              \
	}
#define END                                                                    \
	{                                                                      \
		NULL,                                                          \
		{                                                              \
			0                                                      \
		}                                                              \
	}

enum {
	I = MODEL_TAKES_IMAGES,
	IP = I | MODEL_TAKES_PDF,
	T = MODEL_THINKS,
	IT = I | T,
	IPT = IP | T,

	/* sets of effort levels */
	LH = EFFORT_LOW | EFFORT_MEDIUM | EFFORT_HIGH,
	LHM = LH | EFFORT_MAX,
	LXM = LHM | EFFORT_XHIGH,
	LHMA = LHM | EFFORT_ADAPTIVE,
	LXMA = LXM | EFFORT_ADAPTIVE,
	MH = EFFORT_MINIMAL | LH,
	NH = EFFORT_NONE | LH,
	NX = NH | EFFORT_XHIGH,
	NXM = NX | EFFORT_MAX,
	LX = LH | EFFORT_XHIGH,
	HM = EFFORT_NONE | EFFORT_HIGH | EFFORT_MAX,
	BUDGET = EFFORT_BUDGET | LH,
	OFF = EFFORT_NONE | BUDGET, /* a budget of 0 turns thinking off */
};

/* clang-format off */

/* platform.claude.com/docs, "Pricing" and each model's overview page; for 4.x
 * also models.dev (2026-07-02). fable-5-2: docs.laozhang.ai, "Claude Fable
 * 5.2". sonnet-5-5, price of cache reads since 2026-10-07: release notes of
 * kurofune/claudit 1.9.2. Read 2026-11-23. Prices of cache writes are for a
 * lifetime of 5 minutes, the only one that dcode requests. */
static const struct catalog_row anthropic[] = {
	ROW("claude-fable-5-2", 1000000, 128000, IPT, LXM, 8, 40, 0.20, 10),
	ROW("claude-fable-5-1", 1000000, 128000, IPT, LXM, 10, 50, 0.25, 12.50),
	ROW("claude-fable-5", 1000000, 128000, IPT, LXM, 10, 50, 1, 12.50),
	ROW("claude-opus-5-5", 1000000, 128000, IPT, LXM, 4, 20, 0.20, 5),
	ROW("claude-opus-5", 1000000, 128000, IPT, LXM, 5, 25, 0.50, 6.25),
	ROW("claude-sonnet-5-5", 1000000, 128000, IPT, LXM, 2, 10, 0.10, 2.50),
	ROW("claude-sonnet-5", 1000000, 128000, IPT, LXM, 2, 10, 0.20, 2.50),
	{ "claude-haiku-5-5", { LIMITS(1000000, 128000, IPT, LXM),
		.price = PRICE(0.10, 0.50, 0.01, 0.125), .long_from = 100000,
		.long_price = PRICE(0.50, 2.50, 0.05, 0.625) } },
	ROW("claude-opus-4-8", 1000000, 128000, IPT, LXMA, 5, 25, 0.50, 6.25),
	ROW("claude-opus-4-7", 1000000, 128000, IPT, LXMA, 5, 25, 0.50, 6.25),
	ROW("claude-opus-4-6", 1000000, 128000, IPT, LHMA, 5, 25, 0.50, 6.25),
	ROW("claude-sonnet-4-6", 1000000, 64000, IPT, LHMA, 3, 15, 0.30, 3.75),
	ROW("claude-opus-4-5", 200000, 64000, IPT, BUDGET, 5, 25, 0.50, 6.25),
	ROW("claude-sonnet-4-5", 200000, 64000, IPT, BUDGET, 3, 15, 0.30, 3.75),
	ROW("claude-haiku-4-5", 200000, 64000, IPT, BUDGET, 1, 5, 0.10, 1.25),
	ROW("claude-opus-4-1", 200000, 32000, IPT, BUDGET, 15, 75, 1.50, 18.75),
	END
};

/* If a request has more than 272,000 input tokens, all its input costs twice as
 * much and its output one and a half times as much. */
#define OPENAI_LONG(in, out, read, write) .long_from = 272000, \
	.long_price = PRICE(2 * (in), 1.5 * (out), 2 * (read), 2 * (write))
#define LONG_ROW(name, abilities, levels, in, out, read, write) \
	{ name, { LIMITS(1050000, 128000, abilities, levels), \
		.price = PRICE(in, out, read, write), \
		OPENAI_LONG(in, out, read, write) } }

/* gpt-6 and later: docs.litellm.ai ("GPT-6 Sol and Luna", "GPT-6.1 Terra"),
 * docs.apiyi.com ("GPT-6.1 Sol"), release notes of merefield/codexometer 0.18.4
 * and amine123max/Codex-Manager 0.4.7. astra: release notes of
 * TheKrush/PromptFuel 1.0.19 and prefect12/codex-token-meter 0.2.22; its window
 * is assumed to be that of the other gpt-6 models. gpt-5.6: docs.laozhang.ai
 * (price cut of 2026-07-30), sol's price from docs.apiyi.com/models. Others:
 * models.dev (2026-07-02). Read 2026-11-23. */
static const struct catalog_row openai[] = {
	LONG_ROW("gpt-6-astra", IPT, NXM, 10, 50, 1, 12.50),
	LONG_ROW("gpt-6.1-terra", IPT, NXM, 1, 5, 0.05, 1.25),
	LONG_ROW("gpt-6.1-sol", IPT, LXM, 2, 10, 0.10, 2.50),
	LONG_ROW("gpt-6-sol", IPT, NXM, 2, 10, 0.20, 2.50),
	LONG_ROW("gpt-6-luna", IPT, NXM, 0.10, 0.50, 0.01, 0.125),
	LONG_ROW("gpt-5.6-sol", IPT, NXM, 4, 20, 0.40, 5),
	LONG_ROW("gpt-5.6-terra", IPT, NXM, 2, 12, 0.20, 2.50),
	LONG_ROW("gpt-5.6-luna", IPT, NXM, 0.20, 1.20, 0.02, 0.25),
	LONG_ROW("gpt-5.6", IPT, NXM, 4, 20, 0.40, 5),
	LONG_ROW("gpt-5.5", IPT, NX, 5, 30, 0.50, 5),
	LONG_ROW("gpt-5.4", IPT, NX, 2.50, 15, 0.25, 2.50),
	ROW("gpt-5.4-mini", 400000, 128000, IPT, NX, 0.75, 4.50, 0.075, 0.75),
	ROW("gpt-5.4-nano", 400000, 128000, IPT, NX, 0.20, 1.25, 0.02, 0.20),
	ROW("gpt-5.3-codex", 400000, 128000, IPT, NX, 1.75, 14, 0.175, 1.75),
	ROW("gpt-5.2", 400000, 128000, IPT, NX, 1.75, 14, 0.175, 1.75),
	ROW("gpt-5.2-codex", 400000, 128000, IPT, LX, 1.75, 14, 0.175, 1.75),
	ROW("gpt-5.1", 400000, 128000, IPT, NH, 1.25, 10, 0.125, 1.25),
	ROW("gpt-5.1-codex-max", 400000, 128000, IPT, LX,
	    1.25, 10, 0.125, 1.25),
	ROW("gpt-5.1-codex", 400000, 128000, IPT, LH, 1.25, 10, 0.125, 1.25),
	ROW("gpt-5.1-codex-mini", 400000, 128000, IPT, LH,
	    0.25, 2, 0.025, 0.25),
	ROW("gpt-5", 400000, 128000, IPT, MH, 1.25, 10, 0.125, 1.25),
	ROW("gpt-5-codex", 400000, 128000, IPT, LH, 1.25, 10, 0.125, 1.25),
	ROW("gpt-5-mini", 400000, 128000, IPT, MH, 0.25, 2, 0.025, 0.25),
	ROW("gpt-5-nano", 400000, 128000, IPT, MH, 0.05, 0.40, 0.005, 0.05),
	ROW("gpt-4.1", 1047576, 32768, IP, 0, 2, 8, 0.50, 2),
	ROW("gpt-4.1-mini", 1047576, 32768, IP, 0, 0.40, 1.60, 0.10, 0.40),
	ROW("gpt-4.1-nano", 1047576, 32768, IP, 0, 0.10, 0.40, 0.025, 0.10),
	ROW("gpt-4o", 128000, 16384, IP, 0, 2.50, 10, 1.25, 2.50),
	ROW("gpt-4o-2024-05-13", 128000, 4096, IP, 0, 5, 15, 5, 5),
	ROW("gpt-4o-mini", 128000, 16384, IP, 0, 0.15, 0.60, 0.075, 0.15),
	ROW("o4-mini", 200000, 100000, IPT, LH, 1.10, 4.40, 0.275, 1.10),
	ROW("o3", 200000, 100000, IPT, LH, 2, 8, 0.50, 2),
	ROW("o3-pro", 200000, 100000, IPT, LH, 20, 80, 20, 20),
	ROW("o3-mini", 200000, 100000, T, LH, 1.10, 4.40, 0.55, 1.10),
	ROW("o1", 200000, 100000, IPT, LH, 15, 60, 7.50, 15),
	END
};

#define GEMINI(name, levels, in, out, read) \
	ROW(name, 1048576, 65536, IPT, levels, in, out, read, in)
/* A model with two prices: for requests of up to 200,000 input tokens, and for
 * longer ones. */
#define GEMINI_PRO(name, levels, in, out, read, in2, out2, read2) \
	{ name, { LIMITS(1048576, 65536, IPT, levels), \
		.price = PRICE(in, out, read, in), .long_from = 200000, \
		.long_price = PRICE(in2, out2, read2, in2) } }

/* 3.8: github.com/BerriAI/litellm discussion 39357 and docs.apiyi.com (Google's
 * specification of 2026-09-03). The price below is valid from 2027-01-01; until
 * then the model costs half. Others: models.dev (2026-07-02). Read
 * 2026-11-23. */
static const struct catalog_row google[] = {
	GEMINI("gemini-3.8-flash", LH, 1.50, 7.50, 0.15),
	GEMINI("gemini-3.5-flash", MH, 1.50, 9, 0.15),
	GEMINI_PRO("gemini-3.1-pro-preview", LH, 2, 12, 0.20, 4, 18, 0.40),
	GEMINI("gemini-3.1-flash-lite", MH, 0.25, 1.50, 0.025),
	GEMINI("gemini-3-flash-preview", MH, 0.50, 3, 0.05),
	GEMINI_PRO("gemini-3-pro-preview", EFFORT_LOW | EFFORT_HIGH,
		   2, 12, 0.20, 4, 18, 0.40),
	GEMINI_PRO("gemini-2.5-pro", BUDGET, 1.25, 10, 0.125, 2.50, 15, 0.25),
	GEMINI("gemini-2.5-flash", OFF, 0.30, 2.50, 0.03),
	GEMINI("gemini-2.5-flash-lite", OFF, 0.10, 0.40, 0.01),
	END
};

/* models.dev (2026-07-02), read 2026-11-23. Claude models on Bedrock use the
 * rows of anthropic. */
static const struct catalog_row bedrock[] = {
	ROW("amazon.nova-pro-v1:0", 300000, 8192, I, 0, 0.80, 3.20, 0.20, 0.80),
	ROW("amazon.nova-lite-v1:0", 300000, 8192, I, 0,
	    0.06, 0.24, 0.015, 0.06),
	ROW("amazon.nova-micro-v1:0", 128000, 8192, 0, 0, 0.035, 0.14, 0.00875,
	    0.035),
	END
};

/* Remaining vendors: models.dev (2026-07-02), read 2026-11-23. */
static const struct catalog_row deepseek[] = {
	ROW("deepseek-v4-pro", 1000000, 384000, T, HM, 0.435, 0.87, 0.003625,
	    0.435),
	ROW("deepseek-v4-flash", 1000000, 384000, T, HM,
	    0.14, 0.28, 0.0028, 0.14),
	ROW("deepseek-chat", 1000000, 384000, 0, 0, 0.14, 0.28, 0.0028, 0.14),
	ROW("deepseek-reasoner", 1000000, 384000, T, 0,
	    0.14, 0.28, 0.0028, 0.14),
	END
};

static const struct catalog_row groq[] = {
	ROW("openai/gpt-oss-120b", 131072, 65536, T, LH,
	    0.15, 0.60, 0.075, 0.15),
	ROW("openai/gpt-oss-20b", 131072, 65536, T, LH,
	    0.075, 0.30, 0.0375, 0.075),
	ROW("llama-3.3-70b-versatile", 131072, 32768, 0, 0,
	    0.59, 0.79, 0.59, 0.59),
	ROW("llama-3.1-8b-instant", 131072, 131072, 0, 0,
	    0.05, 0.08, 0.05, 0.05),
	END
};

static const struct catalog_row mistral[] = {
	ROW("mistral-medium-2604", 262144, 262144, IT, 0,
	    1.50, 7.50, 1.50, 1.50),
	ROW("mistral-large-2512", 262144, 262144, I, 0, 0.50, 1.50, 0.50, 0.50),
	ROW("mistral-small-2603", 256000, 256000, IT, 0,
	    0.15, 0.60, 0.15, 0.15),
	ROW("codestral-latest", 256000, 4096, 0, 0, 0.30, 0.90, 0.30, 0.30),
	END
};

#define GROK(name, levels, window, output, in, out, read) \
	{ name, { LIMITS(window, output, IPT, levels), \
		.price = PRICE(in, out, read, in), .long_from = 200000, \
		.long_price = PRICE(2 * (in), 2 * (out), 2 * (read), \
				    2 * (in)) } }
static const struct catalog_row xai[] = {
	GROK("grok-4.3", NH, 1000000, 30000, 1.25, 2.50, 0.20),
	GROK("grok-build-0.1", 0, 256000, 256000, 1, 2, 0.20),
	END
};

static const struct catalog_row cerebras[] = {
	ROW("gpt-oss-120b", 131072, 40960, T, LH, 0.35, 0.75, 0.35, 0.35),
	END
};

static const struct catalog_row moonshot[] = {
	ROW("kimi-k2.7-code", 262144, 262144, IT, 0, 0.95, 4, 0.19, 0.95),
	ROW("kimi-k2.6", 262144, 262144, IT, 0, 0.95, 4, 0.16, 0.95),
	ROW("kimi-k2.5", 262144, 262144, IT, 0, 0.60, 3, 0.10, 0.60),
	ROW("kimi-k2-thinking", 262144, 262144, T, 0, 0.60, 2.50, 0.15, 0.60),
	END
};

static const struct catalog_row cohere[] = {
	ROW("command-a-plus-05-2026", 128000, 64000, IT, 0,
	    2.50, 10, 2.50, 2.50),
	ROW("command-a-reasoning-08-2025", 256000, 32000, T, 0, 2.50, 10, 2.50,
	    2.50),
	ROW("command-a-03-2025", 256000, 8000, 0, 0, 2.50, 10, 2.50, 2.50),
	END
};
/* clang-format on */

const struct catalog_vendor catalog_vendors[] = {
	{ "anthropic", anthropic }, { "openai", openai },
	{ "google_genai", google }, { "bedrock", bedrock },
	{ "deepseek", deepseek },   { "groq", groq },
	{ "mistralai", mistral },   { "xai", xai },
	{ "cerebras", cerebras },   { "moonshot", moonshot },
	{ "cohere", cohere },       { NULL, NULL },
};

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

/* "sonnet" for claude-sonnet-5-5, and each vendor's default. */

enum match {
	MATCH_NONE,
	MATCH_SOME,  /* the model's name has all parts, in this order */
	MATCH_WHOLE, /* and ends in the last one */
};

/* The family of each vendor's default model. The first model of the family in
 * the built-in table is the default, so that a new row is enough to change
 * it. */
static const struct {
	const char *provider, *family;
} defaults[] = {
	{ "anthropic", "opus" },
	{ "openai", "terra" },
	{ "google_genai", "pro" },
};

/* Removes the first part from *rest. Returns false at the end. */
static bool next_part(struct str *rest, struct str *part)
{
	size_t n = 0;

	if (!rest->len)
		return false;
	while (n < rest->len && !strchr("-.", rest->ptr[n]))
		n++;
	*part = (struct str){ rest->ptr, n };
	*rest = str_skip(*rest, n < rest->len ? n + 1 : n);
	return true;
}

/* True for a part that does not say which model it is. */
static bool is_mark(struct str part)
{
	return str_is(part, "preview") || str_is(part, "latest");
}

static bool is_number(struct str part)
{
	for (size_t i = 0; i < part.len; i++)
		if (part.ptr[i] < '0' || part.ptr[i] > '9')
			return false;
	return true;
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && nearest_distance(a, b) == 0;
}

/* Compares a short name to a model's name. */
static enum match match_name(struct str name, const char *model)
{
	const char *slash = strrchr(model, '/'); /* after a router's prefix */
	struct str rest = str_of(slash ? slash + 1 : model);
	struct str wanted;
	struct str part;
	bool last = false; /* the last part was matched */

	if (!next_part(&name, &wanted) || !wanted.len)
		return MATCH_NONE;
	while (next_part(&rest, &part)) {
		last = is_same(part, wanted) || (last && is_mark(part));
		if (is_same(part, wanted) && !next_part(&name, &wanted))
			wanted = (struct str){ 0 };
	}
	if (wanted.len)
		return MATCH_NONE;
	return last ? MATCH_WHOLE : MATCH_SOME;
}

/* Returns the best match among one provider's models, or NULL. */
static const char *find_in(const struct catalog_vendor *v, struct str name)
{
	const char *found = NULL;

	for (const struct catalog_row *row = v->rows; row->model; row++) {
		enum match match = match_name(name, row->model);

		if (match == MATCH_WHOLE)
			return row->model;
		if (match == MATCH_SOME && !found)
			found = row->model;
	}
	return found;
}

static const struct catalog_vendor *find_vendor(const char *provider)
{
	const struct catalog_vendor *v = catalog_vendors;

	while (v->provider && strcmp(v->provider, provider) != 0)
		v++;
	return v->provider ? v : NULL;
}

const char *short_name_default(const char *provider)
{
	const struct catalog_vendor *v = find_vendor(provider);

	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		if (v && !strcmp(defaults[i].provider, provider))
			return find_in(v, str_of(defaults[i].family));
	return NULL;
}

/* True if the name is the provider's, or only the first part of its models'
 * names. */
static bool is_vendor_name(const struct catalog_vendor *v, struct str name)
{
	struct str rest = str_of(v->rows[0].model);
	struct str part;

	return is_same(str_of(v->provider), name) ||
	       (next_part(&rest, &part) && is_same(part, name));
}

/* Returns what a short name stands for among one provider's models, or NULL. */
static const char *find_short(const struct catalog_vendor *v, struct str name)
{
	const char *own = is_vendor_name(v, name)
				  ? short_name_default(v->provider)
				  : NULL;

	return own ? own : find_in(v, name);
}

const char *short_name_find(struct str name,
			    bool (*usable)(void *arg, const char *provider),
			    void *arg, const char **provider)
{
	const char *found = NULL;
	struct str rest = name;
	struct str part;
	bool word = false; /* a part that is not a number */

	while (next_part(&rest, &part))
		word |= part.len > 1 && !is_number(part);
	for (const struct catalog_vendor *v = catalog_vendors;
	     word && v->provider; v++) {
		const char *model = find_short(v, name);

		if (!model || (found && !usable(arg, v->provider)))
			continue;
		if (usable(arg, v->provider)) {
			*provider = v->provider;
			return model;
		}
		*provider = v->provider;
		found = model;
	}
	return found;
}

struct str short_name_of(const char *provider, const char *model)
{
	const struct catalog_vendor *v = find_vendor(provider);
	struct str rest = str_of(model);
	struct str part;

	while (v && next_part(&rest, &part)) {
		const char *found = NULL;

		if (part.len > 2 && part.ptr[0] > '9' && !is_mark(part) &&
		    !is_vendor_name(v, part))
			found = find_short(v, part);
		if (found && !strcmp(found, model))
			return part;
	}
	return (struct str){ 0 };
}

/* A search for the name that `name` may stand for. */
struct similar {
	struct str name;
	struct str best;
	size_t rank; /* of best: see rank_name(); lower is better */
};

enum { LEAST_PIECE = 3 }; /* bytes that may stand for what contains them */

/* True if the known name contains the typed one. */
static bool has_piece(struct str known, struct str name)
{
	for (size_t i = 0; i + name.len <= known.len; i++)
		if (!strncasecmp(known.ptr + i, name.ptr, name.len))
			return true;
	return false;
}

/* Ranks a known name: first those that begin with the typed one, then those
 * that contain it, then those that are like it. */
static size_t rank_name(struct str name, struct str known)
{
	if (name.len > 1 && name.len <= known.len &&
	    !strncasecmp(known.ptr, name.ptr, name.len))
		return 0;
	if (name.len >= LEAST_PIECE && has_piece(known, name))
		return 1;
	return 1 + nearest_distance(name, known);
}

static void compare_name(struct similar *s, struct str known)
{
	size_t rank = known.len ? rank_name(s->name, known) : SIZE_MAX;

	if (rank >= s->rank)
		return;
	s->rank = rank;
	s->best = known;
}

void short_name_suggest(struct str name, struct buf *out)
{
	size_t far = name.len < 4 ? 2 : 3; /* a nearest_distance() */
	struct similar s = { name, { 0 }, 1 + far };

	for (const struct catalog_vendor *v = catalog_vendors; v->provider;
	     v++) {
		struct str rest = str_of(v->rows[0].model);
		struct str part;

		if (short_name_default(v->provider)) {
			compare_name(&s, str_of(v->provider));
			if (next_part(&rest, &part))
				compare_name(&s, part);
		}
		for (const struct catalog_row *r = v->rows; r->model; r++) {
			compare_name(&s, short_name_of(v->provider, r->model));
			compare_name(&s, str_of(r->model));
		}
	}
	if (s.best.len)
		buf_addf(out, "Did you mean %.*s? ", (int)s.best.len,
			 s.best.ptr);
}
