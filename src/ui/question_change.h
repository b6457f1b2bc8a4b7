/* question_change.h - colours the difference that a question shows. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_QUESTION_CHANGE_H
#define UI_QUESTION_CHANGE_H

#include "base/str.h"
#include "term/rows.h"

/*
 * Appends the rows in which question_render() shows an item with a text of
 * diff_text(), drawn with diffview.h. Only the colours differ from text: each
 * row keeps its characters. label: of the item; path: the name of the file, for
 * its language.
 */
void question_change_render(struct str text, const char *label, struct str path,
			    struct rows *out);

#endif
