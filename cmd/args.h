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
	ARG_OPTIONAL, /* the value may be left out; it is then args_bare */
};

/* One option. The parser, the usage line and the help use the same row. Arrays
 * of rows end in { 0 }. */
struct arg_row {
	const char *name; /* "sandbox-id", without dashes */
	char letter;      /* short form, such as 'n'; or 0 */
	enum arg_kind kind;
	const char *metavar; /* name of the value in the help, such as "ID";
				NULL for flags */
	const char *help; /* one line of help; NULL: the option is not listed */
};

enum { ARGS_MOST = 64 }; /* maximum number of options on one command line */

struct args {
	struct {
		const struct arg_row *row;
		const char *value; /* borrowed from argv; args_bare if the
				      option has no value */
	} found[ARGS_MOST];
	size_t n;
	int argc;    /* number of positional arguments, without the command's
		      name */
	char **argv; /* owned array of borrowed strings, NULL-terminated */
	bool dashes; /* there was a "--" argument */
	/* The option that args_parse() refused as unknown, truncated if too
	 * long. "" if there was none. */
	char unknown[64];
};

/* Parses argv (without the program's name) with two tables of options. Each may
 * be NULL. If both have a name, the row in own is used. A long option may be
 * abbreviated as long as it is unambiguous. ERR_USAGE names the option and the
 * problem. */
int args_parse(struct args *a, const struct arg_row *global,
	       const struct arg_row *own, int argc, char **argv,
	       struct error *err);
void args_release(struct args *a);
/* The value of an option that was given without a value. It is an empty string:
 * compare the pointer to distinguish it from an empty value that the user
 * gave. */
extern const char args_bare[];
/* Returns the option's last value, args_bare if it was given without a value,
 * or NULL if it was not given. */
const char *args_value(const struct args *a, const char *name);
/* For an option that may be repeated: returns the next value at or after *at (0
 * at first) in command-line order, or NULL at the end. */
const char *args_next(const struct args *a, const char *name, size_t *at);
bool args_flag(const struct args *a, const char *name);
/* Returns the row with exactly this name, or NULL. rows may be NULL. */
const struct arg_row *args_row(const struct arg_row *rows, const char *name);
/* Prints text and a newline. It starts at column indent and is wrapped at the
 * terminal's width, at most 80 columns, but not inside brackets. at is the
 * number of columns of this line that are already used. */
void args_text(FILE *out, const char *text, int at, int indent);
/* Prints the help of all visible rows, aligned and wrapped like
 * args_text(). */
void args_help(FILE *out, const struct arg_row *rows);

#endif
