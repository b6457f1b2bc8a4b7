/* params.h - tables of config.toml as JSON. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PARAMS_H
#define PROVIDERS_EXTERNAL_PARAMS_H

#include "base/json.h"
#include "config/toml.h"

/* How strings become JSON; NULL: as they are. */
struct params_strings {
	/* True leaves the member out. */
	bool (*omit)(const void *arg, const char *text);
	int (*add)(const void *arg, const char *text, struct buf *out,
		   struct error *err);
	const void *arg;
};
/* Appends a table (NULL: an empty one) as an object. ERR_CONFIG for what JSON
 * cannot carry: a string with NUL, a number that is not finite. */
int params_json(const struct toml_value *table,
		const struct params_strings *strings, struct buf *out,
		struct error *err);
/* Checks that a provider knows all params. known: name -> "string", "integer",
 * "number", "boolean", "array" or "object". ERR_CONFIG names line and key. */
int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err);

#endif
