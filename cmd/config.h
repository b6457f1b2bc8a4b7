/* config.h - the entries that dcode config shows. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "config/settings.h"

/* One setting with its effective value, without secrets. */
struct config_entry {
	char *key;                 /* owned; as written in config.toml */
	const struct setting *row; /* description of the setting; NULL: a key in
				      config.toml that dcode does not know */
	char *group; /* owned: the part of key that is the heading in the
		      list */
	bool secret;
	bool set;     /* the value does not come from the default */
	char *source; /* owned: where the value comes from, "env
			 (DAYTONA_API_KEY)" */
	char *text;   /* owned: the value as text; NULL if there is none */
	char *json;   /* owned; the value as JSON */
	char *error;  /* owned: why the value cannot be used; or NULL */
};

struct config_entries {
	struct config_entry *list; /* owned */
	size_t n;
};

/* Collects all settings that groups describe and all other keys in config.toml
 * below their tables. Initialise e with { 0 }. */
void config_collect(struct config_entries *e, const struct settings *set,
		    const struct setting_group *groups);
void config_release(struct config_entries *e);

#endif
