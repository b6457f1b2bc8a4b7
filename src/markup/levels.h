/* levels.h - quotes and lists within each other, as prefixes of rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_LEVELS_H
#define MARKUP_LEVELS_H

#include <md4c.h>

#include "term/rows.h"
#include "term/theme.h"

enum { LEVELS_MOST = 24 };

/* A quote, a list, or an item of a list. */
struct level {
	char mark[48]; /* before its first row; empty once it is used */
	char rest[48]; /* before the others */
	bool tight;    /* a list: no empty rows between its items */
	bool begun;    /* a list: it has an item */
	size_t number; /* a list: of its next item, or LEVELS_UNORDERED */
};

#define LEVELS_UNORDERED SIZE_MAX

/* Zero-initialise. The caller opens none beyond LEVELS_MOST. */
struct levels {
	struct level items[LEVELS_MOST];
	size_t n;
	struct buf first; /* prefixes, joined */
	struct buf rest;
	bool gap; /* an empty row belongs before the next block */
};

void levels_quote(struct levels *l, const struct theme *theme);
void levels_list(struct levels *l, bool tight, size_t number);
void levels_item(struct levels *l, const MD_BLOCK_LI_DETAIL *item,
		 const struct theme *theme);
/* Closes the innermost; an item without content shows its mark in out. */
void levels_close(struct levels *l, size_t columns, struct rows *out);
/* Where the next block goes: ends the open row, adds the empty one that
 * belongs before it. Marks of new items are used up. Valid until the next. */
struct wrap levels_begin(struct levels *l, size_t columns, struct rows *out);
void levels_release(struct levels *l);

#endif
