/* command.h - commands and subcommands: a row and a function each. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "cmd/app.h"
#include "cmd/args.h"

enum { /* of a subcommand */
       /* Tells the user what is wrong, so it runs under a policy of the
	* machine, or with a config.toml, that cannot be read. */
       SUB_EXPLAINS = 1,
       /* Lists, shows or removes what there is: no setting restricts that,
	* so it runs without a config.toml that cannot be used, too. */
       SUB_UNRESTRICTED = 4,
       SUB_SECRET = 2, /* an argument too many may be a secret: not repeated */
};

/* Usage, help, completion and the checks of a command line come from it. */
struct subcommand {
	const char *name;    /* "list"; "" for what the bare command does */
	const char *aliases; /* other names, "ls" or "rm delete"; or NULL */
	const char *args;    /* "ID NAME", as usage shows them; or NULL */
	const char *summary; /* one line; NULL: the command's says it */
	const struct arg_row *options; /* its own, or NULL */
	int least, most;               /* arguments; most -1: any number */
	unsigned flags;                /* SUB_ */
	/* args without its name. Returns the exit status: 0, 1, 2 wrong use,
	 * 130 cancelled. */
	int (*run)(struct app *app, const struct args *args);
};

struct command {
	const char *name;    /* "sandbox" */
	const char *summary; /* for dcode help, one line */
	const char *topic;   /* its page, where that is not its name */
	const struct subcommand *subs; /* ends in { 0 } */
};

/* The row of --json, for the tables of those that print it. */
#define ARG_JSON                                                               \
	{                                                                      \
		"json", 0, ARG_FLAG, NULL, "Print one JSON document"           \
	}

extern const struct command *const commands[]; /* NULL ends; table.c */
/* The one of all with this name, or NULL. */
const struct command *command_find(const struct command *const *all,
				   const char *name);
/* The row with this name or alias, NULL for the bare command's; or NULL. */
const struct subcommand *command_sub(const struct command *c, const char *name);
/* What a line (without the program's name) is for; both NULL where it has no
 * command. A word counts when it is neither an option nor its value. */
void command_resolve(const struct command *const *all, int argc, char **argv,
		     const struct command **c, const struct subcommand **sub);
/* Checks the number of arguments and runs sub; args begin with its name. */
int command_run(struct app *app, const struct command *c,
		const struct subcommand *sub, const struct args *args);
/* Runs words that follow the command's name, as the chat has them. */
int command_run_words(struct app *app, const struct command *c, int argc,
		      char **argv);
/* "sandbox rm ID... [--force]" */
void command_usage(struct buf *out, const struct command *c,
		   const struct subcommand *sub);
/* Prints the one line of usage of c's subcommand sub (NULL: none was given; c
 * NULL: of dcode itself), then the error and its hint, on stderr; returns 2. */
int command_refuse(const struct command *c, const char *sub,
		   const struct error *err);
int command_misuse(const struct command *c, const char *sub, const char *fmt,
		   ...) __attribute__((format(printf, 3, 4)));
/* The same for a word that is none of the command's own. */
int command_no_sub(const struct command *c, const char *word);
/* Sets the hint to the commands that an option ("--force") belongs to, if any
 * has it. */
void command_name_owners(const struct command *const *all, const char *option,
			 struct error *err);
/* The help of one command, or of one of its subcommands, on stdout; returns
 * 0. */
int command_help(const struct command *c, const struct subcommand *sub);
/* The command as one JSON line; c NULL: all of them. */
int command_help_json(const struct command *const *all,
		      const struct command *c);

extern const struct command command_agents;
extern const struct command command_apply;
extern const struct command command_auth;
extern const struct command command_config;
extern const struct command command_diff;
extern const struct command command_sync;
extern const struct command command_doctor;
extern const struct command command_help_all;
extern const struct command command_install;
extern const struct command command_mcp;
extern const struct command command_models;
extern const struct command command_provider;
extern const struct command command_sandbox;
extern const struct command command_skills;
extern const struct command command_threads;
extern const struct command command_trust;
extern const struct command command_uninstall;
extern const struct command command_version;

#endif
