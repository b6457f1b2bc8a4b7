/* diff.h - compares two texts by line, and two versions of a line by word. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_DIFF_H
#define BASE_DIFF_H

/*
 * diff_lines() compares two texts. diff_text() writes a diff for a model or a
 * plain terminal. markup/diffview.h draws diffs in colour.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

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

/* Counts the added and removed lines. */
void diff_count(struct str old_text, struct str new_text, size_t *added,
		size_t *removed);

enum { DIFF_CONTEXT_LINES = 3 /* unchanged lines shown around a change */ };

/*
 * Appends the difference between two texts: "@@ line 12 @@", and lines
 * beginning with ' ', '-' or '+', with DIFF_CONTEXT_LINES unchanged lines
 * around a change. The last line has no line end. Appends nothing if the texts
 * are equal.
 */
void diff_text(struct str old_text, struct str new_text, struct buf *out);
/* Like diff_text(), with a last "@@ line 61 @@" that has the number after the
 * last line of new_text: diffview_stored() draws it as diffview_render() would
 * draw the texts. Of equal texts, that line is all. */
void diff_store(struct str old_text, struct str new_text, struct buf *out);
/* Counts the lines that a text of diff_store() adds and removes. */
void diff_count_stored(struct str stored, size_t *added, size_t *removed);

enum { WORD_DIFF_RANGES = 32 /* at most, in each line */ };

/* The bytes of a line that differ, in ascending order. */
struct word_ranges {
	size_t n;
	struct {
		size_t begin, end; /* offsets of the first byte, and after the
				      last one */
	} items[WORD_DIFF_RANGES];
};

/*
 * Compares two versions of a line, without line ends, by words, numbers and
 * single signs. Returns false if they have too little in common to be versions
 * of one line; then the ranges are empty. The time is proportional to the
 * length of the lines: if the parts that differ have many words, each becomes a
 * single range.
 */
bool word_diff_lines(struct str old_line, struct str new_line,
		     struct word_ranges *removed, struct word_ranges *added);

#endif
