/* toml_value.h - a parsed value of a TOML document. */
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
	TOML_DATETIME, /* with UTC offset */
	TOML_LOCAL_DATETIME,
	TOML_LOCAL_DATE,
	TOML_LOCAL_TIME,
};

struct toml_value {
	enum toml_kind kind;
	int line, column; /* from 1; column counts characters */
	/* this value's key in its table; NULL if it is not in a table */
	char *key;
	size_t key_len; /* bytes; a key may hold NUL */
	/* strings (NUL-terminated, may contain NUL) and dates in RFC 3339
	 * form */
	char *text;
	size_t text_len;
	int64_t integer;          /* TOML_INT; for TOML_BOOL 0 or 1 */
	double real;              /* TOML_FLOAT */
	struct toml_value *items; /* members or elements, in order */
	size_t n_items;
	unsigned flags; /* for the parser only */
};

#endif
