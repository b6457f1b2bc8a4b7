/* diff.h - compares two texts by line; draws diffs as text or coloured rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFF_H
#define MARKUP_DIFF_H

/*
 * diff_lines() compares two texts. diff_text() writes a diff for a model or a
 * plain terminal; diffview_*() draws one for the chat, including unified diffs
 * of other programs.
 */
#include "base/str.h"
#include "term/rows.h"
#include "term/theme.h"

enum diff_kind {
	DIFF_CONTEXT = 0,
	DIFF_ADDED,
	DIFF_REMOVED,
	DIFF_HUNK, /* "@@ -1,3 +1,4 @@" */
	DIFF_HEAD, /* line that names a file */
};

/* Returns the kind of a line in a unified diff. Within a hunk, a line may look
 * like a head ("--- "), so *in_hunk keeps track: set it to false before the
 * first line. */
enum diff_kind diff_line_kind(struct str line, bool *in_hunk);

/* True if text contains a unified diff: lines with ---, +++ and @@ in this
 * order. */
bool diff_lines_are_unified(struct str text);

/* One step: `same` common lines, then n_old removed and n_new added lines. The
 * last step removes and adds none. */
struct diff_step {
	size_t same;
	size_t n_old;
	size_t n_new;
};

struct diff_steps {
	struct diff_step *items; /* owned */
	size_t n;
};

/*
 * Computes how to change old_text into new_text by lines. Finds the shortest
 * edit script if, apart from the common beginning and end, at most DIFF_EDITS
 * lines differ. Otherwise all lines between the common parts are removed and
 * added, to limit time and memory.
 */
enum { DIFF_EDITS = 500 };
void diff_lines(struct str old_text, struct str new_text,
		struct diff_steps *steps);
void diff_steps_release(struct diff_steps *steps);

struct diffview {
	const struct theme *theme; /* borrowed */
	size_t columns;
	bool numbers; /* show line numbers: the texts are whole files */
};

enum { DIFFVIEW_CONTEXT = 3 /* unchanged lines around a change */ };

/*
 * Appends the difference between two texts: removed and added lines with some
 * lines around them; the others are folded. In a replaced line, the words that
 * differ are bold.
 */
void diffview_render(const struct diffview *d, struct str old_text,
		     struct str new_text, struct rows *out);
/* Appends a unified diff. */
void diffview_unified(const struct diffview *d, struct str text,
		      struct rows *out);
/* Counts the added and removed lines. */
void diffview_count(struct str old_text, struct str new_text, size_t *added,
		    size_t *removed);

/*
 * Appends the difference between two texts: "@@ line 12 @@", and lines
 * beginning with ' ', '-' or '+', with DIFFVIEW_CONTEXT unchanged lines around
 * a change. The last line has no line end. Appends nothing if the texts are
 * equal.
 */
void diff_text(struct str old_text, struct str new_text, struct buf *out);

#endif
