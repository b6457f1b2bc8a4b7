/* diff.h - in which lines two texts differ, as text and as coloured rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFF_H
#define MARKUP_DIFF_H

/*
 * diff_lines() compares two texts. diff_text() is what a model or a plain
 * terminal reads, diffview_*() what the chat draws; it draws unified diffs of
 * others, too.
 */
#include "base/str.h"
#include "term/rows.h"
#include "term/theme.h"

enum diff_kind {
	DIFF_CONTEXT = 0,
	DIFF_ADDED,
	DIFF_REMOVED,
	DIFF_HUNK, /* "@@ -1,3 +1,4 @@" */
	DIFF_HEAD, /* what names the files */
};

/* What a line of a unified diff is. A hunk's own lines may look like a head
 * ("--- "): *in_hunk is false before the first line, then kept by it. */
enum diff_kind diff_line_kind(struct str line, bool *in_hunk);

/* Whether text holds a unified diff: lines of ---, +++ and @@ in this order. */
bool diff_lines_are_unified(struct str text);

/* Lines of old_text, then of new_text: n_old removed, n_new added, after `same`
 * lines that both have. The last step has neither. */
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
 * How old_text becomes new_text, line by line. The shortest way where at most
 * DIFF_EDITS lines differ after the lines that both begin and end with; else
 * everything between these is removed and added, so time and memory are
 * bounded.
 */
enum { DIFF_EDITS = 500 };
void diff_lines(struct str old_text, struct str new_text,
		struct diff_steps *steps);
void diff_steps_release(struct diff_steps *steps);

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

/*
 * Appends how old_text becomes new_text: "@@ line 12 @@", and lines that begin
 * with ' ', '-' or '+', as many around a change as DIFFVIEW_CONTEXT. No line
 * end behind the last. Nothing when both are the same.
 */
void diff_text(struct str old_text, struct str new_text, struct buf *out);

#endif
