/* dotenv.h - reads .env files, and refuses what they may not decide. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_DOTENV_H
#define CONFIG_DOTENV_H

#include <stdbool.h>

#include "base/buf.h"
#include "config/hash.h"

enum {
	DOTENV_LARGEST = 1 << 20,       /* bytes of one file */
	DOTENV_LARGEST_VALUE = 1 << 17, /* bytes, after ${NAME} */
	DOTENV_LARGEST_SUM = 4 << 20,   /* bytes of all values of a file */
	DOTENV_MOST_WARNINGS = 20,      /* per file */
};

/* A project's file comes with a repository and is trusted less. */
enum dotenv_owner { DOTENV_USER, DOTENV_PROJECT };

struct dotenv_var {
	char *name;  /* owned */
	char *value; /* owned; no NUL inside */
	int line;    /* from 1 */
};

struct dotenv {
	struct dotenv_var *vars; /* owned; names are unique */
	size_t n;
	char **warnings; /* owned: "file:line: ...", never with a value */
	size_t n_warnings;
	size_t sum;        /* bytes of all values */
	struct hash names; /* name -> index into vars */
};

struct dotenv_input {
	struct str text;
	const char *file; /* for warnings */
	enum dotenv_owner owner;
	/* What ${NAME} means where the environment has it: it takes precedence
	 * over the file's own NAME. NULL: unset. Not asked for DOTENV_PROJECT.
	 */
	const char *(*lookup)(void *arg, const char *name);
	void *arg;
};

/*
 * NAME=value lines, with "export " in front or not. 'single quotes' keep all
 * but \' and \\; "double quotes" know \n \t \r \a \b \f \v \\ \" \' \$ and
 * may span lines, as single ones may; without quotes a value ends at " #" or
 * the line's end. ${NAME} and ${NAME:-default} are replaced outside single
 * quotes; a project's ${NAME} that its own file does not set stays as it is,
 * with a warning. The last assignment of a name counts. What cannot be
 * understood or is refused becomes a warning. d is a zeroed struct; release it.
 */
void dotenv_parse(struct dotenv *d, const struct dotenv_input *in);
void dotenv_release(struct dotenv *d);
/* The value of name in this file, or NULL. */
const char *dotenv_get(const struct dotenv *d, struct str name);

/* Names that such a file may not set, in any case of letters, with or without
 * DEEPAGENTS_CODE_ in front. */
bool dotenv_denied(struct str name, enum dotenv_owner owner);

/* Where the value of a setting comes from. */
enum setting_source {
	SOURCE_NONE = 0,
	SOURCE_DEFAULT,
	SOURCE_CONFIG,      /* ~/.deepagents/config.toml */
	SOURCE_DOTENV_USER, /* ~/.deepagents/.env */
	SOURCE_DOTENV_PROJECT,
	SOURCE_ENV,    /* exported */
	SOURCE_STORED, /* dcode auth set */
	SOURCE_FLAG,   /* command line */
	SOURCE_POLICY, /* SETTINGS_POLICY_FILE */
};

struct env_var {
	const char *name;
	const char *value; /* may be empty */
	enum setting_source source;
	int line; /* of the .env file; 0: exported */
};

struct env_block; /* of locked memory */

/* Start from { 0 }. Some values are secret: all lie in memory that is neither
 * swapped out nor dumped, and that is zeroed in the end. */
struct env {
	struct env_var *vars; /* owned; names are unique */
	size_t n;
	struct env_var *shadowed; /* owned; values that came too late */
	size_t n_shadowed;
	struct env_block *blocks; /* owned: the names and values */
	struct hash names;        /* name -> index into vars */
};

/* The first one to add a name wins; later ones are kept aside, for a secret
 * that is not used has to be masked all the same. */
void env_add(struct env *e, struct str name, const char *value,
	     enum setting_source source, int line);
/* NAME=value entries, ended by NULL, as exported. */
void env_add_all(struct env *e, char **entries);
/* NULL when it is not there; the value may be empty. */
const struct env_var *env_get(const struct env *e, const char *name);
/* DEEPAGENTS_CODE_name if it is there, even empty, else name. */
const struct env_var *env_resolve(const struct env *e, const char *name);
/* DEEPAGENTS_CODE_name alone. */
const struct env_var *env_prefixed(const struct env *e, const char *name);
void env_release(struct env *e);

#endif
