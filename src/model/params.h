/* params.h - what the user wants in every request, from all layers. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include <cjson/cJSON.h>

#include "base/error.h"
#include "config/toml.h"

/*
 * Later layers win, member by member: the flat keys of the TOML table, its
 * sub-table named after the model, the JSON of --model-params. A sub-table
 * whose name is made of letters and "_" only is a parameter ("thinking"), any
 * other stands for another model. NULL table or json: no such layer. The
 * caller deletes *out. ERR_USAGE for bad JSON, ERR_CONFIG for bad TOML.
 */
int params_merge(cJSON **out, const struct toml_value *table, const char *model,
		 const char *json, struct error *err);

#endif
