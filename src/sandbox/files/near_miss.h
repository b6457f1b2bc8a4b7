/* near_miss.h - the text of a file that an edit probably meant. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_NEAR_MISS_H
#define SANDBOX_FILES_NEAR_MISS_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Looks for text in file, both UTF-8, taking characters for equal that look
 * alike: quotes, dashes, spaces of any kind and number, tabs, composed
 * characters, ligatures; white space at a line's ends does not count. Appends
 * "line 12 nearly matches: ..." with the lines of the first such place and what
 * is different there. False: there is none.
 */
bool near_miss(struct str file, struct str text, struct buf *out);

#endif
