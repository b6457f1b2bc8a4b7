/* profile.h - what the configuration says of a model. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "base/error.h"
#include "config/toml.h"
#include "model/catalog/facts.h"

/*
 * Puts what `profile` of a provider's table says over facts: its own keys, then
 * those of the table under it that has the model's name. Keys:
 * max_input_tokens, max_output_tokens, image_inputs, pdf_inputs,
 * reasoning_output, tool_calling, and in dollars for a million tokens
 * input_price, output_price, cache_read_price, cache_write_price. Others are
 * Python's and left alone. provider may be NULL. ERR_CONFIG for a value of the
 * wrong kind.
 */
int profile_apply(struct model_facts *facts, const struct toml_value *provider,
		  const char *model, struct error *err);

#endif
