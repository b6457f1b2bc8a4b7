/* diff_lines.h - the lines in which two texts differ, and those of a diff. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFF_LINES_H
#define MARKUP_DIFF_LINES_H

#include "base/str.h"

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

#endif
