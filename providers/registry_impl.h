/* registry_impl.h - what the parts of the registry share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_REGISTRY_IMPL_H
#define PROVIDERS_REGISTRY_IMPL_H

#include "providers/registry.h"

/* Reads an entry with its types checked; base: the built-in provider of that
 * name, whose checks stay, or NULL. ERR_CONFIG: "FILE:3:5: KEY must be ...";
 * d has to be released in any case. */
int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base,
			 struct error *err);

#endif
