/* command.h - one subcommand: a row, a function, a file. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "cmd/app.h"
#include "cmd/args.h"

struct command {
	const char *name;    /* "sandbox" */
	const char *summary; /* for dcode help, one line */
	const char *usage;   /* lines after "dcode NAME": "list [--all]\n..." */
	const struct arg_row *options; /* its own, or NULL */
	/* Returns the exit status: 0, 1, 2 wrong use, 130 cancelled. */
	int (*run)(struct app *app, const struct args *args);
};

extern const struct command *const commands[]; /* NULL ends; table.c */
const struct command *command_find(const char *name);
/* Prints the one line of usage of c's subcommand sub (NULL: none was given; c
 * NULL: of dcode itself), then the error and its hint, on stderr; returns 2. */
int command_refuse(const struct command *c, const char *sub,
		   const struct error *err);
int command_misuse(const struct command *c, const char *sub, const char *fmt,
		   ...) __attribute__((format(printf, 3, 4)));
/* The help of one command on stdout; returns 0. */
int command_help(const struct command *c);
/* The same as one JSON line; NULL: of everything. */
int command_help_json(const struct command *c);

extern const struct command command_auth;
extern const struct command command_config;
extern const struct command command_doctor;
extern const struct command command_help_all;
extern const struct command command_install;
extern const struct command command_provider;
extern const struct command command_sandbox;
extern const struct command command_uninstall;
extern const struct command command_version;

#endif
