/* shell_assignments.h - which variables a shell script assigns itself. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SETUP_SHELL_ASSIGNMENTS_H
#define SANDBOX_SETUP_SHELL_ASSIGNMENTS_H

#include <stdbool.h>

#include "base/buf.h"

/* The longest [A-Za-z_][A-Za-z0-9_]* at the front of s. */
struct str name_prefix(struct str s);

/* Start from { 0 }; the names are slices of the script. */
struct assigned {
	struct str *names; /* sorted once assigned_find() has returned */
	size_t n;
	size_t room;
};

/*
 * Collects NAME=, NAME+= and NAME[i]= where the shell takes them for
 * assignments (not in "echo NAME=x", in quotes, comments or here-documents),
 * also after export, readonly, local, declare and typeset; the bare names
 * after local, declare and typeset; for NAME, select NAME, read NAME,
 * mapfile NAME, getopts o NAME, printf -v NAME; ${NAME:=x}; ((NAME=1)).
 *
 * Why it reads quotes, comments and here-documents rather than look for a
 * pattern: a bare $NAME that the user has a value for is replaced, unless the
 * script assigns NAME. A match in "curl -H TOKEN=$TOKEN" or in the text of a
 * file that the script writes would leave $TOKEN empty in the sandbox; a missed
 * assignment would put the user's value in place of the script's own. The
 * reference's users rely on both (tests/unit/setup_test.c).
 */
void assigned_find(struct assigned *a, struct str script);
bool assigned_has(const struct assigned *a, struct str name);
void assigned_release(struct assigned *a);

#endif
