/* catalog_rows.c - the built-in table of models. */
/* SPDX-License-Identifier: MIT */
/* Only rows; catalog.c looks them up. The comment above each group names the
 * source and the day on which it was read. Prices are for ordinary requests,
 * without batch discounts or priority surcharges. Numbers without a source are
 * left out. Of each family the newest model comes first: short names and the
 * default models depend on it (short_name.h). */
#include <stddef.h>

#include "model/catalog.h"

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
