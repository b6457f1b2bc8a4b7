/* matches.h - what grep says. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_FILES_MATCHES_H
#define TOOL_FILES_MATCHES_H

#include "sandbox/files/files.h"

enum matches_mode {
	MATCHES_FILES = 1, /* a path per line */
	MATCHES_CONTENT,   /* "path:" and "  12: text" */
	MATCHES_COUNT,     /* "path: 3" */
};

/* list is sorted; at most RESULT_CHARS code points and one more line. */
void matches_render(const struct files_matches *list, enum matches_mode mode,
		    struct buf *out);
/* "Note: 3 files that git ignores were left out ...", with two line breaks
 * before; nothing where there are none. */
void matches_note_left(const struct files_left *left, struct buf *out);
/* Whether somebody meant a regular expression, which grep does not take. */
bool matches_is_regex(const char *pattern);

#endif
