/* params.h - a provider's params of config.toml, as JSON. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PARAMS_H
#define PROVIDERS_EXTERNAL_PARAMS_H

#include "base/json.h"
#include "config/toml.h"

/* Appends a table (NULL: an empty one) as an object. ERR_CONFIG for what JSON
 * cannot carry: a string with NUL, a number that is not finite. */
int params_json(const struct toml_value *table, struct buf *out,
		struct error *err);
/* Does a provider understand all of them? known: name -> "string", "integer",
 * "number", "boolean", "array" or "object". ERR_CONFIG names line and key. */
int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err);

#endif
