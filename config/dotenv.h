/* dotenv.h - reads .env files and refuses variables that they must not set. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_DOTENV_H
#define CONFIG_DOTENV_H

#include <stdbool.h>

#include "base/buf.h"
#include "config/hash.h"

enum {
	DOTENV_LARGEST = 1 << 20, /* bytes of one file */
	/* bytes of a value after ${NAME} is expanded */
	DOTENV_LARGEST_VALUE = 1 << 17,
	DOTENV_LARGEST_SUM = 4 << 20, /* bytes of all values of a file */
	DOTENV_MOST_WARNINGS = 20,    /* per file */
};

/* A project's file is part of a repository and is trusted less. */
enum dotenv_owner { DOTENV_USER, DOTENV_PROJECT };

struct dotenv_var {
	char *name;  /* owned */
	char *value; /* owned; contains no NUL */
	int line;    /* from 1 */
};

struct dotenv {
	struct dotenv_var *vars; /* owned; names are unique */
	size_t n;
	char **warnings; /* owned: "file:line: ..." without values */
	size_t n_warnings;
	size_t sum;        /* bytes of all values */
	struct hash names; /* name -> index into vars */
};

struct dotenv_input {
	struct str text;
	const char *file; /* for warnings */
	enum dotenv_owner owner;
	/* Returns the value of ${NAME} in the environment. It is used even if
	 * the file sets NAME too. NULL: not set. Not called for
	 * DOTENV_PROJECT. */
	const char *(*lookup)(void *arg, const char *name);
	void *arg;
};

/*
 * Parses NAME=value lines, which may start with "export ". 'single quotes'
 * allow the escapes \' and \\; "double quotes" also \n \t \r \a \b \f \v \" and
 * \$. Quoted values may span lines; unquoted ones end at " #" or at the end of
 * the line. ${NAME} and ${NAME:-default} are expanded except in single quotes.
 * In a project's file a ${NAME} that the file itself does not set is left
 * unchanged, with a warning. The last assignment of a name wins. Invalid or
 * refused lines become warnings. d must be zeroed; release it.
 */
void dotenv_parse(struct dotenv *d, const struct dotenv_input *in);
void dotenv_release(struct dotenv *d);
/* Returns the value of name in this file, or NULL. */
const char *dotenv_get(const struct dotenv *d, struct str name);

/* True if a .env file of this owner must not set the name. Ignores case and a
 * prefix DEEPAGENTS_CODE_. */
bool dotenv_denied(struct str name, enum dotenv_owner owner);

/* Where a setting's value comes from. */
enum setting_source {
	SOURCE_NONE = 0,
	SOURCE_DEFAULT,
	SOURCE_CONFIG,      /* ~/.deepagents/config.toml */
	SOURCE_DOTENV_USER, /* ~/.deepagents/.env */
	SOURCE_DOTENV_PROJECT,
	SOURCE_ENV,    /* exported environment variable */
	SOURCE_STORED, /* stored by `dcode auth set` */
	SOURCE_FLAG,   /* command line */
	SOURCE_POLICY, /* SETTINGS_POLICY_FILE */
};

struct env_var {
	const char *name;
	const char *value; /* may be empty */
	enum setting_source source;
	int line; /* line in the .env file; 0: an exported variable */
};

struct env_block; /* a block of locked memory */

/* Initialize to { 0 }. Some values are secret, so all of them are in memory
 * that is never swapped or dumped and is zeroed on release. */
struct env {
	struct env_var *vars; /* owned; names are unique */
	size_t n;
	/* owned; values not used because an earlier source has the name */
	struct env_var *shadowed;
	size_t n_shadowed;
	struct env_block *blocks; /* owned; storage of names and values */
	struct hash names;        /* name -> index into vars */
};

/* Adds a variable. If the name exists already, the new value goes to shadowed:
 * it is not used, but may be a secret that must be masked. */
void env_add(struct env *e, struct str name, const char *value,
	     enum setting_source source, int line);
/* Adds exported NAME=value entries; the list ends with NULL. */
void env_add_all(struct env *e, char **entries);
/* Returns the variable, or NULL if it is not set. Its value may be empty. */
const struct env_var *env_get(const struct env *e, const char *name);
/* Returns DEEPAGENTS_CODE_name if it is set, even if empty, else name. */
const struct env_var *env_resolve(const struct env *e, const char *name);
/* Returns DEEPAGENTS_CODE_name only. */
const struct env_var *env_prefixed(const struct env *e, const char *name);
void env_release(struct env *e);

#endif
