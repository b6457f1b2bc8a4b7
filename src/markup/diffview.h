/* diffview.h - draws differences in colour, with the changed words lit. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_DIFFVIEW_H
#define MARKUP_DIFFVIEW_H

/*
 * The only renderer of differences: for the display of a call, for a question
 * and for dcode diff. Lines get the colours of their language on a background
 * that says whether they are added or removed. In two versions of one line, the
 * words that differ have a stronger background.
 *
 * diffview_render() compares two texts. For a unified diff, call
 * diffview_begin(), diffview_line() for each line, and diffview_end(); or
 * diffview_unified() for all of it. Time is proportional to the text; at most
 * DIFFVIEW_PENDING bytes of it are stored.
 */
#include "base/str.h"
#include "markup/highlight.h"
#include "term/rows.h"
#include "term/theme.h"

struct diffview {
	const struct theme *theme; /* borrowed */
	size_t columns;
	bool numbers;    /* show the line numbers of whole files */
	struct str path; /* the name of the compared file, for its language, or
			    empty; borrowed */
};

enum {
	DIFFVIEW_PENDING = 256 << 10, /* bytes of a change */
	DIFFVIEW_LINES = 500,         /* lines of a change, of each side */
};

/* Lines of one side of a change that were not drawn yet. */
struct diffview_lines {
	struct buf text;            /* the lines, joined, without line ends */
	size_t end[DIFFVIEW_LINES]; /* offset in text where each line ends */
	size_t n;
	struct buf note; /* "\ No newline at end of file" */
};

/* One side of a difference. */
struct diffview_side {
	struct highlight code;
	size_t line; /* number of the next line; 0: unknown */
	size_t left; /* lines that the hunk still has; SIZE_MAX: unknown */
	struct diffview_lines pending;
};

/* A unified diff that is being drawn. The fields are private. */
struct diffview_stream {
	struct diffview look;
	struct diffview_side removed, added;
	size_t shift; /* added minus removed lines so far, modulo SIZE_MAX + 1
		       */
	bool in_hunk;
	bool in_git_head; /* between "diff --git" and the first hunk */
	bool begun;
	bool folds;      /* text of diff_store(): the heads of hunks say how
			    many lines were left out */
	int digits;      /* width of the line numbers, or 0 */
	struct buf name; /* the file's name */
	struct buf clean;
	struct rows line; /* the current line: clean, and highlighted */
	struct rows code;
};

void diffview_begin(struct diffview_stream *s, const struct diffview *look);
/* Takes a line without its line end, and appends the rows that are final. */
void diffview_line(struct diffview_stream *s, struct str line,
		   struct rows *out);
/* Appends the rest and releases the stream. */
void diffview_end(struct diffview_stream *s, struct rows *out);
/* Appends a unified diff, or a text of diff_text(). */
void diffview_unified(const struct diffview *look, struct str text,
		      struct rows *out);
/* Appends the text of diff_store() as diffview_render() would draw the texts
 * that it compares. */
void diffview_stored(const struct diffview *look, struct str text,
		     struct rows *out);
/* Appends the difference between two texts: removed and added lines with
 * DIFF_CONTEXT_LINES lines around them. The number of other lines is shown
 * instead of them. */
void diffview_render(const struct diffview *look, struct str old_text,
		     struct str new_text, struct rows *out);

#endif
