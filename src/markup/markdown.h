/* markdown.h - Markdown as rows, while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_H
#define MARKUP_MARKDOWN_H

#include "base/sanitize.h"
#include "markup/blocks.h"
#include "markup/highlight.h"
#include "markup/markdown_render.h"

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
