/* params.h - merges the user's request parameters from all layers. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include <cjson/cJSON.h>

#include "base/error.h"
#include "config/toml.h"

/* Later layers override earlier ones, member by member: the flat keys of the
 * TOML table, its sub-table named after the model, the JSON of --model-params.
 * A sub-table whose name has only lower-case letters and "_" is a parameter
 * ("thinking"); any other belongs to another model. table or json NULL: no such
 * layer. The caller deletes *out. ERR_CONFIG if one of them is invalid. */
int params_merge(cJSON **out, const struct toml_value *table, const char *model,
		 const char *json, struct error *err);

struct params_options {   /* bits of wire->options */
	unsigned decided; /* set by the user or the server: do not change */
	unsigned turned;  /* those that differ from wire_option.at_first */
	/* mark: a number to put in place of the output limit, 0: leave the
	 * limit alone. limit: the user's limit, or 0. */
	int64_t mark, limit;
};
struct wire;
struct model_choice;
/* Removes parameters of dcode and the Python clients, converts the rest to the
 * form of this wire and records which options the user has set. A null removes
 * the parameter. */
void params_clean(const struct wire *wire, const struct model_choice *choice,
		  cJSON *params, struct params_options *options);
/* True if params has an output limit under any of its names. */
bool params_have_limit(const cJSON *params);
/* Renames a member, or removes it if the new name exists. */
void params_rename(cJSON *params, const char *from, const char *to);
/* Moves a member into an object, which is created if needed: "reasoning_effort"
 * becomes "effort" of "reasoning". Removes it if the object has that member. */
void params_nest(cJSON *params, const char *from, const char *group,
		 const char *to);

#endif
