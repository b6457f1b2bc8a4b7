/* profile.c - what the configuration says of a model. */
/* SPDX-License-Identifier: MIT */
#include "model/catalog/profile.h"

#include <stddef.h>
#include <string.h>

enum kind { TOKENS, ABILITY, LACK, DOLLARS };

static const struct {
	const char *key;
	enum kind kind;
	size_t offset; /* of facts; ABILITY: the bit; LACK: that of false */
} rows[] = {
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

static int refuse(const struct toml_value *v, const char *key, const char *what,
		  struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "config.toml:%d:%d: profile.%s must be %s", v->line,
			 v->column, key, what);
}

static int read_tokens(int64_t *to, const struct toml_value *v, const char *key,
		       struct error *err)
{
	if (v->kind != TOML_INT || v->integer < 1 || v->integer > MOST_TOKENS)
		return refuse(v, key, "a number of tokens", err);
	*to = v->integer;
	return 0;
}

static int read_dollars(int64_t *to, const struct toml_value *v,
			const char *key, struct error *err)
{
	double dollars = v->kind == TOML_INT ? (double)v->integer : v->real;

	if ((v->kind != TOML_INT && v->kind != TOML_FLOAT) ||
	    !(dollars >= 0 && dollars <= MOST_DOLLARS))
		return refuse(v, key, "US dollars for a million tokens", err);
	*to = (int64_t)(dollars * 1e6 + 0.5);
	return 0;
}

static int read_row(struct model_facts *facts, struct model_price *price,
		    const struct toml_value *v, size_t i, struct error *err)
{
	char *base = rows[i].kind == DOLLARS ? (char *)price : (char *)facts;
	int64_t *number = (int64_t *)(void *)(base + rows[i].offset);

	if (rows[i].kind == TOKENS)
		return read_tokens(number, v, rows[i].key, err);
	if (rows[i].kind == DOLLARS)
		return read_dollars(number, v, rows[i].key, err);
	if (v->kind != TOML_BOOL)
		return refuse(v, rows[i].key, "true or false", err);
	if ((v->integer != 0) == (rows[i].kind == ABILITY))
		facts->takes |= (unsigned)rows[i].offset;
	else
		facts->takes &= ~(unsigned)rows[i].offset;
	if (rows[i].offset == MODEL_THINKS && !v->integer)
		facts->efforts = 0;
	return 0;
}

static int read_table(struct model_facts *facts, struct model_price *price,
		      const struct toml_value *table, struct error *err)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct toml_value *v = toml_get(table, rows[i].key);

		if (v && read_row(facts, price, v, i, err) < 0)
			return -1;
		if (v && i == 0)
			facts->assumed = false;
	}
	return 0;
}

/* Both prices make a price. What the cache costs is then the input's price,
 * unless it is said or was known. */
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
