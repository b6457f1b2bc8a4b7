/* table.h - cells of text side by side, as wide as the screen allows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_TABLE_H
#define MARKUP_TABLE_H

#include "term/rows.h"
#include "term/theme.h"

enum table_align { TABLE_LEFT = 0, TABLE_CENTRE, TABLE_RIGHT };

enum { TABLE_COLUMNS = 64, TABLE_CELLS = 20000 /* at most */ };

/* Zero-initialise. */
struct table {
	size_t columns; /* at most TABLE_COLUMNS: set by the caller */
	enum table_align align[TABLE_COLUMNS];
	/* A row for each cell, line by line; the first line is the heads. The
	 * caller adds to it. */
	struct rows cells;
};

/*
 * Appends the table within place (its prefixes and columns). Where the cells
 * do not fit side by side the widest columns are made smaller and their texts
 * wrapped; where even that leaves too little, each line becomes a list of
 * "head: cell".
 */
void table_render(const struct table *t, const struct theme *theme,
		  const struct wrap *place, struct rows *out);
void table_release(struct table *t);

#endif
