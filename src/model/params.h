/* params.h - merges the user's request parameters from all layers. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include <cjson/cJSON.h>

#include "base/error.h"
#include "config/toml.h"

/* Merges all layers of parameters. Later layers override earlier ones, member
 * by member: the flat keys of the TOML table, its sub-table named after the
 * model, the JSON of --model-params. A sub-table whose name has only lower-case
 * letters and "_" is itself a parameter ("thinking"); any other belongs to
 * another model. table or json NULL: there is no such layer. The caller deletes
 * *out. ERR_CONFIG if a layer is invalid. */
int params_merge(cJSON **out, const struct toml_value *table, const char *model,
		 const char *json, struct error *err);

/* decided and turned have a bit for each row of wire->options */
struct params_options {
	/* options that the user or the server has set: do not change them */
	unsigned decided;
	unsigned turned; /* options that differ from wire_option.at_first */
	/* mark: a number to write in place of the output limit, so that it can
	 * be found in the request; 0: do not change the limit. limit: the
	 * user's limit, or 0. */
	int64_t mark, limit;
};
struct wire;
struct model_choice;
/* Removes parameters meant for dcode or the Python clients, converts the others
 * to the form of this wire, and records which options the user has set. A
 * parameter with the value null is removed. */
void params_clean(const struct wire *wire, const struct model_choice *choice,
		  cJSON *params, struct params_options *options);
/* True if params has an output limit under any of its names. */
bool params_have_limit(const cJSON *params);
/* Renames a member. If there is a member with the new name already, only
 * removes the old one. */
void params_rename(cJSON *params, const char *from, const char *to);
/* Moves a member into an object, which is created if needed: "reasoning_effort"
 * becomes "effort" in "reasoning". If the object has that member already, only
 * removes the old one. */
void params_nest(cJSON *params, const char *from, const char *group,
		 const char *to);

#endif
