/* built_in.h - the providers that dcode has built in. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_BUILT_IN_H
#define PROVIDERS_BUILT_IN_H

#include "sandbox/provider.h"

/*
 * Built-in providers, ended by NULL (table.c). registry.h adds those that the
 * user configured.
 */
extern const struct sandbox_provider *const sandbox_providers[];
/*
 * Finds a built-in provider by its first name. NULL if none matches or name is
 * NULL.
 */
const struct sandbox_provider *sandbox_provider_find(const char *name);
/* True for "none": the tools act on this machine. No other provider may have
 * that name. */
bool sandbox_is_none(const char *name);
/* True if name is the first or second name of a built-in provider. */
bool sandbox_provider_is_built_in(const char *name);

#endif
