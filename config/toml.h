/* toml.h - parses TOML 1.0 and records the position of every value. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include "base/buf.h"
#include "config/toml_value.h"

/* Parses a whole document. Fails with ERR_CONFIG and the message
 * "name:line:column: what is wrong". root becomes a table that the caller
 * releases. At most 200 levels. */
int toml_parse(struct toml_value *root, struct str text, const char *name,
	       struct error *err);
void toml_release(struct toml_value *root);
/* Returns the member of a table, or NULL. */
const struct toml_value *toml_get(const struct toml_value *table,
				  const char *key);
/* Returns the value at "a.b.c", or NULL. Segments may be quoted: a."x.y".c. */
const struct toml_value *toml_path(const struct toml_value *table,
				   const char *dotted);
/* returns "string", "integer", ... */
const char *toml_kind_name(enum toml_kind kind);
/* Appends a zeroed item to a table or array and returns it. */
struct toml_value *toml_append(struct toml_value *holder);
/* Parses a single value, such as a default ("3600"). */
int toml_parse_value(struct toml_value *v, struct str text, const char *name,
		     struct error *err);

#endif
