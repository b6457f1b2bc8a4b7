/* shell_assignments.h - which variables a shell script assigns itself. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SETUP_SHELL_ASSIGNMENTS_H
#define SANDBOX_SETUP_SHELL_ASSIGNMENTS_H

#include <stdbool.h>

#include "base/buf.h"

/* Returns the longest [A-Za-z_][A-Za-z0-9_]* at the start of s. */
struct str name_prefix(struct str s);

/* Initialise with { 0 }. The names are slices of the script. */
struct assigned {
	struct str *names; /* sorted once assigned_find() has returned */
	size_t n;
	size_t room;
};

/*
 * Collects NAME=, NAME+= and NAME[i]= where the shell treats them as
 * assignments (not in "echo NAME=x", quotes, comments or here-documents), also
 * after export, readonly, local, declare and typeset; bare names after local,
 * declare and typeset; for NAME, select NAME, read NAME, mapfile NAME, getopts
 * o NAME, printf -v NAME; ${NAME:=x}; ((NAME=1)).
 *
 * Why it parses quotes, comments and here-documents instead of matching a
 * pattern: a bare $NAME is replaced by the user's value unless the script
 * assigns NAME. If "curl -H TOKEN=$TOKEN" or the text of a file that the script
 * writes counted as an assignment, $TOKEN would stay empty in the sandbox. If
 * an assignment were missed, the user's value would replace the script's own.
 * Users of the reference rely on both (tests/unit/setup_test.c).
 */
void assigned_find(struct assigned *a, struct str script);
bool assigned_has(const struct assigned *a, struct str name);
void assigned_release(struct assigned *a);

#endif
