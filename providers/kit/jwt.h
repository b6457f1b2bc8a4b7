/* jwt.h - what a JSON web token says about itself. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_JWT_H
#define PROVIDERS_KIT_JWT_H

#include "base/json.h"

/* The claims, not verified; NULL for what is no token. The caller deletes
 * them. */
cJSON *jwt_claims(const char *token);
/* Its end in Unix seconds; 0 when it does not say. */
int64_t jwt_expires(const char *token);

#endif
