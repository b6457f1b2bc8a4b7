/* toml_value.h - a value of a TOML document. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_VALUE_H
#define CONFIG_TOML_VALUE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
