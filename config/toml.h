/* toml.h - TOML 1.0 reader that knows where everything stands. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include <stdint.h>

#include "base/buf.h"

enum toml_kind {
	TOML_TABLE,
	TOML_ARRAY,
	TOML_STRING,
	TOML_INT,
	TOML_FLOAT,
	TOML_BOOL,
	TOML_DATETIME, /* with offset */
	TOML_LOCAL_DATETIME,
	TOML_LOCAL_DATE,
	TOML_LOCAL_TIME,
};

struct toml_value {
	enum toml_kind kind;
	int line, column; /* of the value, from 1; column counts characters */
	char *key;        /* of this member when inside a table, else NULL */
	size_t key_len;   /* bytes; a key may hold NUL */
	char *text;       /* strings (NUL-terminated, may hold NUL inside) and
			     dates in RFC 3339 spelling */
	size_t text_len;
	int64_t integer;          /* TOML_INT; TOML_BOOL: 0 or 1 */
	double real;              /* TOML_FLOAT */
	struct toml_value *items; /* members or elements, in order */
	size_t n_items;
	unsigned flags; /* the reader's own */
};

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

#endif
