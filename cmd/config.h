/* config.h - the lines that dcode config shows. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "config/settings.h"

/* One setting with its effective value, secrets already taken out. */
struct config_entry {
	char *key;                 /* owned; as written in config.toml */
	const struct setting *row; /* NULL for other members of config.toml */
	char *group; /* owned: the part of key it is shown under */
	bool secret;
	bool set;     /* by more than its default */
	char *source; /* owned: "env (DAYTONA_API_KEY)" */
	char *text;   /* owned; for people; NULL when there is no value */
	char *json;   /* owned; the value as JSON */
	char *error;  /* owned; why the value cannot be used, or NULL */
};

struct config_entries {
	struct config_entry *list; /* owned */
	size_t n;
};

/* Every row of groups, and what config.toml holds below the tables among
 * them. Start from { 0 }. */
void config_collect(struct config_entries *e, const struct settings *set,
		    const struct setting_group *groups);
void config_release(struct config_entries *e);

#endif
