/* markdown.h - renders Markdown as rows while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_H
#define MARKUP_MARKDOWN_H

/*
 * markdown_feed() takes an answer as it arrives. Rows that are final go to
 * done; markdown_tail() shows the rest in its current form.
 */
#include "base/sanitize.h"
#include "markup/highlight.h"
#include "markup/markdown_render.h"

enum block_kind {
	BLOCK_NONE = 0,
	BLOCK_TEXT, /* a paragraph, a heading with its underline, or a table */
	BLOCK_QUOTE,
	BLOCK_ITEM, /* a list item with everything in it */
	BLOCK_INDENTED,
	BLOCK_FENCE,
};

/*
 * The state of the block parser between two lines. Zero-initialise. It follows
 * md4c (CommonMark 0.30 and tables) and examines each line only once. A block's
 * lines parsed separately give the same result as within the document, except
 * for reference links, which md4c resolves within its input.
 */
struct blocks {
	enum block_kind kind;
	size_t lines; /* lines of the open block */
	bool blank;   /* the previous line was blank */
	size_t cells; /* TEXT: cells of the first line, if that is a table's */
	bool table;   /* TEXT: its second line makes it a table */
	bool empty;   /* ITEM: the first line has only the mark */
	bool lazy;    /* QUOTE, ITEM: the last line ends in a paragraph */
	bool deep; /* lazy, and that paragraph is in a nested quote or item */
	size_t indent; /* ITEM: columns before its content; FENCE: before the
			  fence */
	/* ITEM: '-', '*', '+', '.' or ')'; kept after the item while its list
	 * may continue */
	char mark;
	size_t number; /* ITEM: the number that an ordered item shows */
	bool first;    /* ITEM: the first of its list */
	char fence;    /* FENCE, and in a QUOTE or ITEM: character of the open
			  fence, or 0 */
	size_t fence_len;
};

/*
 * An answer being received. A block, a list item or a line of code becomes rows
 * when it is complete, and these are final, so that each byte is parsed only
 * once for them. Anything longer than MARKDOWN_BLOCK is split. The final rows
 * do not depend on how the text was divided into pieces.
 */
struct markdown {                  /* zero it, then set look */
	struct markdown_look look; /* a new width is for later rows */
	struct rows done;          /* the caller prints these and clears them */
	size_t work; /* bytes parsed so far, by markdown_tail() too */
	/* private */
	struct blocks blocks;
	struct sanitizer clean;
	struct buf fresh;   /* scratch */
	struct buf line;    /* the last, unfinished line */
	struct buf pending; /* lines of the open block */
	struct highlight highlight;
	size_t item; /* number of the ordered list item in pending, or 0 */
	bool begun;  /* some rows have been finished */
	bool gap;    /* an empty row goes before the pending block */
};

enum {
	MARKDOWN_BLOCK = 32 << 10, /* bytes of a block or a line, at most */
	MARKDOWN_TAIL = 4 << 10,   /* bytes that markdown_tail() parses */
};

void markdown_feed(struct markdown *m, struct str text);
/* Ends the text and finishes all rows. After that, another text may be fed. */
void markdown_end(struct markdown *m);
/* Appends the unfinished rest in its current form. Of a long rest only the last
 * part is shown, of a long table also its head. */
void markdown_tail(struct markdown *m, struct rows *out);
void markdown_release(struct markdown *m);

#endif
