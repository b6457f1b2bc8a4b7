/* catalog.h - what is known of a model: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CATALOG_H
#define MODEL_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "config/settings.h"
#include "model/model.h"

enum { /* what a model takes or does */
       MODEL_TAKES_IMAGES = 1 << 0,
       MODEL_TAKES_PDF = 1 << 1,
       MODEL_THINKS = 1 << 2,      /* its reasoning effort can be chosen */
       MODEL_LACKS_TOOLS = 1 << 3, /* its profile: tool_calling = false */
};

enum { /* levels of reasoning effort that a model takes, a bit each */
       EFFORT_NONE = 1 << 0,
       EFFORT_MINIMAL = 1 << 1,
       EFFORT_LOW = 1 << 2,
       EFFORT_MEDIUM = 1 << 3,
       EFFORT_HIGH = 1 << 4,
       EFFORT_XHIGH = 1 << 5,
       EFFORT_MAX = 1 << 6,
       EFFORT_BUDGET = 1 << 7,   /* it takes a number of tokens instead */
       EFFORT_ADAPTIVE = 1 << 8, /* it thinks only if the request says so */
};

struct model_price { /* trillionths of a US dollar for each token */
	int64_t input, output, cache_read, cache_write;
};

struct model_facts {
	int64_t context;    /* tokens of the window; 0: unknown */
	int64_t max_output; /* tokens of one answer; 0: unknown */
	bool assumed;       /* context is an assumption; the user is told */
	bool priced;
	bool own_price; /* both prices are the user's */
	unsigned takes;
	unsigned efforts; /* 0: none, or unknown */
	struct model_price price;
	/* Prices of requests with more input than long_from tokens; 0: there
	 * are none. */
	int64_t long_from;
	struct model_price long_price;
};

/*
 * The facts of provider's model: the built-in table, and over it the profile of
 * [models.providers.PROVIDER] (see profile_apply()). set may be NULL: the table
 * alone. False when the window is unknown: context is then an assumption, and
 * there may be no price. A date, a version or "-latest" at the end of a name
 * does not make it another model. Names with a region of Bedrock
 * ("us.anthropic.claude-opus-5") and with a vendor in front ("openai/gpt-5.5"
 * at a router) lead to the vendor's rows.
 */
bool model_facts(const struct settings *set, const char *provider,
		 const char *model, struct model_facts *facts);
/* Every model of the built-in table, of one provider or (NULL) of all. */
void model_facts_each(const char *provider,
		      void (*each)(void *arg, const char *provider,
				   const char *model,
				   const struct model_facts *facts),
		      void *arg);
/* What one answer has cost, in trillionths of a US dollar; 0 if unpriced. */
int64_t model_cost(const struct model_facts *facts, const struct usage *usage);

/* The built-in table, catalog_rows.c. */
struct catalog_vendor {
	const char *provider; /* NULL ends the table */
	const struct catalog_row {
		const char *model; /* NULL ends the table */
		struct model_facts facts;
	} * rows;
};
extern const struct catalog_vendor catalog_vendors[];

/*
 * Overwrites facts by `profile` of a provider's table: first its own keys, then
 * those of the table below it with the model's name. Keys: max_input_tokens,
 * max_output_tokens, image_inputs, pdf_inputs, reasoning_output, tool_calling,
 * and in dollars for a million tokens input_price, output_price,
 * cache_read_price, cache_write_price. Other keys belong to the Python program
 * and are ignored. provider may be NULL. ERR_CONFIG for a value of the wrong
 * kind.
 */
int profile_apply(struct model_facts *facts, const struct toml_value *provider,
		  const char *model, struct error *err);

/* How much a model thinks. The bit of "low", "xhigh", ...; 0 for an unknown
 * level. */
unsigned effort_level(const char *name);
/* -1 with ERR_USAGE that lists the levels: value of setting is not one. */
int effort_unknown(const char *setting, const char *value, struct error *err);
/* "low, medium or high" */
void effort_names(unsigned levels, struct buf *out);
/*
 * Adds the vendor's parameters for this level to the parameters of a request,
 * unless they already have one about thinking. -1 with ERR_CONFIG for a model
 * that is known not to support the level.
 */
int effort_apply(const struct model_choice *c, const struct model_facts *facts,
		 unsigned level, cJSON *params, struct error *err);

#endif
