/* making.h - what the vendors share where they make a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_MAKING_H
#define PROVIDERS_MAKING_H

#include "base/json.h"
#include "config/settings.h"

/* The items "NAME=value" of a provider's setting as members of object. */
int making_pairs(const struct settings *set, const char *provider,
		 const char *key, cJSON *object, struct error *err);

#endif
