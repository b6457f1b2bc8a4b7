/* toml_scan.h - scans TOML tokens: keys, strings, numbers, dates. */
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
	TOML_LARGEST = 64 << 20, /* maximum bytes: lines and columns are ints */
};

/* Flags in toml_value.flags during parsing: how a table was created. The bits
 * from TOML_ID_SHIFT up are the table's number. */
enum {
	TOML_DEFINED = 1 << 0,   /* created by its own [header] */
	TOML_DOTTED = 1 << 1,    /* created by a dotted key */
	TOML_CLOSED = 1 << 2,    /* inline { } or [ ]: cannot be extended */
	TOML_BY_HEADER = 1 << 3, /* an array created by [[header]] */
	TOML_ID_SHIFT = 4,
};

struct toml_place {
	int line, column; /* from 1 */
};

struct toml_key {
	char *text; /* owned; NULL after it was moved into a table */
	size_t len; /* bytes */
	struct toml_place at;
};

struct toml_reader {
	const char *name; /* borrowed: file name for messages */
	const char *at;   /* next byte to read */
	const char *end;
	int line;
	/* a byte of the current line whose column is known; toml_here() counts
	 * on from it */
	const char *mark;
	int mark_column;
	struct toml_key keys[TOML_DEEPEST]; /* the dotted key read last */
	size_t n_keys;
	struct buf scratch; /* the string being read */
	/* index of each member, by its key and its table's number */
	struct hash names;
	uint32_t tables; /* number of tables created */
	struct error *err;
};

/* Positions, messages, and the space between values. */
struct toml_place toml_here(struct toml_reader *r);
int toml_fail(struct toml_reader *r, struct toml_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Describes the text at r->at for a message: "found 'x'", "the end of the
 * line". */
const char *toml_found(const struct toml_reader *r, char out[32]);
/* Returns a key as it is shown in a message: shortened, without control
 * characters. */
const char *toml_shown(struct str key, char out[64]);
bool toml_at_newline(const struct toml_reader *r); /* LF or CR LF */
void toml_blanks(struct toml_reader *r);           /* spaces and tabs */
int toml_gap(struct toml_reader *r); /* blanks, comments and newlines */
int toml_line_end(struct toml_reader *r, const char *after);

/* Parses a string in any of its four forms at r->at. */
int toml_string(struct toml_reader *r, struct toml_value *v);
/* Parses a dotted key (a."b".c) into r->keys. The caller moves each key into a
 * table or frees it. */
int toml_keys(struct toml_reader *r);
void toml_drop_keys(struct toml_reader *r);

/* Parses a number, a date or a boolean at r->at. */
int toml_bare(struct toml_reader *r, struct toml_value *v);

#endif
