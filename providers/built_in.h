/* built_in.h - the providers that dcode has built in, and one by its name. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_BUILT_IN_H
#define PROVIDERS_BUILT_IN_H

#include "sandbox/provider.h"

/* table.c: NULL ends them. registry.h has those that the user added, too. */
extern const struct sandbox_provider *const sandbox_providers[];
/* By its first name; NULL: no built-in provider has it, or name is NULL. */
const struct sandbox_provider *sandbox_provider_find(const char *name);
/* Whether it is the first or the second name of one. */
bool sandbox_provider_is_built_in(const char *name);

#endif
