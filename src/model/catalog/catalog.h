/* catalog.h - what is known of a model: window, limits, prices, abilities. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CATALOG_H
#define MODEL_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/settings.h"
#include "model/catalog/facts.h"
#include "model/model.h"

/*
 * The facts of provider's model, from the built-in table and over it what
 * [models.providers.PROVIDER.profile] says (profile.h). set may be NULL: the
 * table alone. false when nobody knows the window: context is then an
 * assumption, and there may be no price. A
 * date, a version or "-latest" at the end of a name is the same model. Regions
 * of Bedrock ("us.anthropic.claude-opus-5") and vendors in front
 * ("openai/gpt-5.5" at a router) lead to the vendor's rows.
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

#endif
