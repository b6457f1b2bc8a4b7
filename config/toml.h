/* toml.h - TOML 1.0 reader that knows where everything stands. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include "base/buf.h"
#include "config/toml_value.h"

/* Parses a whole document. On failure -1 and err->message is
 * "name:line:column: what is wrong", ERR_CONFIG. root is a table the caller
 * releases. Nesting is bounded at 200. */
int toml_parse(struct toml_value *root, struct str text, const char *name,
	       struct error *err);
void toml_release(struct toml_value *root);
/* Member of a table, or NULL. */
const struct toml_value *toml_get(const struct toml_value *table,
				  const char *key);
/* "a.b.c" through tables, or NULL. Quoted segments: a."x.y".c. */
const struct toml_value *toml_path(const struct toml_value *table,
				   const char *dotted);
const char *toml_kind_name(enum toml_kind kind); /* "string", "integer" */
/* A new zeroed item at the end. */
struct toml_value *toml_append(struct toml_value *holder);
/* One value alone, as in a default ("3600"). */
int toml_parse_value(struct toml_value *v, struct str text, const char *name,
		     struct error *err);

#endif
