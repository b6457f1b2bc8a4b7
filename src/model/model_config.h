/* model_config.h - what the configuration says of a provider of models. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_CONFIG_H
#define MODEL_MODEL_CONFIG_H

#include "config/settings.h"

/* [models.providers.NAME], by the provider's own name or its alias; NULL when
 * there is none or it is no table. */
const struct toml_value *model_config(const struct settings *set,
				      const char *name);

#endif
