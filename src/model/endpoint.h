/* endpoint.h - where a provider is, how to speak to it and with what key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_ENDPOINT_H
#define MODEL_ENDPOINT_H

#include "model/model.h"
#include "model/presets.h"

struct provider { /* all borrowed */
	const char *name;
	const struct preset *preset;     /* or NULL */
	const struct toml_value *config; /* [models.providers.NAME] or NULL */
};

/* The table of this provider, by its own name or its alias; NULL when there is
 * none or it is no table. */
const struct toml_value *endpoint_config(const struct settings *set,
					 const char *name);
/* Preset and table of a name. False when it has neither. */
bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name);
bool endpoint_disabled(const struct provider *p);
/* by_project: true when a key from a project's .env counts. */
bool endpoint_has_key(const struct provider *p, const struct settings *set,
		      bool by_project);
/* Fills wire, base_url, api_key and key_env of a choice whose model is set. */
int endpoint_fill(struct model_choice *c, const struct provider *p,
		  const struct settings *set, struct error *err);

#endif
