/* args.h - parses options by tables of rows and prints their help. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

enum arg_kind {
	ARG_FLAG = 1,
	ARG_VALUE,    /* --name VALUE or --name=VALUE */
	ARG_OPTIONAL, /* the value may be missing: it is then args_bare */
};

/* One option. Parser, usage and help use the same row. Arrays end in { 0 }. */
struct arg_row {
	const char *name; /* "sandbox-id", without dashes */
	char letter;      /* 'n', or 0 */
	enum arg_kind kind;
	const char *metavar; /* "ID"; NULL for flags */
	const char *help;    /* one line; NULL hides it */
};

enum { ARGS_MOST = 64 }; /* options on one command line */

struct args {
	struct {
		const struct arg_row *row;
		const char *value; /* from argv; args_bare if none */
	} found[ARGS_MOST];
	size_t n;
	int argc;    /* positional arguments without the command's name */
	char **argv; /* owned array of borrowed strings, NULL-terminated */
	bool dashes; /* the line had a "--" */
	/* The option that args_parse() refused as unknown, truncated if too
	 * long. "" if there was none. */
	char unknown[64];
};

/* Parses argv (without the program's name) with two tables, each of which may
 * be NULL. If both have a name, own wins. A long option may be abbreviated
 * while unambiguous. ERR_USAGE names the option and the problem. */
int args_parse(struct args *a, const struct arg_row *global,
	       const struct arg_row *own, int argc, char **argv,
	       struct error *err);
void args_release(struct args *a);
/* The value of an option given without a value. It equals "", so compare the
 * pointer to tell it from an explicit empty value. */
extern const char args_bare[];
/* Returns the last value given, args_bare for a bare ARG_OPTIONAL, or NULL if
 * the option is absent. */
const char *args_value(const struct args *a, const char *name);
/* For an option that may be repeated: returns the next value at or after *at (0
 * at first) in command-line order, or NULL at the end. */
const char *args_next(const struct args *a, const char *name, size_t *at);
bool args_flag(const struct args *a, const char *name);
/* Returns the row with exactly this name, or NULL. rows may be NULL. */
const struct arg_row *args_row(const struct arg_row *rows, const char *name);
/* Prints text from column indent on, wrapped at 80 columns but never inside
 * brackets, with a newline. at is the number of columns already used on this
 * line. */
void args_text(FILE *out, const char *text, int at, int indent);
/* Prints the help of all visible rows, aligned and wrapped at 80 columns. */
void args_help(FILE *out, const struct arg_row *rows);

#endif
