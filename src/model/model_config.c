/* model_config.c - what the configuration says of a provider of models. */
/* SPDX-License-Identifier: MIT */
#include "model/model_config.h"

#include "model/presets.h"

const struct toml_value *model_config(const struct settings *set,
				      const char *name)
{
	const struct toml_value *all = settings_toml(set, "models.providers");
	const struct preset *preset = preset_find(name);
	const struct toml_value *found = NULL;

	if (all && all->kind == TOML_TABLE)
		found = toml_get(all, name);
	if (!found && preset && all && all->kind == TOML_TABLE) {
		found = toml_get(all, preset->name);
		if (!found && preset->alias)
			found = toml_get(all, preset->alias);
	}
	return found && found->kind == TOML_TABLE ? found : NULL;
}
