/* effort.h - how much a model thinks, in the words of each wire. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_EFFORT_H
#define MODEL_EFFORT_H

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/error.h"
#include "model/catalog/facts.h"
#include "model/model.h"

/* The bit of "low", "xhigh", ...; 0 when there is no such level. */
unsigned effort_level(const char *name);
/* -1, ERR_USAGE: value of setting is no level. */
int effort_unknown(const char *setting, const char *value, struct error *err);
/* "low, medium or high" */
void effort_names(unsigned levels, struct buf *out);
/*
 * Adds what asks a model for this level to the parameters of its requests,
 * unless these say something of thinking themselves. -1 with ERR_CONFIG when
 * the model is known not to take it.
 */
int effort_apply(const struct model_choice *c, const struct model_facts *facts,
		 unsigned level, cJSON *params, struct error *err);

#endif
