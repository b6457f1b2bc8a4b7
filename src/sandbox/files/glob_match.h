/* glob_match.h - file name patterns of glob and grep, pure. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_GLOB_MATCH_H
#define SANDBOX_FILES_GLOB_MATCH_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * spec/agent.md §2.7. Without "/" a pattern matches the last name of a path at
 * any depth, with it the whole path below the root. "*", "?", "[a-z]", "[!a]",
 * "[^a]", "{a,b}" (nested), "**" as a whole segment crosses directories. A name
 * that starts with "." needs a segment that does. Backslash is ordinary. A
 * segment also matches a name of the same bytes ("[id]", "{a,b}").
 */
struct glob;

enum {
	GLOB_HIDDEN = 1 << 0, /* patterns without "/": "*" matches a leading "."
			       */
};

/* -1: ERR_USAGE "invalid_pattern" (a ".." segment) or "pattern_too_broad"
 * (more than 1000 alternatives). */
int glob_new(struct glob **g, struct str pattern, unsigned flags,
	     struct error *err);
void glob_free(struct glob *g);
/* path: relative, of a file that is not a directory. Not for two threads at
 * once on the same glob. */
bool glob_match(struct glob *g, struct str path);

/* For find: finds too much rather than too little. */
struct glob_filter {
	const char *test; /* "-name", "-path" */
	struct buf like;  /* its operand; the caller releases */
	bool prune;       /* hidden directories cannot matter */
	bool exact;       /* finds the same as GLOB_HIDDEN would */
};
void glob_filter(struct str pattern, struct glob_filter *filter);

#endif
