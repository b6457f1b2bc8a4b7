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
	unsigned decided; /* not ours to change any more, by the user or by the
			     server */
	unsigned turned;  /* and which are the other way round */
	/* A number to put in place of the output limit, 0: leave that alone;
	 * and what the user wants there, 0: nothing. */
	int64_t mark, limit;
};
struct wire;
struct model_choice;
/* Takes out what is not for the request (ours, and that of Python's clients),
 * gives the rest the form of this wire and tells which options the user has
 * decided. A null leaves out what it names. */
void params_clean(const struct wire *wire, const struct model_choice *choice,
		  cJSON *params, struct params_options *options);
/* Whether they limit the output, under any of its names. */
bool params_have_limit(const cJSON *params);
/* Gives a member another name, or drops it where that is there already. */
void params_rename(cJSON *params, const char *from, const char *to);
/* The same into an object, made if need be: "reasoning_effort" to "effort" of
 * "reasoning". */
void params_nest(cJSON *params, const char *from, const char *group,
		 const char *to);

#endif
