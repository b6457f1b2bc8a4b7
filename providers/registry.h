/* registry.h - all providers by name: built-in ones and the user's. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_REGISTRY_H
#define PROVIDERS_REGISTRY_H

#include "providers/external/provider_config.h"
#include "sandbox/provider.h"

/*
 * Built-in providers, ended by NULL (table.c). registry.h adds those that the
 * user configured.
 */
extern const struct sandbox_provider *const sandbox_providers[];

/* If several sources define a provider of the same name, the first of these
 * wins: config.toml, packages (entry points of the group
 * deepagents_code.sandbox_providers), programs in ~/.deepagents/providers,
 * built-in providers, programs on PATH. Creating a registry starts no process.
 * Use it from one thread at a time. */
struct registry;

/* Creates a registry. set is borrowed; entries that change the working
 * directory of built-in providers are added to it. warn receives a line for
 * each entry that is skipped. */
struct registry *registry_new(struct settings *set,
			      void (*warn)(const char *line));
void registry_free(struct registry *r);
/* Returns NULL if no provider has this name. A provider's second name is used
 * if no provider has it as its first. */
const struct sandbox_provider *registry_find(struct registry *r,
					     const char *name);
/* Returns all providers sorted by name, including those on PATH.
 * NULL-terminated, valid until the next call. */
const struct sandbox_provider *const *registry_list(struct registry *r);
/* Returns where a provider comes from: "built in", "config.toml:12".
 * Borrowed. */
const char *registry_origin(const struct registry *r,
			    const struct sandbox_provider *provider);
/* True if the name contains only letters, digits, '-', '_' and '.', and begins
 * with a letter or digit. */
bool registry_name_ok(const char *name);

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

/*
 * Computes the price. usd_per_hour of [sandboxes.providers.NAME] in the user's
 * configuration takes precedence. Otherwise the provider computes the price of
 * a sandbox with these settings. snapshot, if not NULL, is used instead of the
 * configured snapshot. ERR_CONFIG if usd_per_hour is not an amount.
 */
int price_of_sandbox(const struct settings *set,
		     const struct sandbox_provider *provider,
		     const char *snapshot, struct sandbox_price *price,
		     struct error *err);

#endif
