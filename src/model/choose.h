/* choose.h - a provider of models: its preset, its table, its key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CHOOSE_H
#define MODEL_CHOOSE_H

#include "model/model.h"
#include "model/presets.h"

struct provider { /* all borrowed */
	const char *name;
	const struct preset *preset;     /* or NULL */
	const struct toml_value *config; /* [models.providers.NAME] or NULL */
};

/* Finds preset and table of a provider's name. False if it has neither. */
bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name);
bool endpoint_disabled(const struct provider *p);
/* by_project: true when a key from a project's .env counts. */
bool endpoint_has_key(const struct provider *p, const struct settings *set,
		      bool by_project);

#endif
