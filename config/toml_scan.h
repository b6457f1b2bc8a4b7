/* toml_scan.h - the tokens of TOML: keys, strings, numbers, dates. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_SCAN_H
#define CONFIG_TOML_SCAN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "config/hash.h"
#include "config/toml_value.h"

enum {
	TOML_DEEPEST = 200,      /* levels of tables and arrays */
	TOML_LARGEST = 64 << 20, /* bytes: lines and columns are ints */
};

/* toml_value.flags while reading: how a table came to be. The bits above
 * TOML_ID_SHIFT number the tables. */
enum {
	TOML_DEFINED = 1 << 0,   /* by its [header] */
	TOML_DOTTED = 1 << 1,    /* by a dotted key */
	TOML_CLOSED = 1 << 2,    /* written as { } or [ ]: never extended */
	TOML_BY_HEADER = 1 << 3, /* an array made by [[header]] */
	TOML_ID_SHIFT = 4,
};

struct toml_place {
	int line, column; /* from 1 */
};

struct toml_key {
	char *text; /* owned; NULL once it has moved into a table */
	size_t len; /* bytes */
	struct toml_place at;
};

struct toml_reader {
	const char *name; /* borrowed: the file, for messages */
	const char *at;   /* the next byte */
	const char *end;
	int line;
	const char *mark; /* a byte of this line whose column is known */
	int mark_column;
	struct toml_key keys[TOML_DEEPEST]; /* the dotted key just read */
	size_t n_keys;
	struct buf scratch; /* the string being read */
	struct hash names;  /* member of table number scope -> its index */
	uint32_t tables;    /* numbers given out */
	struct error *err;
};

/* Places, messages, and what stands between values. */
struct toml_place toml_here(struct toml_reader *r);
int toml_fail(struct toml_reader *r, struct toml_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "found 'x'", "the end of the line": what stands at r->at, for a message. */
const char *toml_found(const struct toml_reader *r, char out[32]);
/* A key as it would be written, shortened, without control characters. */
const char *toml_shown(struct str key, char out[64]);
bool toml_at_newline(const struct toml_reader *r); /* LF or CR LF */
void toml_blanks(struct toml_reader *r);           /* spaces and tabs */
int toml_gap(struct toml_reader *r); /* blanks, comments and newlines */
int toml_line_end(struct toml_reader *r, const char *after);

/* A string in any of its four forms, at r->at. */
int toml_string(struct toml_reader *r, struct toml_value *v);
/* a."b".c into r->keys; the caller takes or drops them. */
int toml_keys(struct toml_reader *r);
void toml_drop_keys(struct toml_reader *r);

/* A number, a date or a boolean: the bare word that starts here. */
int toml_bare(struct toml_reader *r, struct toml_value *v);

#endif
