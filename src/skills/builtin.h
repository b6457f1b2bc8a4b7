/* builtin.h - skills that come with dcode, called by their names alone. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_BUILTIN_H
#define SKILLS_BUILTIN_H

#include "base/buf.h"

/* Those of the Python program that make sense here. They have no files, and
 * the model is not told of them before they are called; a skill of the user's
 * or the project's of the same name takes precedence. */
struct skill_builtin {
	const char *name; /* NULL ends the list */
	const char *description;
	const char *text;
};

extern const struct skill_builtin skill_builtins[];
const struct skill_builtin *skill_builtin_find(struct str name);

#endif
