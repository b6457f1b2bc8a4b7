/* highlight.h - keywords, strings, comments and numbers of code, by line. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_HIGHLIGHT_H
#define MARKUP_HIGHLIGHT_H

#include "base/str.h"
#include "term/rows.h"

struct language;

/* Where a text of code stands between two lines. Zero-initialise: plain. */
struct highlight {
	const struct language *language; /* NULL: plain */
	const char
		*until; /* ends what is open (a comment, a string), or NULL */
	bool comment;   /* until ends a comment */
	bool diff;      /* its lines are those of a diff */
	bool in_hunk;
};

/* name: of a fence ("c", "py title=x") or a file's suffix, any case; unknown
 * ones are plain. */
void highlight_begin(struct highlight *h, struct str name);
/* Adds the next line, without its LF, to the open row of out. */
void highlight_line(struct highlight *h, struct str line, struct rows *out);

#endif
