/* registry.h - every provider of this user: which one a name means. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_REGISTRY_H
#define PROVIDERS_REGISTRY_H

#include "providers/external/provider_config.h"

/*
 * The first that has a name wins: config.toml, packages (entry points of the
 * group deepagents_code.sandbox_providers), programs in
 * ~/.deepagents/providers, what is built in, programs on PATH. Making it
 * starts no process. One thread at a time.
 */
struct registry;

/* set is borrowed, and gets the working directories that entries lay over
 * built-in providers; warn gets a line for each entry that is skipped. */
struct registry *registry_new(struct settings *set,
			      void (*warn)(const char *line));
void registry_free(struct registry *r);
/* NULL when there is none of this name; a provider's second name counts where
 * no provider has it as its first. */
const struct sandbox_provider *registry_find(struct registry *r,
					     const char *name);
/* All of them by name, those on PATH included; NULL-terminated, and good until
 * the next call. */
const struct sandbox_provider *const *registry_list(struct registry *r);
/* Where a provider comes from: "built in", "config.toml:12". Borrowed. */
const char *registry_origin(const struct registry *r,
			    const struct sandbox_provider *provider);
/* Letters, digits and, except as the first, - _ . */
bool registry_name_ok(const char *name);

#endif
