/* highlight.h - highlights keywords, strings, comments and numbers, by line. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_HIGHLIGHT_H
#define MARKUP_HIGHLIGHT_H

#include "base/str.h"
#include "term/rows.h"

struct language;

/* The state of the highlighter between two lines. Zero-initialised, it leaves
 * text plain. */
struct highlight {
	const struct language *language; /* NULL: plain */
	const char *until; /* end of an open comment or string, or NULL */
	bool comment;      /* the open part is a comment */
	bool diff;         /* the lines are those of a diff */
	bool in_hunk;
};

/* name: a fence's language ("c", "py title=x") or a file's suffix, in any case.
 * Text in an unknown language is plain. */
void highlight_begin(struct highlight *h, struct str name);
/* Appends the next line, without its LF, to the open row of out. */
void highlight_line(struct highlight *h, struct str line, struct rows *out);

#endif
