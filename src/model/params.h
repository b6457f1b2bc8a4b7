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

struct params_options {   /* bits of wire->options */
	unsigned decided; /* by the user or by the server: do not change them */
	unsigned turned;  /* those that are not as wire_option.at_first says */
	/* A number to put in the place of the output limit, 0: leave that
	 * alone; and the limit that the user has set, or 0. */
	int64_t mark, limit;
};
struct wire;
struct model_choice;
/* Removes what is not for the request (dcode's parameters, and those of
 * Python's clients), gives the rest the form of this wire and notes which
 * options the user has decided. A null removes the parameter. */
void params_clean(const struct wire *wire, const struct model_choice *choice,
		  cJSON *params, struct params_options *options);
/* True if they limit the output, under any of the limit's names. */
bool params_have_limit(const cJSON *params);
/* Renames a member, or drops it if the new name exists. */
void params_rename(cJSON *params, const char *from, const char *to);
/* The same into an object, which is made if needed: "reasoning_effort" becomes
 * "effort" of "reasoning". */
void params_nest(cJSON *params, const char *from, const char *group,
		 const char *to);

#endif
