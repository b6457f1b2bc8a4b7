/* pairs.h - a setting's list of NAME=value as a JSON object. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_PAIRS_H
#define PROVIDERS_PAIRS_H

#include "base/json.h"
#include "config/settings.h"

/* Adds them as members, the last of a name counts. ERR_CONFIG for an entry
 * that is none. */
int pairs_add(const struct settings *set, const char *group, const char *key,
	      cJSON *object, struct error *err);

#endif
