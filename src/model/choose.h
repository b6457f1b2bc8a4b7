/* choose.h - a model provider: its preset, its configuration, its key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CHOOSE_H
#define MODEL_CHOOSE_H

#include "model/model.h"
#include "model/presets.h"

struct provider { /* all borrowed */
	const char *name;
	const struct preset *preset; /* or NULL */
	/* the table [models.providers.NAME], or NULL */
	const struct toml_value *config;
};

/* Finds the preset and the config.toml table of a provider. False if it has
 * neither. */
bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name);
bool endpoint_disabled(const struct provider *p);
/* True if there is a key for the provider. by_project: one in a project's .env
 * counts too. */
bool endpoint_has_key(const struct provider *p, const struct settings *set,
		      bool by_project);

#endif
