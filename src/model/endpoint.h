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

/* Preset and table of a name. False when it has neither. */
bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name);
/* A member of its table, or NULL. */
const struct toml_value *endpoint_member(const struct provider *p,
					 const char *key);
/* A string of its table that is set and not empty; *value stays as it was
 * otherwise. ERR_CONFIG when it is no string. */
int endpoint_text(const struct provider *p, const char *key, const char **value,
		  struct error *err);
/* NULL with err when there is none that dcode speaks. */
struct wire;
const struct wire *endpoint_wire(const struct provider *p, struct error *err);
bool endpoint_disabled(const struct provider *p);
/* by_project: true when a key from a project's .env counts. */
bool endpoint_has_key(const struct provider *p, const struct settings *set,
		      bool by_project);
/* Fills wire, base_url, api_key and key_env of a choice whose model is set. */
int endpoint_fill(struct model_choice *c, const struct provider *p,
		  const struct settings *set, struct error *err);

#endif
