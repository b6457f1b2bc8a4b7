/* foreign.h - settings of the Python program that dcode does not have. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_FOREIGN_H
#define CONFIG_FOREIGN_H

#include <stdbool.h>

#include "config/toml.h"

struct foreign_key {
	const char *path; /* "interpreter.enable_interpreter" */
	unsigned kinds;   /* bits of 1 << toml_kind that it may have; 0: any */
	bool part;        /* a table: stands for everything in it */
};

/* The row of this key or of the table that it is in, or NULL. */
const struct foreign_key *foreign_key_find(const char *path);
/* Whether it is a variable of the Python program, DEEPAGENTS_CODE_X, that dcode
 * does not read. */
bool foreign_variable(const char *name);

#endif
