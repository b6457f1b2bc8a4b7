/* catalog.h - facts about models: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CATALOG_H
#define MODEL_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/str.h"
#include "config/settings.h"
#include "model/model.h"

enum { /* abilities of a model */
       MODEL_TAKES_IMAGES = 1 << 0,
       MODEL_TAKES_PDF = 1 << 1,
       MODEL_THINKS = 1 << 2,      /* its reasoning effort can be chosen */
       MODEL_LACKS_TOOLS = 1 << 3, /* its profile sets tool_calling = false */
};

enum { /* levels of reasoning effort that a model supports, one bit each */
       EFFORT_NONE = 1 << 0,
       EFFORT_MINIMAL = 1 << 1,
       EFFORT_LOW = 1 << 2,
       EFFORT_MEDIUM = 1 << 3,
       EFFORT_HIGH = 1 << 4,
       EFFORT_XHIGH = 1 << 5,
       EFFORT_MAX = 1 << 6,
       EFFORT_BUDGET = 1 << 7, /* takes a number of tokens instead of a
				* level */
       /* does not think unless the request asks for it */
       EFFORT_ADAPTIVE = 1 << 8,
};

struct model_price { /* trillionths of a US dollar per token */
	int64_t input, output, cache_read, cache_write;
};

struct model_facts {
	int64_t context;    /* context window in tokens; 0: unknown */
	int64_t max_output; /* tokens per answer; 0: unknown */
	bool assumed; /* context is dcode's guess: the user must be told */
	bool priced;
	/* the prices of input and output both come from the user */
	bool own_price;
	unsigned takes;
	/* levels that the model supports; 0: none, or unknown */
	unsigned efforts;
	struct model_price price;
	/* A request with more than long_from input tokens costs long_price, all
	 * of it. 0: there is no such price. */
	int64_t long_from;
	struct model_price long_price;
};

/* Finds the facts of a provider's model in the built-in table. The profile in
 * [models.providers.PROVIDER] overrides them (see profile_apply()). set may be
 * NULL: then only the table counts. False if the window is unknown: context is
 * then an assumption, and there may be no price. A date, version or "-latest"
 * at the end of a name is ignored. Bedrock's regional names
 * ("us.anthropic.claude-opus-5") and routers' names ("openai/gpt-5.5") find the
 * vendor's rows. */
bool model_facts(const struct settings *set, const char *provider,
		 const char *model, struct model_facts *facts);
/* Calls each for every model in the built-in table, of one provider or (NULL)
 * of all. */
void model_facts_each(const char *provider,
		      void (*each)(void *arg, const char *provider,
				   const char *model,
				   const struct model_facts *facts),
		      void *arg);
/* Returns the cost of one answer in trillionths of a US dollar; 0 if the
 * model's price is unknown. */
int64_t model_cost(const struct model_facts *facts, const struct usage *usage);

/* The built-in table. */
struct catalog_vendor {
	const char *provider; /* NULL ends the table */
	const struct catalog_row {
		const char *model; /* NULL ends the table */
		struct model_facts facts;
	} * rows;
};
extern const struct catalog_vendor catalog_vendors[];

/* Overrides facts by the `profile` in a provider's table: by its own keys, and
 * then by those in its sub-table with the model's name. Keys: max_input_tokens,
 * max_output_tokens, image_inputs, pdf_inputs, reasoning_output, tool_calling;
 * in dollars per million tokens: input_price, output_price, cache_read_price,
 * cache_write_price. Other keys are for the Python program and are ignored.
 * provider may be NULL. ERR_CONFIG for a value of the wrong type. */
int profile_apply(struct model_facts *facts, const struct toml_value *provider,
		  const char *model, struct error *err);

/* The bit of a level of reasoning effort ("low", "xhigh", ...); 0 if
 * unknown. */
unsigned effort_level(const char *name);
/* Returns -1 with ERR_USAGE: the setting's value is not a level. The message
 * lists the levels. */
int effort_unknown(const char *setting, const char *value, struct error *err);
/* Appends the names of levels: "low, medium or high". */
void effort_names(unsigned levels, struct buf *out);
/* Adds the vendor's parameters for this level to a request's parameters. Does
 * nothing if they control thinking already. -1 with ERR_CONFIG if the catalog
 * says that the model does not support the level. */
int effort_apply(const struct model_choice *c, const struct model_facts *facts,
		 unsigned level, cJSON *params, struct error *err);

/* Returns the model that a short name stands for, and its provider. usable says
 * whether the user can use a provider; such a provider has priority. NULL if it
 * is not a short name. The results are static. */
const char *short_name_find(struct str name,
			    bool (*usable)(void *arg, const char *provider),
			    void *arg, const char **provider);
/* Appends "Did you mean opus? " for a short name, or a model in the built-in
 * table, that begins with name, contains it, or is within a nearest_distance()
 * of 2 (1 for a very short one), in this order. */
void short_name_suggest(struct str name, struct buf *out);
/* Returns the default model of a provider: the newest of the family that the
 * vendor describes as the one for demanding work. NULL: it has none. */
const char *short_name_default(const char *provider);
/* Returns the part of a model's name that is a short name for it, or an empty
 * text: "opus" for the newest Opus. */
struct str short_name_of(const char *provider, const char *model);

#endif
