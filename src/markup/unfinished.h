/* unfinished.h - how Markdown that is still arriving is shown. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_UNFINISHED_H
#define MARKUP_UNFINISHED_H

/*
 * The last line of an answer often ends within "**bold" or "[a link](http". So
 * that the user does not see these marks until the rest comes, the line is
 * completed before it is rendered: emphasis and code are closed, and a link is
 * held back until it is whole. What is open for longer than UNFINISHED_MOST
 * bytes, or at the end of the line, is shown as written.
 */
#include "base/buf.h"

enum { UNFINISHED_MOST = 200 };

/* Appends a block that is still arriving, as it should be rendered now. lines:
 * its complete lines; line: the unfinished one. begins: these may be the first
 * two lines of a table. Returns true if they are: then a second line that makes
 * them one is added or completed. */
bool unfinished_add(struct str lines, struct str line, bool begins,
		    struct buf *out);

#endif
