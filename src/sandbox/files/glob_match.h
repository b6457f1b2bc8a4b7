/* glob_match.h - file name patterns of glob and grep; no I/O. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_GLOB_MATCH_H
#define SANDBOX_FILES_GLOB_MATCH_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The rules of spec/agent.md §2.7. A pattern without "/" matches the last name
 * of a path at any depth; with "/" it matches the whole path below the root.
 * Supported are "*", "?", "[a-z]", "[!a]", "[^a]" and "{a,b}" (nested); "**" as
 * a whole segment matches any number of directories. A name that starts with
 * "." only matches a segment that starts with ".". A backslash is an ordinary
 * character. A segment also matches a name with the same bytes ("[id]",
 * "{a,b}").
 */
struct glob;

enum {
	GLOB_HIDDEN = 1 << 0, /* patterns without "/": "*" matches a leading "."
			       */
};

/* Compiles a pattern. -1: ERR_USAGE "invalid_pattern" (a ".." segment) or
 * "pattern_too_broad" (more than 1000 alternatives). */
int glob_new(struct glob **g, struct str pattern, unsigned flags,
	     struct error *err);
void glob_free(struct glob *g);
/* path: relative, of a file. A glob must not be used by two threads at once. */
bool glob_match(struct glob *g, struct str path);

/* A test for find(1) that matches at least all names that the pattern does. */
struct glob_filter {
	const char *test; /* option of find(1): "-name" or "-path" */
	struct buf like;  /* operand of that option; the caller releases it */
	bool prune;       /* hidden directories can be skipped */
	/* the test matches the same names as the pattern with GLOB_HIDDEN, and
	 * no others */
	bool exact;
	bool is_path; /* the pattern is the path of one file */
};
void glob_filter(struct str pattern, struct glob_filter *filter);

#endif
