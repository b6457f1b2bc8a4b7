/* config.h - the entries that dcode config shows. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "config/settings.h"

/* One setting with its effective value. Secret values are removed. */
struct config_entry {
	char *key;                 /* owned; as written in config.toml */
	const struct setting *row; /* NULL: a key without a row */
	char *group; /* owned: the prefix of key under which it is listed */
	bool secret;
	bool set;     /* true if the value is not just the default */
	char *source; /* owned: "env (DAYTONA_API_KEY)" */
	char *text;   /* owned; value for display; NULL without a value */
	char *json;   /* owned; the value as JSON */
	char *error;  /* owned; why the value cannot be used, or NULL */
};

struct config_entries {
	struct config_entry *list; /* owned */
	size_t n;
};

/* Collects every row of groups and everything in config.toml below their
 * tables. Start with { 0 }. */
void config_collect(struct config_entries *e, const struct settings *set,
		    const struct setting_group *groups);
void config_release(struct config_entries *e);

#endif
