/* fuzzy.h - the choices that a few typed letters mean, best first. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_FUZZY_H
#define EDITOR_FUZZY_H

#include "base/buf.h"

/* Something to choose; the texts are borrowed. */
struct fuzzy_item {
	struct str name;
	struct str alias;   /* other names, between blanks; may be empty */
	struct str args;    /* shown behind the name; neither is searched */
	struct str summary; /* shown beside */
};

/*
 * How well the letters, in their order but not side by side, are found in a
 * text: 0 not at all, more is better. Side by side, at the begin of words and
 * of the text they count more, and a short text more than a long one. Case is
 * ignored. Looks at the first 512 bytes.
 */
int fuzzy_score(struct str letters, struct str text);
/* Writes the indexes of the best items, at most max, and returns how many.
 * Equal ones, and all without letters, keep their order. */
size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max);

#endif
