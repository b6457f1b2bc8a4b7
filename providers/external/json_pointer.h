/* json_pointer.h - RFC 6901: where in a JSON document a value stands. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_JSON_POINTER_H
#define PROVIDERS_EXTERNAL_JSON_POINTER_H

#include "base/json.h"

/* The value that a pointer like "/data/0/id" names; borrowed, or NULL. */
const cJSON *json_pointer_get(const cJSON *tree, const char *pointer);
/* Its text; a number or a boolean as JSON writes it. Owned, or NULL. */
char *json_pointer_text(const cJSON *tree, const char *pointer);
bool json_pointer_ok(const char *pointer);

#endif
