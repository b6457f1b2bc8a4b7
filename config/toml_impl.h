/* toml_impl.h - what the parts of the TOML reader share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_TOML_IMPL_H
#define CONFIG_TOML_IMPL_H

#include "config/hash.h"
#include "config/toml.h"

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

/* toml_scan.c: places, messages, and what stands between values. */
struct toml_place toml_here(struct toml_reader *r);
int toml_fail(struct toml_reader *r, struct toml_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "found 'x'", "the end of the line": what stands at r->at, for a message. */
const char *toml_found(const struct toml_reader *r, char out[32]);
/* A key as it would be written, shortened, without control characters. */
const char *toml_shown(struct str key, char out[64]);
bool toml_is_bare(char c); /* may stand in a key without quotes */
bool toml_at_newline(const struct toml_reader *r); /* LF or CR LF */
void toml_newline(struct toml_reader *r);          /* steps over one */
void toml_blanks(struct toml_reader *r);           /* spaces and tabs */
int toml_gap(struct toml_reader *r); /* blanks, comments and newlines */
int toml_line_end(struct toml_reader *r, const char *after);

/* toml_string.c */
int toml_string(struct toml_reader *r, struct toml_value *v);
/* a."b".c into r->keys; the caller takes or drops them. */
int toml_keys(struct toml_reader *r);
void toml_drop_keys(struct toml_reader *r);

/* toml_number.c, toml_date.c: the bare word that starts here. */
int toml_bare(struct toml_reader *r, struct toml_value *v);
bool toml_looks_dated(struct str word);
int toml_date(struct toml_reader *r, struct toml_value *v, struct str word);

/* toml_table.c: r->keys lead from table to a place that must be free. */
struct toml_value *toml_member(struct toml_reader *r, struct toml_value *table);
/* [header] and [[header]]: the table it opens, *depth its level. */
struct toml_value *toml_header(struct toml_reader *r, struct toml_value *root,
			       bool element, int *depth);
void toml_begin_table(struct toml_reader *r, struct toml_value *v,
		      unsigned flags);
/* A new zeroed item at the end. */
struct toml_value *toml_append(struct toml_value *holder);

/* toml.c: one value alone, as in a default ("3600"). */
int toml_parse_value(struct toml_value *v, struct str text, const char *name,
		     struct error *err);

#endif
