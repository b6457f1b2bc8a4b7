/* body.h - settings as members of the JSON that creates a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_BODY_H
#define PROVIDERS_KIT_BODY_H

#include "base/json.h"
#include "sandbox/sandbox.h"

/*
 * Adds those of the provider's settings named in keys ("user region", in this
 * order) that have a value, as the member of body that the setting's row names
 * in .field ("resources.vcpus" makes the object too): text, numbers from
 * .least on, true, arrays of text, and for SETTING_PAIRS an object. ERR_CONFIG
 * for a value that does not fit.
 */
int body_add_settings(const struct sandbox_client *client, const char *keys,
		      cJSON *body, struct error *err);
/* The object at a path of members like "a.b", made where it is missing. */
cJSON *body_object(cJSON *body, const char *path);

#endif
