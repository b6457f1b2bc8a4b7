/* shapes_impl.h - the built-in kinds of credentials, one row for each form. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHAPES_SHAPES_IMPL_H
#define BASE_SHAPES_SHAPES_IMPL_H

#include "base/shapes/shapes.h"

struct shape_match {     /* a pattern that matched */
	struct str text; /* also what is before and after the match */
	size_t at;       /* where the match begins in text */
	size_t keep;     /* bytes of the match that stay readable */
	size_t len;      /* bytes of the match */
	bool last;       /* nothing follows text */
};

enum { /* flags of a row */
       /* a word character may stand before it */
       SHAPE_INNER = 1 << 0,
       /* the hidden part has a digit */
       SHAPE_DIGIT = 1 << 1,
       /* the hidden part has a digit, or letters of both cases */
       SHAPE_MIXED = 1 << 2,
};

struct shape_row {           /* arrays end with { 0 } */
	const char *kind;    /* "GitHub token" */
	const char *pattern; /* as for shapes_add(), but may begin with a set */
	unsigned flags;
	/* least entropy of the hidden part, in tenths of a bit per byte */
	unsigned entropy;
	/* word, in lower case, that stands in the SHAPES_CONTEXT bytes before
	 * the match in any case; or NULL */
	const char *context;
	/* Decides about a match, and may change keep and len; or NULL. */
	enum shape_result (*check)(struct shape_match *m);
};

extern const struct shape_row shape_rows[];

#endif
