/* env.h - the environment and the .env files, merged, with their sources. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_ENV_H
#define CONFIG_ENV_H

#include "config/hash.h"
#include "config/source.h"

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
