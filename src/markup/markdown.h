/* markdown.h - Markdown as rows, while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_H
#define MARKUP_MARKDOWN_H

/*
 * markdown_feed() takes an answer as it arrives; rows that will not change any
 * more go to done, markdown_tail() shows the rest as it looks so far.
 */
#include "base/sanitize.h"
#include "markup/highlight.h"
#include "markup/markdown_render.h"

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

/*
 * An answer on its way. A block, an item of a list and a line of code become
 * rows when they are complete, and never change then; each byte is parsed once
 * for that. What is longer than MARKDOWN_BLOCK is cut. For any division of a
 * text into pieces the rows at the end are the same.
 */
struct markdown {                  /* zeroed, then the first set */
	struct markdown_look look; /* the width counts for what follows */
	struct rows done;          /* the caller prints these and clears them */
	size_t work; /* bytes that were parsed, those of tails too */
	/* its own */
	struct blocks blocks;
	struct sanitizer clean;
	struct buf fresh;   /* scratch */
	struct buf line;    /* without its end yet */
	struct buf pending; /* lines of the open block */
	struct highlight highlight;
	size_t item; /* number of the ordered item in pending, or 0 */
	bool begun;  /* something is done */
	bool gap;    /* an empty row belongs before what is pending */
};

enum {
	MARKDOWN_BLOCK = 32 << 10, /* bytes of one block, or of one line */
	MARKDOWN_TAIL = 4 << 10,   /* bytes that are parsed for a tail */
};

void markdown_feed(struct markdown *m, struct str text);
/* The text is over: all of it is done. The next one may be fed. */
void markdown_end(struct markdown *m);
/* Appends what is not done yet, as it looks so far; of much the last part, and
 * of a table how long it is. */
void markdown_tail(struct markdown *m, struct rows *out);
void markdown_release(struct markdown *m);

#endif
