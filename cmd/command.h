/* command.h - commands and subcommands, each a table row with a function. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "cmd/app.h"
#include "cmd/args.h"

enum { /* flags of a subcommand */
       /*
	* The command explains problems to the user. So it also runs if the
	* machine's policy or config.toml cannot be read.
	*/
       SUB_EXPLAINS = 1,
       /*
	* The command only lists, shows or deletes what exists, and no setting
	* restricts that. So it also runs if config.toml cannot be used.
	*/
       SUB_UNRESTRICTED = 4,
       SUB_SECRET = 2, /* an argument too many may be a secret, which must not
			  be printed */
};

/* One subcommand. Usage, help, completion and argument checks come from this
 * row. */
struct subcommand {
	const char *name; /* "list"; "" for the command without a subcommand */
	const char *aliases; /* other names, "ls" or "rm delete"; or NULL */
	const char *args; /* arguments as the usage line shows them, "ID NAME";
			     or NULL */
	const char *summary; /* one line; NULL: same as the command's */
	const struct arg_row *options; /* options of this subcommand, or NULL */
	int least, most; /* number of arguments; most -1: any number */
	unsigned flags;  /* bits: SUB_... */
	/* args exclude the subcommand's name. Returns the exit status: 0, 1, 2
	 * for wrong use, 130 for cancelled. */
	int (*run)(struct app *app, const struct args *args);
};

struct command {
	const char *name;    /* "sandbox" */
	const char *summary; /* one line, for the list of dcode help */
	const char *topic;   /* name of the manual page; NULL: same as the
				command's */
	const struct subcommand *subs; /* ends in { 0 } */
};

/* The row of --json, for every command that supports it. */
#define ARG_JSON                                                               \
	{                                                                      \
		"json", 0, ARG_FLAG, NULL, "Print one JSON document"           \
	}

/* All commands, NULL-terminated; defined in table.c. */
extern const struct command *const commands[];
/* Returns the command with this name, or NULL. */
const struct command *command_find(const struct command *const *all,
				   const char *name);
/* Returns the subcommand with this name or alias. name NULL: the one without a
 * name. NULL if there is none. */
const struct subcommand *command_sub(const struct command *c, const char *name);
/* Finds the command and the subcommand that a command line (without the
 * program's name) names. Skips options and their values. *c or *sub is NULL if
 * none is named. */
void command_resolve(const struct command *const *all, int argc, char **argv,
		     const struct command **c, const struct subcommand **sub);
/* Checks the number of arguments and runs sub. The first of args is sub's
 * name. */
int command_run(struct app *app, const struct command *c,
		const struct subcommand *sub, const struct args *args);
/* Runs a command typed in a chat; argv holds the words after its name. */
int command_run_words(struct app *app, const struct command *c, int argc,
		      char **argv);
/* The same, while the chat's screen is suspended and the command has the
 * terminal. */
int command_run_at_terminal(struct app *app, const struct command *c, int argc,
			    char **argv);
/* Appends the usage line: "sandbox rm ID... [--force]". */
void command_usage(struct buf *out, const struct command *c,
		   const struct subcommand *sub);
/* Prints the usage, the error and its hint on stderr, and returns 2. sub NULL:
 * no subcommand was given. c NULL: prints the usage of dcode itself. */
int command_refuse(const struct command *c, const char *sub,
		   const struct error *err);
int command_misuse(const struct command *c, const char *sub, const char *fmt,
		   ...) __attribute__((format(printf, 3, 4)));
/* Prints that word is not a subcommand of c, and returns 2. */
int command_no_sub(const struct command *c, const char *word);
/* If any commands have this option (without dashes), sets the hint to their
 * names. */
void command_name_owners(const struct command *const *all, const char *option,
			 struct error *err);
/* Prints the help of a command or of one subcommand on stdout. Returns 0. */
int command_help(const struct command *c, const struct subcommand *sub);
/* Prints the command as one line of JSON. c NULL: all commands. */
int command_help_json(const struct command *const *all,
		      const struct command *c);

extern const struct command command_agents;
extern const struct command command_apply;
extern const struct command command_auth;
extern const struct command command_bug_report;
extern const struct command command_config;
extern const struct command command_diff;
extern const struct command command_sync;
extern const struct command command_doctor;
extern const struct command command_help_all;
extern const struct command command_install;
extern const struct command command_mcp;
extern const struct command command_models;
extern const struct command command_move;
extern const struct command command_provider;
extern const struct command command_sandbox;
extern const struct command command_skills;
extern const struct command command_threads;
extern const struct command command_trust;
extern const struct command command_undo;
extern const struct command command_uninstall;
extern const struct command command_version;

#endif
