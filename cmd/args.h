/* args.h - option rows, and the one parser that reads them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

enum arg_kind {
	ARG_FLAG = 1,
	ARG_VALUE,    /* --name VALUE or --name=VALUE */
	ARG_OPTIONAL, /* the same, or bare: value is then "" */
};

/* One option; parser, usage text and help come from it. Arrays end in { 0 }. */
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
		const char *value; /* borrowed from argv; "" when bare */
	} found[ARGS_MOST];
	size_t n;
	int argc;    /* positional arguments, the command's name left out */
	char **argv; /* owned array of borrowed strings, NULL-terminated */
	bool dashes; /* a "--" was among them */
	/* The option that args_parse() refused because no table has it; "" for
	 * none. Cut where it does not fit. */
	char unknown[64];
};

/*
 * Reads argv (without the program's name) against two tables (each may be
 * NULL); a name that both have is that of own. Long options may be abbreviated
 * while unambiguous. ERR_USAGE names the option and what is wrong.
 */
int args_parse(struct args *a, const struct arg_row *global,
	       const struct arg_row *own, int argc, char **argv,
	       struct error *err);
void args_release(struct args *a);
/* The value of an option without one: "", told from a given "" by its place. */
extern const char args_bare[];
/* The last value given, args_bare for a bare ARG_OPTIONAL, NULL when absent. */
const char *args_value(const struct args *a, const char *name);
/* The next value of an option that may be given several times, from *at on (0
 * at first), in the order of the line; NULL when there is no other. */
const char *args_next(const struct args *a, const char *name, size_t *at);
bool args_flag(const struct args *a, const char *name);
/* The row with exactly this name, or NULL; rows may be NULL. */
const struct arg_row *args_row(const struct arg_row *rows, const char *name);
/* Prints text from column indent on, wrapped at 80 but not within brackets;
 * at: columns already used on this line. Ends with a line end. */
void args_text(FILE *out, const char *text, int at, int indent);
/* One line per row, aligned, wrapped at 80 columns. */
void args_help(FILE *out, const struct arg_row *rows);

#endif
