/* diff_text.h - what changes of a text, as lines behind a sign. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFF_TEXT_H
#define MARKUP_DIFF_TEXT_H

#include "base/buf.h"

/*
 * Appends how old_text becomes new_text: "@@ line 12 @@", and lines that begin
 * with ' ', '-' or '+', as many around a change as DIFFVIEW_CONTEXT. No line
 * end behind the last. Nothing when both are the same.
 */
void diff_text(struct str old_text, struct str new_text, struct buf *out);

#endif
