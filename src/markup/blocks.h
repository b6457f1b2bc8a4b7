/* blocks.h - finds where a top-level block of Markdown ends, line by line. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_BLOCKS_H
#define MARKUP_BLOCKS_H

#include "base/str.h"

enum block_kind {
	BLOCK_NONE = 0,
	BLOCK_TEXT, /* a paragraph, a heading over its underline, a table */
	BLOCK_QUOTE,
	BLOCK_ITEM, /* of a list, with all that is in it */
	BLOCK_INDENTED,
	BLOCK_FENCE,
};

/*
 * Where a document stands between two lines. Zero-initialise. Reads as md4c
 * does (CommonMark 0.30 and tables), without a second look at a line, so the
 * lines of one block, parsed alone, give what they give in the document; but
 * for reference links, which md4c resolves within what it is given.
 */
struct blocks {
	enum block_kind kind;
	size_t lines;  /* of the open block */
	bool blank;    /* the line before was blank */
	bool table;    /* TEXT: its second line makes it a table */
	bool empty;    /* ITEM: its first line holds only the mark */
	bool lazy;     /* QUOTE, ITEM: its last line ends in a paragraph */
	bool deep;     /* the same: in a container within it */
	size_t indent; /* ITEM: columns before its content; FENCE: before it */
	/* ITEM: '-', '*', '+', '.' or ')', as long as a list may go on */
	char mark;
	size_t number; /* ITEM: what an ordered item shows */
	bool first;    /* ITEM: of its list */
	char fence;    /* FENCE, and in a QUOTE or ITEM: the open one, or 0 */
	size_t fence_len;
};

enum {
	BLOCKS_BEFORE = 1, /* what was open ended before this line */
	BLOCKS_AFTER = 2,  /* this line ends its own block */
};

/* Takes the next line, without its LF. Flags of BLOCKS_; kind then tells the
 * block that the line belongs to, unless BLOCKS_AFTER is set. */
unsigned blocks_line(struct blocks *b, struct str line);
/* Appends a line of a FENCE without the columns that its fence stands after;
 * the tabs that it begins with become spaces. */
void blocks_fence_text(const struct blocks *b, struct str line,
		       struct buf *out);
/* What follows the fence that opens a block: the language. */
struct str blocks_fence_info(struct str line);

#endif
