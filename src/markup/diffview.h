/* diffview.h - changes of a text as coloured rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFFVIEW_H
#define MARKUP_DIFFVIEW_H

#include "base/str.h"
#include "term/rows.h"
#include "term/theme.h"

struct diffview {
	const struct theme *theme; /* borrowed */
	size_t columns;
	bool numbers; /* of lines: the texts are whole files */
};

enum { DIFFVIEW_CONTEXT = 3 /* lines around a change */ };

/*
 * Appends how old_text becomes new_text: removed and added lines with the
 * lines around them, the others folded. In a line that replaces another the
 * words that differ are bold.
 */
void diffview_render(const struct diffview *d, struct str old_text,
		     struct str new_text, struct rows *out);
/* Appends a unified diff. */
void diffview_unified(const struct diffview *d, struct str text,
		      struct rows *out);
/* Counts the lines that are added and removed. */
void diffview_count(struct str old_text, struct str new_text, size_t *added,
		    size_t *removed);

#endif
